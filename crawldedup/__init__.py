"""crawldedup recognises near-duplicate pages while a crawl runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawldedup.lazy import lazy

if TYPE_CHECKING:
    from crawldedup.aio import AsyncDeduplicator
    from crawldedup.deduplicator import Deduplicator
    from crawldedup.errors import (
        ClosedError,
        ConfigurationError,
        CrawlDedupError,
        PageError,
        ProfileMismatchError,
        StoreError,
    )
    from crawldedup.explain import Candidate, Explanation
    from crawldedup.fingerprinting.fingerprint import Fingerprint, fingerprint
    from crawldedup.index import CopyResult
    from crawldedup.options import Options
    from crawldedup.page_input import PageInput
    from crawldedup.scrapy_plugin import Addon, DedupItemPipeline, add_verdict
    from crawldedup.stores.base import CrawlSession, StoreInfo
    from crawldedup.verdict import Kind, Match, Verdict

__version__ = "0.1.0"
__all__ = [
    "Addon",
    "AsyncDeduplicator",
    "Candidate",
    "ClosedError",
    "ConfigurationError",
    "CopyResult",
    "CrawlDedupError",
    "CrawlSession",
    "DedupItemPipeline",
    "Deduplicator",
    "Explanation",
    "Fingerprint",
    "Kind",
    "Match",
    "Options",
    "PageError",
    "PageInput",
    "ProfileMismatchError",
    "StoreError",
    "StoreInfo",
    "Verdict",
    "add_verdict",
    "fingerprint",
]

# Every command of Scrapy imports this package to find `scrapy dedup`, and must not wait for numpy.
__getattr__, __dir__ = lazy(
    __name__,
    {
        "aio": "AsyncDeduplicator",
        "deduplicator": "Deduplicator",
        "errors": "ClosedError ConfigurationError CrawlDedupError PageError ProfileMismatchError StoreError",
        "explain": "Candidate Explanation",
        "fingerprinting.fingerprint": "Fingerprint fingerprint",
        "index": "CopyResult",
        "options": "Options",
        "page_input": "PageInput",
        "scrapy_plugin": "Addon DedupItemPipeline add_verdict",
        "stores.base": "CrawlSession StoreInfo",
        "verdict": "Kind Match Verdict",
    },
)
