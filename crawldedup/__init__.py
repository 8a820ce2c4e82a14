"""crawldedup recognises near-duplicate pages while a crawl runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawldedup.async_deduplicator import AsyncDeduplicator
from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import (
    ConfigurationError,
    CrawlDedupError,
    PageError,
    PortableFileError,
    ProfileMismatchError,
    StoreError,
)
from crawldedup.hashing.fingerprint import Fingerprint, fingerprint
from crawldedup.page_input import PageInput
from crawldedup.verdict import Kind, Match, Verdict

if TYPE_CHECKING:
    from crawldedup.scrapy_plugin import Addon

__version__ = "0.1.0"
__all__ = [
    "Addon",
    "AsyncDeduplicator",
    "ConfigurationError",
    "CrawlDedupError",
    "Deduplicator",
    "Fingerprint",
    "Kind",
    "Match",
    "PageError",
    "PageInput",
    "PortableFileError",
    "ProfileMismatchError",
    "StoreError",
    "Verdict",
    "fingerprint",
]


def __getattr__(name: str) -> Any:
    # Scrapy is only needed, and only imported, by those who name the add-on.
    if name == "Addon":
        from crawldedup.scrapy_plugin import Addon

        return Addon
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
