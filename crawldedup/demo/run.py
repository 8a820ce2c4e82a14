"""The demo from end to end: serve a site, crawl it, and compare what was dropped with the truth."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from crawldedup.demo.crawl import CrawlOutcome, Judged, Kept, run_crawl
from crawldedup.demo.folder import FolderSite
from crawldedup.demo.reply import target_of
from crawldedup.demo.result import DemoResult, Traffic, Truth
from crawldedup.demo.scoring import clusters_of, score
from crawldedup.demo.server import serving
from crawldedup.demo.site import DemoSite
from crawldedup.demo.texts import texts_of
from crawldedup.demo.truth import JudgedPage, assess
from crawldedup.scrapy_plugin.reading.base import Page
from crawldedup.verdict import Kind

if TYPE_CHECKING:
    from pathlib import Path

    from crawldedup.demo.reply import Site

# The calendar has no end; a year of it is enough to see what happens.
_DEPTH_LIMIT = 12
_PREFIX = "crawldedup/"

_SETTINGS: Final[Mapping[str, Any]] = {
    "ADDONS": {"crawldedup.Addon": 500},
    # The site is ours and local: nobody has to be spared.
    "ROBOTSTXT_OBEY": False,
    "AUTOTHROTTLE_ENABLED": False,
    "DOWNLOAD_DELAY": 0,
    "COOKIES_ENABLED": False,
    "HTTPPROXY_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "LOGSTATS_INTERVAL": 0,
    # Breadth first, so that an article usually comes before its copies.
    "DEPTH_PRIORITY": 1,
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """What to crawl and how.

    `directory` is crawled instead of the demo site. `store` is any store URL; without a `namespace`, one is
    made up for this run, so that pages of earlier runs do not count. `compare` crawls the demo site once more
    without the filter; it has no effect for a directory, where every file is asked for anyway. `exact` reads
    all texts again and computes their exact similarities. `timeout_seconds` ends a crawl that takes longer.
    """

    directory: Path | None = None
    store: str = "memory://"
    namespace: str | None = None
    similarity: float = 0.9
    extractor: str = "trafilatura"
    concurrency: int = 8
    compare: bool = True
    exact: bool = True
    timeout_seconds: float | None = None
    verbose: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Progress:
    """How far a run is: `stage` is "crawl", "compare", "texts" or "exact"; `total` is None where nobody can know."""

    stage: str = "crawl"
    done: int = 0
    total: int | None = None
    kept: int = 0
    dropped: int = 0


Listener = Callable[[Progress], None]


def run_demo(options: DemoOptions | None = None, on_progress: Listener | None = None) -> DemoResult:
    """Run the demo; `on_progress` is called for every page, always with the same object.

    Raises `ConfigurationError` for options that are not allowed, `CrawlError` if the crawl's process dies.
    """
    options = options or DemoOptions()
    own = DemoSite() if options.directory is None else None
    site: Site = FolderSite(options.directory) if options.directory is not None else DemoSite()
    report = on_progress or (lambda _: None)
    without = None
    with serving(site) as base_url:
        urls = [base_url + path for path in site.start_paths]
        expected = len(own.pages) if own is not None else len(urls)
        outcome = _crawl(urls, options, Progress("crawl", total=expected), report)
        if own is not None and options.compare:
            unfiltered = {"CRAWLDEDUP_ENABLED": False}
            progress = Progress("compare", total=expected)
            without = traffic_of(_crawl(urls, options, progress, report, unfiltered))
    truth = _exact_truth(site, outcome, options, report) if options.exact else None
    manifest = None
    if own is not None:
        kept_urls = [page.url for page in outcome.kept]
        manifest = score(outcome.judged, kept_urls, own.entry, own.manifest().values())
    stats = outcome.stats
    dropped = [page for page in outcome.judged if page.dropped]
    return DemoResult(
        site=site.name,
        pages_fetched=len(outcome.kept) + len(dropped),
        pages_kept=len(outcome.kept),
        dropped_near=sum(page.kind == Kind.NEAR_DUPLICATE for page in dropped),
        dropped_exact=sum(page.kind == Kind.EXACT_DUPLICATE for page in dropped),
        dropped_bytes=sum(page.bytes for page in dropped),
        verdicts={kind: sum(page.kind == kind for page in outcome.judged) for kind in map(str, Kind)},
        skipped=_counts(stats, "skipped/"),
        errors=_counts(stats, "error/"),
        traffic=traffic_of(outcome),
        finish_reason=outcome.reason,
        clusters=clusters_of(outcome.judged),
        without=without,
        manifest=manifest,
        truth=truth,
        stats=stats,
        log=outcome.log,
    )


def traffic_of(outcome: CrawlOutcome) -> Traffic:
    """What Scrapy counted."""
    stats = outcome.stats
    return Traffic(
        requests=stats.get("downloader/request_count", 0),
        bytes=stats.get("downloader/response_bytes", 0),
        pages=len(outcome.kept),
        seconds=stats.get("elapsed_time_seconds", 0.0),
    )


def crawl_settings(options: DemoOptions) -> dict[str, Any]:
    """Scrapy's settings for these options."""
    settings = {
        **_SETTINGS,
        "LOG_LEVEL": "DEBUG" if options.verbose else "WARNING",
        "CONCURRENT_REQUESTS": options.concurrency,
        "CONCURRENT_REQUESTS_PER_DOMAIN": options.concurrency,
        "DEPTH_LIMIT": 0 if options.directory is not None else _DEPTH_LIMIT,
        "CLOSESPIDER_TIMEOUT": options.timeout_seconds or 0,
        "CRAWLDEDUP_STORE": options.store,
        "CRAWLDEDUP_NAMESPACE": options.namespace or f"demo-{uuid.uuid4().hex[:12]}",
        "CRAWLDEDUP_SIMILARITY": options.similarity,
        "CRAWLDEDUP_EXTRACTOR": options.extractor,
    }
    if options.namespace is None:
        # Nobody will ask for this index again.
        settings["CRAWLDEDUP_TTL"] = "1h"
    return settings | dict(options.settings)


