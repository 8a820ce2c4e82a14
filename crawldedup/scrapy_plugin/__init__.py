"""The Scrapy side: `Addon`, `DedupMiddleware`, `DedupItemPipeline`, and the `signals` they send.

The names are imported on first use, because worker processes import this package too and must not pay for
Scrapy and Twisted.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crawldedup.scrapy_plugin import signals
    from crawldedup.scrapy_plugin.addon import Addon
    from crawldedup.scrapy_plugin.exceptions import DuplicatePageError
    from crawldedup.scrapy_plugin.items import add_verdict
    from crawldedup.scrapy_plugin.middleware import DedupMiddleware
    from crawldedup.scrapy_plugin.pipeline import DedupItemPipeline, DuplicateItemError

__all__ = [
    "Addon",
    "DedupItemPipeline",
    "DedupMiddleware",
    "DuplicateItemError",
    "DuplicatePageError",
    "add_verdict",
    "signals",
]

_HOMES = {
    "Addon": "addon",
    "DedupItemPipeline": "pipeline",
    "DedupMiddleware": "middleware",
    "DuplicateItemError": "pipeline",
    "DuplicatePageError": "exceptions",
    "add_verdict": "items",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
