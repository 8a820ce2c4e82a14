"""crawldedup recognises near-duplicate pages while a crawl runs."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crawldedup.aio import AsyncDeduplicator as AsyncDeduplicator
    from crawldedup.deduplicator import Deduplicator as Deduplicator
    from crawldedup.errors import CrawlDedupError as CrawlDedupError
    from crawldedup.errors import PageError as PageError
    from crawldedup.errors import StoreError as StoreError
    from crawldedup.explain import compare as compare
    from crawldedup.fingerprinting import Fingerprint as Fingerprint
    from crawldedup.fingerprinting import fingerprint as fingerprint
    from crawldedup.names import Key as Key
    from crawldedup.options import Options as Options
    from crawldedup.page import Page as Page
    from crawldedup.scrapy_plugin import Addon as Addon
    from crawldedup.scrapy_plugin import DedupItemPipeline as DedupItemPipeline
    from crawldedup.scrapy_plugin import add_verdict as add_verdict
    from crawldedup.verdict import Kind as Kind
    from crawldedup.verdict import Verdict as Verdict

__version__ = "0.3.0"


def lazy(
    package: str, names: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` for a package.

    Modules without names are names, too (PEP 562).
    """
    homes = {
        name: module for module, listed in names.items() for name in listed.split() or [module]
    }

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{homes[name]}")
        return getattr(module, name) if names[homes[name]] else module

    return get, lambda: sorted(homes), sorted(homes)


# Every command of Scrapy imports this package to find `scrapy dedup`, and must not wait for numpy.
__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "aio": "AsyncDeduplicator",
        "deduplicator": "Deduplicator",
        "errors": "CrawlDedupError PageError StoreError",
        "explain": "compare",
        "fingerprinting": "Fingerprint fingerprint",
        "options": "Options",
        "page": "Page",
        "scrapy_plugin": "Addon DedupItemPipeline add_verdict",
        "names": "Key",
        "verdict": "Kind Verdict",
    },
)
