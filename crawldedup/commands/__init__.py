"""Commands, and the files that they read and write. Each module is imported on its first use."""

from typing import TYPE_CHECKING

from crawldedup.lazy import lazy

if TYPE_CHECKING:
    from crawldedup.commands import advise as advise
    from crawldedup.commands import feeds as feeds
    from crawldedup.commands import filtering as filtering
    from crawldedup.commands import indexes as indexes
    from crawldedup.commands import pages as pages
    from crawldedup.commands import sources as sources

__getattr__, __dir__, __all__ = lazy(
    __name__, dict.fromkeys(("advise", "feeds", "filtering", "indexes", "pages", "sources"), "")
)
