"""``scrapy dedup``: ask the index that the crawls of a project use.

Scrapy imports this module whenever any of its commands runs: every import at the top slows all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from crawldedup.commands.command import ADVISE_OPTIONS
from crawldedup.report.command import ARGUMENTS

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_ON_PAGES = ("check", "explain", "forget")
_ON_INDEX = ("info", "clear")
_ON_JOURNALS = ("report", "advise")


class Command(ScrapyCommand):
    """One command with actions: the settings of the project decide which index all of them ask."""

    requires_project = False
    # Standard output is for answers. `-L INFO` shows the log of the downloads.
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        """See `ScrapyCommand`."""
        return (
            "[options] check|explain|forget PAGE ...  or  [options] info|clear  or  "
            "[options] report|advise [SOURCE ...]"
        )

    def short_desc(self) -> str:
        """See `ScrapyCommand`."""
        actions = ", ".join(_ON_PAGES + _ON_INDEX + _ON_JOURNALS)
        return f"Ask the project's index of pages, or report a crawl: {actions}"

    def long_desc(self) -> str:
        """See `ScrapyCommand`."""
        return (
            "Asks the index that the project's CRAWLDEDUP_* settings name. check: is the page a duplicate? (remembers "
            "it only with --remember). explain: why? forget: remove pages by their URLs. info: figures of the "
            "index. clear: remove all. A "
            "PAGE to check or explain is a URL, which is fetched as a crawl would fetch it, or a file, a folder, a "
            "feed or .warc file, or - for standard input. report: what a crawl met, from its journals. advise: "
            "the downloads that the next one can save."
        )

    def add_options(self, parser: ArgumentParser) -> None:
        """See `ScrapyCommand`."""
        super().add_options(parser)
        group = parser.add_argument_group("Deduplication")
        group.add_argument("--spider", metavar="NAME", help="take the settings of this spider")
        group.add_argument("--url", metavar="URL", help="check the one file that is given as the page at this URL")
        group.add_argument("--remember", action="store_true", help="check: remember the page, as a crawl does")
        group.add_argument("--items", action="store_true", help="ask the index of the item pipeline instead")
        group.add_argument("--yes", action="store_true", help="clear: do it")
        for name, settings in ARGUMENTS.items():
            group.add_argument(name, **{**settings, "help": f"report: {settings['help']}"})
        for name, settings in ADVISE_OPTIONS.items():
            group.add_argument(name, **{**settings, "help": f"advise: {settings['help']}"})
        group.add_argument("--json", action="store_true", help="print JSON instead of text, one object a line")

    def run(self, args: list[str], opts: Namespace) -> None:
        """See `ScrapyCommand`. The exit status is that of `run_command`."""
        action, *pages = args or [""]
        if mistake := _mistake(action, pages, opts):
            raise UsageError(mistake, print_help=False)
        from crawldedup.scrapy_plugin.commands.actions import run_action

        assert self.settings is not None
        assert self.crawler_process is not None
        self.exitcode = run_action(action, pages, opts, self.settings, self.crawler_process)


def _mistake(action: str, pages: list[str], opts: Namespace) -> str:
    """Return what is wrong with the arguments, or an empty string."""
    # Not at the top, where every command of Scrapy would wait for it.
    from crawldedup.checks import did_you_mean

    actions = _ON_PAGES + _ON_INDEX + _ON_JOURNALS
    # Scrapy passes unknown options on as arguments.
    if unknown := [argument for argument in (action, *pages) if argument.startswith("-") and argument != "-"]:
        return f"there is no option {unknown[0]}{did_you_mean(unknown[0], [f'--{name}' for name in vars(opts)])}"
    if not action:
        return f"name an action: {', '.join(actions)}"
    if action not in actions:
        return f"there is no action {action!r}{did_you_mean(action, actions) or '; actions: ' + ', '.join(actions)}"
    if action in _ON_PAGES and not pages:
        return f"{action} needs the URL of a page at least"
    if action in _ON_INDEX and pages:
        return f"{action} takes no pages, but {pages[0]!r} was given"
    if opts.items and action in ("check", "explain"):
        return f"{action} is for pages: an item is no page, so that --items has no meaning"
    if opts.remember and action != "check":
        return "--remember is for check only"
    if opts.url and (action not in ("check", "explain") or len(pages) != 1):
        return "--url is for one page to check or explain"
    return ""
