"""Run the demo: serve a site, crawl it, and compare what was dropped with the truth."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from scrapy.settings import Settings

from crawldedup.deduplicator import Deduplicator
from crawldedup.demo.crawl import Judged, run_crawl
from crawldedup.demo.folder import FolderSite
from crawldedup.demo.scoring import against_manifest, against_texts, document_of
from crawldedup.demo.server import serving, target_of
from crawldedup.demo.site import DemoSite
from crawldedup.reader import PageReader
from crawldedup.scrapy_plugin.settings import CrawlOptions
from crawldedup.stores.registry import is_persistent
from crawldedup.verdict import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from crawldedup.demo.crawl import CrawlOutcome
    from crawldedup.demo.server import Site
    from crawldedup.evaluation.corpus import Document
    from crawldedup.evaluation.trial import Trial

Listener = Callable[[str, int, int, str], None]
"""Is called for every page with the stage of the run, the pages done and expected in it, and a note."""

_SHOWN_OF_TRIAL: Final = ("similarity", "recall", "precision", "bands", "thin", "missed", "wrong", "apart")


@dataclass(frozen=True, slots=True)
class DemoResult:
    """All of a demo crawl.

    `dropped_bytes` are the bodies of dropped pages: downloaded, but not processed any further. `clusters` are the
    duplicates by original. `without` is the traffic of the same crawl without the plugin. `manifest` and `truth` hold
    the crawl against the site's manifest and the exact similarities; `not_reached` are paths of the manifest that
    were not crawled. `log` holds the last warnings.
    """

    site: str
    pages_fetched: int
    pages_kept: int
    dropped_near: int
    dropped_exact: int
    dropped_bytes: int
    verdicts: dict[str, int]
    skipped: dict[str, int]
    errors: dict[str, int]
    traffic: dict[str, float]
    finish_reason: str
    clusters: dict[str, list[Judged]]
    stats: dict[str, Any]
    log: str = ""
    without: dict[str, float] | None = None
    manifest: Trial | None = None
    not_reached: tuple[str, ...] = ()
    truth: Trial | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        values = asdict(self)
        for name, trial in (("manifest", self.manifest), ("truth", self.truth)):
            values[name] = trial and {key: value for key, value in trial.as_dict().items() if key in _SHOWN_OF_TRIAL}
        return values


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """What to crawl and how.

    `directory` is crawled instead of the demo site. Without a `namespace`, the run has one of its own. `compare` crawls
    the demo site once more without the plugin. `exact` computes the exact similarities of all texts.
    """

    directory: Path | None = None
    store: str = "memory://"
    namespace: str | None = None
    similarity: float = 0.9
    extractor: str = "blocks"
    compare: bool = True
    exact: bool = True
    verbose: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)


def run_demo(options: DemoOptions = DemoOptions(), listener: Listener = lambda *_: None) -> DemoResult:
    """Run the demo. Raises ConfigurationError for a directory without pages, and CrawlError if a crawl fails."""
    own = DemoSite() if options.directory is None else None
    site: Site = own or FolderSite(options.directory or "")
    settings, without = crawl_settings(options), None
    with serving(site) as base_url, tempfile.TemporaryDirectory(prefix="crawldedup-demo-") as folder:
        if options.namespace is None:
            settings = _without_key(settings, folder)
        urls = [base_url + path for path in site.start_paths]
        pages = len(urls) if own is None else len(own.pages)
        outcome = _crawl("Crawling", pages, urls, settings, options, listener)
        if own is not None and options.compare:
            unfiltered = {**settings, "CRAWLDEDUP_ENABLED": False}
            without = _traffic_of(_crawl("Without crawldedup", pages, urls, unfiltered, options, listener))
    # A page that comes again is not its own copy.
    judged = [page for page in outcome.judged if page.kind != Kind.REVISIT]
    dropped = [page for page in judged if page.dropped]
    seen = set(map(target_of, [*(page.url for page in outcome.judged), *outcome.kept]))
    return DemoResult(
        site=site.name,
        pages_fetched=len(outcome.kept) + len(dropped),
        pages_kept=len(outcome.kept),
        dropped_near=sum(page.kind == Kind.NEAR_DUPLICATE for page in dropped),
        dropped_exact=sum(page.kind == Kind.EXACT_DUPLICATE for page in dropped),
        dropped_bytes=sum(page.bytes for page in dropped),
        verdicts={str(kind): sum(page.kind == kind for page in outcome.judged) for kind in Kind},
        skipped=_counts(outcome.stats, "crawldedup/skipped/"),
        errors=_counts(outcome.stats, "crawldedup/error/"),
        traffic=_traffic_of(outcome),
        finish_reason=outcome.reason,
        clusters=clusters_of(outcome.judged),
        stats=outcome.stats,
        log=outcome.log,
        without=without,
        manifest=None if own is None else against_manifest(judged, own.entry),
        not_reached=() if own is None else tuple(path for path in own.manifest() if path not in seen),
        truth=_exact_truth(site, judged, options, listener) if options.exact else None,
    )


def crawl_settings(options: DemoOptions) -> dict[str, Any]:
    """Return Scrapy's settings for these options."""
    settings = {
        "ADDONS": {"crawldedup.Addon": 500},
        "CONCURRENT_REQUESTS": 8,
        "HTTPPROXY_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "DEBUG" if options.verbose else "WARNING",
        # The calendar has no end; a year of it is enough to see what happens.
        "DEPTH_LIMIT": 0 if options.directory is not None else 12,
        # Breadth first, so that an article usually comes before its copies.
        "DEPTH_PRIORITY": 1,
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
        # What is shown is which pages are recognised, in the order of the crawl.
        "CRAWLDEDUP_ACTION": "drop",
        "CRAWLDEDUP_PREFER": [],
        # It leaves nothing in the folder where it is called.
        "CRAWLDEDUP_JOURNAL": False,
        "CRAWLDEDUP_STORE": options.store,
        "CRAWLDEDUP_NAMESPACE": options.namespace or f"demo-{uuid.uuid4().hex[:12]}",
        "CRAWLDEDUP_SIMILARITY": options.similarity,
        "CRAWLDEDUP_EXTRACTOR": options.extractor,
    }
    if options.namespace is None:
        # This index is never used again.
        settings["CRAWLDEDUP_TTL"] = "1h"
    return settings | dict(options.settings)


