"""The Scrapy side: `Addon`, `DedupMiddleware` and the `signals` they send.

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
    from crawldedup.scrapy_plugin.middleware import DedupMiddleware

__all__ = ["Addon", "DedupMiddleware", "DuplicatePageError", "signals"]

_HOMES = {"Addon": "addon", "DedupMiddleware": "middleware", "DuplicatePageError": "exceptions"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
