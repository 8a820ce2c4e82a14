"""A crawl to try crawldedup on: a local site with real near duplicates, or any directory of HTML files.

The names are imported on first use: a spider that only wants the local server pays for nothing else.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crawldedup.demo.result import DemoResult
    from crawldedup.demo.run import DemoOptions, Progress, run_demo

__all__ = ["DemoOptions", "DemoResult", "Progress", "run_demo"]

_HOMES = {"DemoOptions": "run", "DemoResult": "result", "Progress": "run", "run_demo": "run"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