def _crawl(
    urls: list[str],
    options: DemoOptions,
    progress: Progress,
    report: Listener,
    changes: Mapping[str, Any] | None = None,
) -> CrawlOutcome:
    def on_event(event: Judged | Kept) -> None:
        if isinstance(event, Kept):
            progress.kept += 1
        elif event.dropped:
            progress.dropped += 1
        progress.done = progress.kept + progress.dropped
        report(progress)

    settings = crawl_settings(options) | dict(changes or {})
    outcome = run_crawl(urls, settings, on_event=on_event, verbose=options.verbose)
    progress.total = progress.done
    report(progress)
    return outcome


def _exact_truth(site: Site, outcome: CrawlOutcome, options: DemoOptions, report: Listener) -> Truth:
    # A page that comes again is not its own copy.
    judged = [page for page in outcome.judged if page.kind != Kind.REVISIT]
    progress = Progress("texts", total=len(judged))

    def on_text() -> None:
        progress.done += 1
        report(progress)

    bodies = (Page(_body_at(site, page.url), page.encoding, page.is_html) for page in judged)
    texts = texts_of(bodies, options.extractor, on_text)
    pages = [JudgedPage(page.url, text, not page.dropped) for page, text in zip(judged, texts, strict=True)]
    report(Progress("exact"))
    return assess(pages, similarity=options.similarity)


def _body_at(site: Site, url: str) -> bytes:
    return site.reply(target_of(url)).body


def _counts(stats: Mapping[str, Any], prefix: str) -> dict[str, int]:
    start = _PREFIX + prefix
    return {name.removeprefix(start): count for name, count in sorted(stats.items()) if name.startswith(start)}