def _without_key(settings: dict[str, Any], folder: str) -> dict[str, Any]:
    """Begin the run's own index without a key, so that all runs estimate alike; return the crawl's settings."""
    if not is_persistent(settings["CRAWLDEDUP_STORE"]):
        settings = {**settings, "CRAWLDEDUP_STORE": f"sqlite:///{quote(folder)}/index.sqlite"}
    index = replace(CrawlOptions.from_settings(Settings(settings)), key=0)
    with Deduplicator.from_options(index):
        return settings


def _crawl(
    stage: str, pages: int, urls: Sequence[str], settings: Mapping[str, Any], options: DemoOptions, listener: Listener
) -> CrawlOutcome:
    kept = dropped = 0

    def on_event(event: Judged | str) -> None:
        nonlocal kept, dropped
        kept += isinstance(event, str)
        dropped += isinstance(event, Judged) and event.dropped
        listener(stage, kept + dropped, pages, f"{kept} kept, {dropped} dropped")

    return run_crawl(urls, settings, on_event=on_event, verbose=options.verbose)


def _exact_truth(site: Site, judged: Sequence[Judged], options: DemoOptions, listener: Listener) -> Trial:
    reader = PageReader(CrawlOptions.from_settings(Settings(crawl_settings(options))))
    documents: list[Document] = []
    for page in judged:
        body = site.reply(target_of(page.url)).body
        documents.append(document_of(page.url, body, page.encoding, reader, is_html=page.is_html))
        listener("Reading for the exact comparison", len(documents), len(judged), "")
    return against_texts(judged, documents, options.similarity)


def _traffic_of(outcome: CrawlOutcome) -> dict[str, float]:
    counted = outcome.stats.get
    return {
        "requests": counted("downloader/request_count", 0),
        "bytes": counted("downloader/response_bytes", 0),
        "pages": len(outcome.kept),
        "seconds": counted("elapsed_time_seconds", 0.0),
    }


def clusters_of(judged: Iterable[Judged]) -> dict[str, list[Judged]]:
    """Return the duplicates by original, the largest cluster first."""
    clusters: dict[str, list[Judged]] = {}
    for page in judged:
        if page.kind in (Kind.NEAR_DUPLICATE, Kind.EXACT_DUPLICATE) and page.original is not None:
            clusters.setdefault(page.original, []).append(page)
    return dict(sorted(clusters.items(), key=lambda cluster: -len(cluster[1])))


def _counts(stats: Mapping[str, Any], prefix: str) -> dict[str, int]:
    return {name.removeprefix(prefix): count for name, count in sorted(stats.items()) if name.startswith(prefix)}
