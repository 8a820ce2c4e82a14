"""``scrapy dedup``: ask the index that the crawls of a project use.

Scrapy imports this module whenever any of its commands runs: every import at the top slows all of them.
"""

from argparse import ArgumentParser, Namespace
from contextlib import closing
from typing import TYPE_CHECKING, Any, ClassVar, Final

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

if TYPE_CHECKING:
    from crawldedup.commands.output import Output
    from crawldedup.scrapy_plugin.settings import CrawlOptions

_ON_PAGES: Final = ("explain", "forget")
_ON_INDEX: Final = ("info", "clear")
_ON_JOURNALS: Final = ("report", "advise")
_ACTIONS: Final = _ON_PAGES + _ON_INDEX + _ON_JOURNALS


class Command(ScrapyCommand):
    """One command with actions: the settings of the project decide which index all of them ask."""

    requires_project = False
    # Standard output is for answers.
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "explain FILE ...  or  forget URL ...  or  info|clear  or  report|advise [SOURCE ...]"

    def short_desc(self) -> str:
        return f"Ask the project's index of pages, or report a crawl: {', '.join(_ACTIONS)}"

    def long_desc(self) -> str:
        return (
            "Asks the index that the project's CRAWLDEDUP_* settings name. explain: what would a crawl say of a page, "
            "and why? forget: remove pages by their URLs. info: figures of the index. clear: remove all. A FILE is a "
            "page, a folder, a feed or .warc file, or - for standard input, as in `scrapy fetch --nolog URL | scrapy "
            "dedup explain - --url URL`. report: what a crawl met, from its journals. advise: the downloads that the "
            "next one can save."
        )

    def add_options(self, parser: ArgumentParser) -> None:
        from crawldedup.commands.command import ADVISE_OPTIONS
        from crawldedup.report.command import ARGUMENTS

        super().add_options(parser)
        parser.add_argument("action", choices=_ACTIONS)
        parser.add_argument("names", nargs="*")
        group = parser.add_argument_group("Deduplication")
        group.add_argument("--spider", metavar="NAME", help="take the settings of this spider")
        group.add_argument("--url", metavar="URL", help="explain the one file that is given as the page at this URL")
        group.add_argument("--items", action="store_true", help="ask the index of the item pipeline instead")
        group.add_argument("--yes", action="store_true", help="clear: do it")
        for action, options in (("report", ARGUMENTS), ("advise", ADVISE_OPTIONS)):
            for name, settings in options.items():
                group.add_argument(name, **{**settings, "help": f"{action}: {settings['help']}"})
        group.add_argument("--json", action="store_true", help="print JSON instead of text, one object a line")

    def run(self, args: list[str], opts: Namespace) -> None:
        unknown = [argument for argument in args if argument.startswith("-") and argument != "-"]
        # What stands behind an option is left over.
        action, names = opts.action, [*opts.names, *(argument for argument in args if argument not in unknown)]
        if mistake := _mistake(action, names, unknown, opts):
            raise UsageError(mistake, print_help=False)
        from crawldedup.commands.output import run_command
        from crawldedup.errors import ConfigurationError
        from crawldedup.scrapy_plugin.settings import CrawlOptions

        assert self.settings is not None
        assert self.crawler_process is not None
        settings, loader = self.settings, self.crawler_process.spider_loader

        def act(output: "Output") -> None:
            if opts.spider:
                try:
                    loader.load(opts.spider).update_settings(settings)
                except KeyError:
                    known = ", ".join(sorted(loader.list())) or "none"
                    raise ConfigurationError(f"there is no spider {opts.spider!r}; the project's: {known}") from None
            options = CrawlOptions.from_settings(settings)
            (_on_journals if action in _ON_JOURNALS else _on_index)(action, names, opts, options, output)

        self.exitcode = run_command(act, as_json=opts.json)


def _on_journals(action: str, names: list[str], given: Namespace, options: "CrawlOptions", output: "Output") -> None:
    from crawldedup.commands.advise import advise
    from crawldedup.errors import ConfigurationError
    from crawldedup.report.command import report
    from crawldedup.scrapy_plugin.journal import place_of_journals

    if not names and options.journal is False:
        raise ConfigurationError("CRAWLDEDUP_JOURNAL is False: name the journals to read")
    sources = names or [place_of_journals(options)]
    if action == "report":
        report(sources, given, output)
    else:
        advise(sources, given, output)


def _on_index(action: str, names: list[str], given: Namespace, options: "CrawlOptions", output: "Output") -> None:
    from crawldedup.commands import indexes, pages
    from crawldedup.commands.sources import readable_sources, under_url
    from crawldedup.deduplicator import Deduplicator
    from crawldedup.errors import ConfigurationError
    from crawldedup.scrapy_plugin.items import items_index_of, named_identity
    from crawldedup.scrapy_plugin.policy import PagePolicy
    from crawldedup.stores.registry import is_persistent

    if given.items:
        options = items_index_of(options)
    if not is_persistent(options.store):
        raise ConfigurationError(
            "the project's crawls keep no index. Name a lasting one by CRAWLDEDUP_STORE, or the directory of a crawl "
            "that has one by -s JOBDIR=..."
        )
    if options.scope == "spider" and given.spider is None:
        raise ConfigurationError(
            "CRAWLDEDUP_SCOPE is 'spider', so that each spider's pages are apart: add --spider NAME"
        )
    scope_key = given.spider if options.scope == "spider" else None
    with closing(Deduplicator.from_options(options)) as dedup:
        match action:
            case "explain":
                given_pages = under_url(readable_sources(names, output.unreadable), given.url)
                similarity = PagePolicy.of_crawl(options).similarity_of_revisits
                pages.explain(dedup, given_pages, output, scope_key=scope_key, revisit_similarity=similarity)
            case "forget":
                identities = map(named_identity, names) if given.items else [None] * len(names)
                named = [(name, identity, scope_key) for name, identity in zip(names, identities, strict=True)]
                indexes.forget(dedup, named, output)
            case "info":
                indexes.info(dedup, output)
            case "clear":
                indexes.clear(dedup, output, yes=given.yes)


def _mistake(action: str, names: list[str], unknown: list[str], opts: Namespace) -> str:
    from crawldedup.checks import did_you_mean

    if unknown:
        return f"there is no option {unknown[0]}{did_you_mean(unknown[0], [f'--{name}' for name in vars(opts)])}"
    if action in _ON_PAGES and not names:
        return f"{action} needs {'a file' if action == 'explain' else 'the URL of a page'} at least"
    if action in _ON_INDEX and names:
        return f"{action} takes no pages, but {names[0]!r} was given"
    if action == "explain" and (urls := [name for name in names if "://" in name]):
        return f"explain reads files: scrapy fetch --nolog {urls[0]} | scrapy dedup explain - --url {urls[0]}"
    if opts.items and action == "explain":
        return "explain is for pages: an item is no page, so that --items has no meaning"
    if opts.url and (action != "explain" or len(names) != 1):
        return "--url is for one page to explain"
    if opts.crawl and action == "advise":
        return "--crawl is for report: name the journals of the crawl to advise on"
    return ""
