"""crawldedup recognizes near-duplicate pages while a crawl runs."""

from typing import TYPE_CHECKING

from crawldedup.lazy import lazy

if TYPE_CHECKING:
    from crawldedup.aio import AsyncDeduplicator as AsyncDeduplicator
    from crawldedup.deduplicator import Deduplicator as Deduplicator
    from crawldedup.errors import CrawlDedupError as CrawlDedupError
    from crawldedup.errors import PageError as PageError
    from crawldedup.errors import StoreError as StoreError
    from crawldedup.fingerprinting.bits import Fingerprint as Fingerprint
    from crawldedup.fingerprinting.bits import fingerprint as fingerprint
    from crawldedup.index.explain import compare as compare
    from crawldedup.key import Key as Key
    from crawldedup.options import Options as Options
    from crawldedup.page import Page as Page
    from crawldedup.scrapy_plugin import Addon as Addon
    from crawldedup.scrapy_plugin import DedupItemPipeline as DedupItemPipeline
    from crawldedup.scrapy_plugin import add_text as add_text
    from crawldedup.scrapy_plugin import add_verdict as add_verdict
    from crawldedup.verdict import CheckedText as CheckedText
    from crawldedup.verdict import Kind as Kind
    from crawldedup.verdict import MainText as MainText
    from crawldedup.verdict import Verdict as Verdict

__version__ = "0.4.0"

# All Scrapy commands import this package to find `scrapy dedup`, and must not wait for numpy.
__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "aio": "AsyncDeduplicator",
        "deduplicator": "Deduplicator",
        "errors": "CrawlDedupError PageError StoreError",
        "index.explain": "compare",
        "fingerprinting.bits": "Fingerprint fingerprint",
        "options": "Options",
        "page": "Page",
        "scrapy_plugin": "Addon DedupItemPipeline add_text add_verdict",
        "key": "Key",
        "verdict": "CheckedText Kind MainText Verdict",
    },
)
