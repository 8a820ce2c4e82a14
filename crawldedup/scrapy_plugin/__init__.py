"""The Scrapy side: `Addon`, `DedupMiddleware`, `DedupItemPipeline`, and the `signals` they send.

The names are imported on first use, because worker processes import this package too and must not pay for
Scrapy and Twisted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawldedup.lazy import lazy

if TYPE_CHECKING:
    from crawldedup.scrapy_plugin import signals as signals
    from crawldedup.scrapy_plugin.addon import Addon as Addon
    from crawldedup.scrapy_plugin.errors import DuplicateItemError as DuplicateItemError
    from crawldedup.scrapy_plugin.errors import DuplicatePageError as DuplicatePageError
    from crawldedup.scrapy_plugin.errors import PredictedDuplicateError as PredictedDuplicateError
    from crawldedup.scrapy_plugin.items.verdict_fields import add_verdict as add_verdict
    from crawldedup.scrapy_plugin.middleware import DedupMiddleware as DedupMiddleware
    from crawldedup.scrapy_plugin.pipeline import DedupItemPipeline as DedupItemPipeline

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "addon": "Addon",
        "errors": "DuplicateItemError DuplicatePageError PredictedDuplicateError",
        "items.verdict_fields": "add_verdict",
        "middleware": "DedupMiddleware",
        "pipeline": "DedupItemPipeline",
        "signals": "",
    },
)
