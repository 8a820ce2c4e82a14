"""crawldedup recognises near-duplicate pages while a crawl runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawldedup.lazy import lazy

if TYPE_CHECKING:
    from crawldedup.aio import AsyncDeduplicator
    from crawldedup.deduplicator import Deduplicator
    from crawldedup.errors import (
        ConfigurationError,
        CrawlDedupError,
        PageError,
        ProfileMismatchError,
        StoreError,
    )
    from crawldedup.fingerprinting.fingerprint import Fingerprint, fingerprint
    from crawldedup.page_input import PageInput
    from crawldedup.scrapy_plugin import Addon, DedupItemPipeline, add_verdict
    from crawldedup.verdict import Kind, Match, Verdict

__version__ = "0.1.0"
__all__ = [
    "Addon",
    "AsyncDeduplicator",
    "ConfigurationError",
    "CrawlDedupError",
    "DedupItemPipeline",
    "Deduplicator",
    "Fingerprint",
    "Kind",
    "Match",
    "PageError",
    "PageInput",
    "ProfileMismatchError",
    "StoreError",
    "Verdict",
    "add_verdict",
    "fingerprint",
]

_HOMES = {
    "Addon": "scrapy_plugin",
    "AsyncDeduplicator": "aio",
    "ConfigurationError": "errors",
    "CrawlDedupError": "errors",
    "DedupItemPipeline": "scrapy_plugin",
    "Deduplicator": "deduplicator",
    "Fingerprint": "fingerprinting.fingerprint",
    "Kind": "verdict",
    "Match": "verdict",
    "PageError": "errors",
    "PageInput": "page_input",
    "ProfileMismatchError": "errors",
    "StoreError": "errors",
    "Verdict": "verdict",
    "add_verdict": "scrapy_plugin",
    "fingerprint": "fingerprinting.fingerprint",
}


# Every command of Scrapy imports this package to learn that there is `scrapy dedup`, and must not wait for numpy; and
# Scrapy is only needed by those who name its parts.
__getattr__ = lazy(__name__, _HOMES)
