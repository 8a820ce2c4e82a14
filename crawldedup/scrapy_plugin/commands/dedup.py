"""``scrapy dedup``: asks the index that a project's crawls use.

Scrapy finds the command by the entry point ``scrapy.commands``, and loads it whenever any of its commands is run: what
this module imports, all of them wait for.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_ON_PAGES = ("check", "explain", "forget")
_ON_INDEX = ("info", "prune", "clear")


class Command(ScrapyCommand):
    """One command with actions, for the settings of a project decide what all of them work on."""

    requires_project = False
    # Standard output is for answers. `-L INFO` shows the log of what is fetched.
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        """See `ScrapyCommand`."""
        return "[options] check|explain|forget PAGE ...  or  [options] info|prune|clear"

    def short_desc(self) -> str:
        """See `ScrapyCommand`."""
        return "Ask the project's index of pages: check, explain, forget, info, prune, clear"

    def long_desc(self) -> str:
        """See `ScrapyCommand`."""
        return (
            "Asks the index that the project's CRAWLDEDUP_* settings name. check: is the page a duplicate? (looks "
            "only, unless --remember is given). explain: why? forget: remove pages by their URLs. info: figures of the "
            "index. prune: free what CRAWLDEDUP_TTL and CRAWLDEDUP_MAX_PAGES let go. clear: remove everything. A PAGE "
            "to check or explain is a URL, which is fetched as a crawl would fetch it, or a file, a folder, a .jsonl "
            "or .warc file, or - for standard input."
        )

    def add_options(self, parser: ArgumentParser) -> None:
        """See `ScrapyCommand`."""
        super().add_options(parser)
        group = parser.add_argument_group("Deduplication")
        group.add_argument("--spider", metavar="NAME", help="take the settings of this spider")
        group.add_argument(
            "--url",
            metavar="URL",
            help="judge the one file that is given as the page at this URL; to forget items whose names are no URLs in "
            "an index with the scope site: a URL of their site",
        )
        group.add_argument("--remember", action="store_true", help="check as a crawl does: the page is remembered")
        group.add_argument("--items", action="store_true", help="ask the index of the item pipeline instead")
        group.add_argument("--yes", action="store_true", help="clear: do it")
        group.add_argument("--json", action="store_true", help="print JSON instead of text, one object a line")

    def run(self, args: list[str], opts: Namespace) -> None:
        """See `ScrapyCommand`. Exit status 0: done; 1: done but for pages that could not be read; 2: not possible."""
        action, *pages = args or [""]
        _refuse(action, pages, opts)
        # Only now, for whoever runs another command of Scrapy would wait for it too.
        from crawldedup.scrapy_plugin.commands.actions import run_action

        assert self.settings is not None
        assert self.crawler_process is not None
        self.exitcode = run_action(action, pages, opts, self.settings, self.crawler_process)


def _refuse(action: str, pages: list[str], opts: Namespace) -> None:
    """Raise UsageError for what cannot be meant."""
    actions = _ON_PAGES + _ON_INDEX
    # Scrapy hands unknown options on as if they were arguments.
    options = [argument for argument in (action, *pages) if argument.startswith("-") and argument != "-"]
    if options:
        raise UsageError(f"there is no option {options[0]}", print_help=False)
    if action not in actions:
        close = difflib.get_close_matches(action, actions, n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        asked = f"there is no action {action!r}.{hint}" if action else "name an action."
        raise UsageError(f"{asked} Actions: {', '.join(actions)}", print_help=False)
    if action in _ON_PAGES and not pages:
        raise UsageError(f"{action} needs the URL of a page at least", print_help=False)
    if action in _ON_INDEX and pages:
        raise UsageError(f"{action} takes no pages, but {pages[0]!r} was given", print_help=False)
    if opts.items and action in ("check", "explain"):
        raise UsageError(f"{action} is for pages: an item is no page, so that --items has no meaning", print_help=False)
    if opts.remember and action != "check":
        raise UsageError("--remember is for check only", print_help=False)
    one_page = action in ("check", "explain") and len(pages) == 1
    if opts.url and not one_page and not (action == "forget" and opts.items):
        raise UsageError("--url is for one page to check or explain, or to forget --items", print_help=False)
