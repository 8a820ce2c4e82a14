"""The Scrapy plugin: `Addon`, `DedupMiddleware`, `DedupItemPipeline`, and their `signals`."""

from typing import TYPE_CHECKING

from crawldedup.lazy import lazy

if TYPE_CHECKING:
    from crawldedup.scrapy_plugin import signals as signals
    from crawldedup.scrapy_plugin.addon import Addon as Addon
    from crawldedup.scrapy_plugin.budget import OverBudgetError as OverBudgetError
    from crawldedup.scrapy_plugin.items import DedupItemPipeline as DedupItemPipeline
    from crawldedup.scrapy_plugin.items import DuplicateItemError as DuplicateItemError
    from crawldedup.scrapy_plugin.items import add_text as add_text
    from crawldedup.scrapy_plugin.items import add_verdict as add_verdict
    from crawldedup.scrapy_plugin.middleware import DedupMiddleware as DedupMiddleware
    from crawldedup.scrapy_plugin.middleware import DuplicatePageError as DuplicatePageError
    from crawldedup.scrapy_plugin.rules import PredictedDuplicateError as PredictedDuplicateError

# Imported on first use, because each of these has to wait for Scrapy, Twisted and numpy.
__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "addon": "Addon",
        "budget": "OverBudgetError",
        "items": "DedupItemPipeline DuplicateItemError add_text add_verdict",
        "middleware": "DedupMiddleware DuplicatePageError",
        "rules": "PredictedDuplicateError",
        "signals": "",
    },
)
