"""The command ``scrapy dedup``, which queries the index that a project's crawls use.

Scrapy imports this module to run any of its commands, so every import at the top slows down all of
them.
"""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from contextlib import closing
from typing import Any, ClassVar, Final

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError
from scrapy.utils.project import data_path

_ON_PAGES: Final = ("explain", "forget")
_ON_JOURNALS: Final = ("report", "advise")
_ACTIONS: Final = (*_ON_PAGES, "info", "clear", *_ON_JOURNALS)


def _action(name: str) -> str:
    """Return the name of an action.

    Raises ArgumentTypeError for `changes`, a command of its own.
    """
    if name == "changes":
        raise ArgumentTypeError(
            "`crawldedup changes` compares two crawls; --source names the folder of their journals"
        )
    return name


class Command(ScrapyCommand):
    """The command `scrapy dedup`: several actions on the index that the project's settings name."""

    requires_project = False
    # Standard output is reserved for answers.
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return (
            "explain FILE ...  or  forget URL ...  or  info|clear  or  report|advise [SOURCE ...]"
        )

    def short_desc(self) -> str:
        return f"Query the project's index of pages, or report on a crawl: {', '.join(_ACTIONS)}"

    def long_desc(self) -> str:
        return (
            "explain: show what a crawl would decide about a page, and why. forget: remove pages "
            "by their URLs. info: show the figures of the index. clear: remove all pages. report: "
            "show what a crawl found, from its journals. advise: find rules for URLs that let the "
            "next crawl skip the download of copies. A FILE is a page, a folder, a feed, a .warc "
            "file, or - for standard input."
        )

    def add_options(self, parser: ArgumentParser) -> None:
        from crawldedup.commands.command import ADVISE_OPTIONS
        from crawldedup.report.command import ARGUMENTS

        super().add_options(parser)
        parser.add_argument(
            "action", type=_action, choices=_ACTIONS, help="what to do, as described above"
        )
        parser.add_argument(
            "names",
            metavar="NAME",
            nargs="*",
            help="a FILE to explain, a URL to forget, or a SOURCE to report on or to make rules "
            "from, which is a journal or a folder of journals (default: the journals of the "
            "project)",
        )
        group = parser.add_argument_group("Deduplication")
        group.add_argument("--spider", metavar="NAME", help="use the settings of this spider")
        group.add_argument(
            "--url",
            metavar="URL",
            help="explain: show what would happen if the file were the page at this URL",
        )
        group.add_argument(
            "--items",
            action="store_true",
            help="explain, forget, info, clear: use the index of the item pipeline instead",
        )
        group.add_argument("--yes", action="store_true", help="clear: confirm the removal")
        for action, options in (("report", ARGUMENTS), ("advise", ADVISE_OPTIONS)):
            for name, settings in options.items():
                group.add_argument(name, **{**settings, "help": f"{action}: {settings['help']}"})
        group.add_argument(
            "--json", action="store_true", help="print JSON instead of text, one object per line"
        )

    def run(self, args: list[str], opts: Namespace) -> None:
        # An unknown option stays among the arguments.
        names = [*opts.names, *args]
        if unknown := [name for name in names if name.startswith("-") and name != "-"]:
            raise UsageError(f"there is no option {unknown[0]}", print_help=False)
        if bool(names) != (opts.action in _ON_PAGES) and opts.action not in _ON_JOURNALS:
            needs = (
                "needs pages: files to explain, or URLs to forget"
                if not names
                else "takes no pages"
            )
            raise UsageError(f"{opts.action} {needs}", print_help=False)
        from crawldedup.commands.command import run_command

        self.exitcode = run_command(
            lambda output: self._act(opts.action, names, opts, output), as_json=opts.json
        )

    def _act(self, action: str, names: list[str], opts: Namespace, output: Any) -> None:
        """Carry out an action on the index or on the journals of the project.

        Raises ConfigurationError if the spider doesn't exist, or if there are no journals to read.
        """
        from crawldedup.errors import ConfigurationError
        from crawldedup.report import advise
        from crawldedup.report import command as report
        from crawldedup.scrapy_plugin.items import items_index_of
        from crawldedup.scrapy_plugin.settings import read_settings

        assert self.settings is not None
        assert self.crawler_process is not None
        if opts.spider:
            loader = self.crawler_process.spider_loader
            if opts.spider not in (spiders := sorted(loader.list())):
                known = ", ".join(spiders) or "none"
                raise ConfigurationError(
                    f"there is no spider {opts.spider!r}; the project's: {known}"
                )
            loader.load(opts.spider).update_settings(self.settings)
        options = read_settings(self.settings)
        if action not in _ON_JOURNALS:
            _ask_index(
                action, names, opts, items_index_of(options) if opts.items else options, output
            )
        elif not names and options.journal is False:
            raise ConfigurationError("CRAWLDEDUP_JOURNAL is False: name the journals to read")
        else:
            opts.sources = names or [data_path(str(options.journal))]
            (report.run if action == "report" else advise.advise)(opts, output)


def _ask_index(action: str, names: list[str], opts: Namespace, options: Any, output: Any) -> None:
    """Explain or forget pages, show the figures of an index, or clear it.

    Raises ConfigurationError if the project's crawls keep no index, or if a spider has to be named.
    """
    from crawldedup.commands import pages
    from crawldedup.commands.sources import readable_sources, under_url
    from crawldedup.deduplicator import Deduplicator
    from crawldedup.errors import ConfigurationError
    from crawldedup.scrapy_plugin.items import named_identity
    from crawldedup.stores.registry import is_persistent

    if not is_persistent(options.store):
        raise ConfigurationError(
            "the project's crawls keep no index. Set CRAWLDEDUP_STORE to a persistent one, or name "
            "the directory of a crawl that has one with -s JOBDIR=..."
        )
    scope_key = opts.spider if options.scope == "spider" else None
    # Pages are forgotten, and figures shown, regardless of their scope.
    if action == "explain" and options.scope == "spider" and scope_key is None:
        raise ConfigurationError(
            "CRAWLDEDUP_SCOPE is 'spider', so each spider has its own pages: add --spider NAME"
        )
    with closing(Deduplicator.from_options(options)) as dedup:
        if action == "explain":
            meta = {"scope_key": scope_key, "revisit_similarity": options.similarity_of_revisits}
            pages.explain(
                dedup,
                under_url(
                    readable_sources(
                        names, output.unreadable, on_skip=output.skip, on_note=output.error
                    ),
                    opts.url,
                ),
                output,
                **meta,
            )
        elif action == "forget":
            named = [
                (name, named_identity(name) if opts.items else None, scope_key) for name in names
            ]
            pages.forget(dedup, named, output)
        else:
            (pages.info if action == "info" else pages.clear)(dedup, opts, output)
