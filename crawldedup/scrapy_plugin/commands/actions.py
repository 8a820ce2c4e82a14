"""Run the actions of ``scrapy dedup`` with the settings of a project."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, Final, TypedDict

from scrapy import Request, Spider
from w3lib.url import is_url

from crawldedup.commands import indexes, pages
from crawldedup.commands.advise import advise
from crawldedup.commands.output import run_command
from crawldedup.commands.sources import readable_sources, under_url
from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import ConfigurationError, PageError
from crawldedup.extraction.html_page import HtmlPage
from crawldedup.page import Page
from crawldedup.report.command import report
from crawldedup.scrapy_plugin.items.text import named_identity
from crawldedup.scrapy_plugin.pipeline import items_index_of
from crawldedup.scrapy_plugin.policy import PagePolicy, job_of, reason_to_skip
from crawldedup.scrapy_plugin.runtime.journal import place_of_journals
from crawldedup.scrapy_plugin.settings import CrawlOptions
from crawldedup.stores.registry import is_persistent
from crawldedup.text.canonical import NO_LINKS, head_links

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence

    from scrapy.crawler import CrawlerProcessBase
    from scrapy.http import Response
    from scrapy.settings import Settings

    from crawldedup.commands.output import Output
    from crawldedup.scrapy_plugin.reading.messages import Job
    from crawldedup.text.canonical import HeadLinks

    Fetched = dict[str, tuple[Request, Response] | PageError]

_APART: Final[dict[str, Any]] = {
    "CRAWLDEDUP_ENABLED": False,
    "JOBDIR": "",
    "SCHEDULER": "scrapy.core.scheduler.Scheduler",
    "DUPEFILTER_CLASS": "scrapy.dupefilters.RFPDupeFilter",
    "ITEM_PIPELINES": {},
    "FEEDS": {},
    "TELNETCONSOLE_ENABLED": False,
    # These limits are for crawls.
    **{f"CLOSESPIDER_{limit}": 0 for limit in ("PAGECOUNT", "PAGECOUNT_NO_ITEM", "TIMEOUT", "TIMEOUT_NO_ITEM")},
}

_ON_JOURNALS: Final[dict[str, Callable[[list[str], argparse.Namespace, Output], None]]] = {
    "report": report,
    "advise": advise,
}


class _Rules(TypedDict):
    scope_key: str | None
    revisit_similarity: float | None


def run_action(
    action: str, names: list[str], given: argparse.Namespace, settings: Settings, process: CrawlerProcessBase
) -> int:
    """Run an action on pages of these names, and return its exit status as `run_command` does."""

    def run(output: Output) -> None:
        if given.spider:
            _take_settings_of(given.spider, settings, process)
        options = CrawlOptions.from_settings(settings)
        if action in _ON_JOURNALS:
            _ON_JOURNALS[action](names or [_own_journals(options)], given, output)
            return
        if given.items:
            options = items_index_of(options)
        _require_lasting(options, given.spider)
        scope_key = given.spider if options.scope == "spider" else None
        rules = _Rules(scope_key=scope_key, revisit_similarity=PagePolicy.of_crawl(options).similarity_of_revisits)

        def sources() -> Iterator[Page]:
            urls = [name for name in names if is_url(name)]
            fetched = _fetch(urls, name=given.spider or "dedup", settings=settings, process=process) if urls else {}
            yield from under_url(_sources(names, fetched, options, output), given.url)

        with closing(Deduplicator.from_options(options)) as dedup:
            match action:
                case "check":
                    pages.check_as_crawl(dedup, sources(), output, remember=given.remember, **rules)
                case "explain":
                    pages.explain(dedup, sources(), output, **rules)
                case "forget":
                    identities = map(named_identity, names) if given.items else [None] * len(names)
                    refs = [(*named, scope_key) for named in zip(names, identities, strict=True)]
                    indexes.forget(dedup, refs, output)
                case "info":
                    indexes.info(dedup, output)
                case "clear":
                    indexes.clear(dedup, output, yes=given.yes)

    return run_command(run, as_json=given.json)


def _take_settings_of(spider: str, settings: Settings, process: CrawlerProcessBase) -> None:
    try:
        process.spider_loader.load(spider).update_settings(settings)
    except KeyError:
        known = ", ".join(sorted(process.spider_loader.list())) or "none"
        raise ConfigurationError(f"there is no spider {spider!r}; the project's spiders: {known}") from None


def _require_lasting(options: CrawlOptions, spider: str | None) -> None:
    if not is_persistent(options.store):
        raise ConfigurationError(
            "the project's crawls keep no index. Name a lasting one by CRAWLDEDUP_STORE, or the directory of a crawl "
            "that has one by -s JOBDIR=..."
        )
    if options.scope == "spider" and spider is None:
        raise ConfigurationError(
            "CRAWLDEDUP_SCOPE is 'spider', so that each spider's pages are apart: add --spider NAME"
        )


def _sources(names: list[str], fetched: Fetched, options: CrawlOptions, output: Output) -> Iterator[Page]:
    """Yield the pages that can be read or fetched and that a crawl would check, in the order of their names."""
    for name in names:
        if name not in fetched:
            yield from readable_sources([name], output.unreadable)
        elif isinstance(answered := fetched[name], PageError):
            output.unreadable(answered)
        elif skipped := reason_to_skip(*answered, options.deny):
            url, status = answered[1].url, answered[1].status
            output.skip(url, PageError(skipped, f"crawls do not check such a response (status {status})"))
        else:
            job = job_of(*answered, PagePolicy.of_crawl(options))
            canonical = job.claim(_links_of(job)).original
            yield Page(job.url, html=job.html(), text=job.text(), encoding=job.encoding, canonical=canonical)


def _links_of(job: Job) -> HeadLinks:
    with suppress(PageError):
        if (body := job.html()) is not None:
            return head_links(HtmlPage.read(body, job.encoding).tree)
    return NO_LINKS


def _fetch(urls: Sequence[str], *, name: str, settings: Settings, process: CrawlerProcessBase) -> Fetched:
    """Fetch URLs one after the other as a crawl would. Return each URL's request and response, or the error instead.

    Uses the project's downloader and its middlewares, but no code of its spiders, nor the queue of its crawls. `name`
    is that of the spider, by which caches keep pages. Changes the process's `settings`; it cannot be used again.
    """
    settings.setdict(_APART, priority="cmdline")
    fetched: Fetched = {url: _unreachable(url, "the crawl did not start; -L INFO shows why") for url in urls}
    process.crawl(_Fetcher, name=name, fetched=fetched)
    process.start()
    return fetched


class _Fetcher(Spider):
    fetched: Fetched

    async def start(self) -> AsyncIterator[Request]:
        engine = self.crawler.engine
        assert engine is not None
        for url in self.fetched:
            try:
                # A text that looks like a URL may still be no URL.
                request = Request(url, dont_filter=True)
                response = await engine.download_async(request)
            except Exception as error:
                self.fetched[url] = _unreachable(url, f"{type(error).__name__}: {error}")
            else:
                self.fetched[url] = response.request or request, response
        return
        yield  # Scrapy wants a generator


def _unreachable(url: str, reason: str) -> PageError:
    return PageError("unreachable", f"{url} cannot be fetched: {reason}")


def _own_journals(options: CrawlOptions) -> str:
    if options.journal is False:
        raise ConfigurationError("CRAWLDEDUP_JOURNAL is False: name the journals to read")
    return place_of_journals(options)
