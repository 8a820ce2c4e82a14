"""The journals of crawls: what became of every response, as JSON lines in files or in Redis streams.

One process of a crawl writes one journal. `journals` and `crawls` find them again.
"""

from __future__ import annotations

from crawldedup.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__, {"sources": "CrawlSummary crawls journals"})
