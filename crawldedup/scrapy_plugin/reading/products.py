"""Notice the pages that would be duplicates but for their product attributes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import StoreError
from crawldedup.verdict import Kind

if TYPE_CHECKING:
    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.options import Options
    from crawldedup.scrapy_plugin.reading.messages import Job
    from crawldedup.verdict import Verdict

MOST_REMEMBERED: Final = 10_000


class Products:
    """The last new pages with product attributes that this worker read, compared without these, in memory.

    In the index such pages never meet, so that a shop's thousand variants do not crowd there.
    """

    def __init__(self, options: Options) -> None:
        private = replace(
            options, store="memory://", ttl=None, max_pages=MOST_REMEMBERED, store_urls=False, keep_texts=False, key=0
        )
        self._pages = Deduplicator.from_options(private)

    def keep_apart(self, job: Job, page: Fingerprint, verdict: Verdict) -> bool:
        """Return True for a new page that resembles one before it in all but these attributes."""
        if not page.facts or verdict.kind is not Kind.NEW or not job.remember:
            return False
        plain = replace(page, facts=0, key_id=0)
        with suppress(StoreError):
            same = self._pages.check_fingerprint(job.url, plain, scope_key=job.scope_key, similarity=job.similarity)
            return same.is_duplicate
        return False
