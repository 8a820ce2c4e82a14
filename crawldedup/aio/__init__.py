"""`Deduplicator` for asyncio, which reads pages in worker processes and checks them in batches.

`deduplicator` has the public class, which reads HTML in worker processes. `questions` gathers pages
that wait for the store into batches, and `access` makes the calls to the store. `renewal` notes
pages that have to be read again when more is known about their sites.
"""

from crawldedup.aio.deduplicator import AsyncDeduplicator
from crawldedup.aio.judged import Judged, Timings
from crawldedup.aio.streams import asynchronous

__all__ = ["AsyncDeduplicator", "Judged", "Timings", "asynchronous"]
