"""`Deduplicator` for asyncio.

`deduplicator` holds the public class, which has HTML read in worker processes. `questions` gathers
the pages that wait for the store into batches, and `access` makes the calls to the store. `renewal`
notes pages that have to be read again once more is known of their sites.
"""

from crawldedup.aio.deduplicator import AsyncDeduplicator
from crawldedup.aio.judged import Judged, Timings
from crawldedup.aio.streams import asynchronous

__all__ = ["AsyncDeduplicator", "Judged", "Timings", "asynchronous"]
