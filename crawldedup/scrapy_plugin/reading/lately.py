"""Compare the last pages of a worker with each other, beside the index, in memory."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import StoreError
from crawldedup.verdict import Kind, Verdict

if TYPE_CHECKING:
    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.options import Options
    from crawldedup.scrapy_plugin.reading.messages import Job

MOST_REMEMBERED: Final = 10_000


class LastPages:
    """New pages with product attributes, which are compared without these; and known pages with new text.

    Neither meet in the index: a shop's thousand variants would crowd there, and a known page is known by its URL.
    """

    def __init__(self, options: Options) -> None:
        self._options = replace(
            options, store="memory://", ttl=None, max_pages=MOST_REMEMBERED, keep_texts=False, key=0
        )
        self._products = self._begun("products")
        self._changed = self._begun("changed")

    def keep_apart(self, job: Job, page: Fingerprint, verdict: Verdict) -> bool:
        """Return True for a new page that resembles one before it in all but its product attributes."""
        if not page.facts or verdict.kind is not Kind.NEW or not job.remember:
            return False
        same = _checked(self._products, job.url, replace(page, facts=0), job)
        return same is not None and same.is_duplicate

    def face(self, job: Job, page: Fingerprint, verdict: Verdict) -> int:
        """Return a number that known pages share if they have one text now; 0 for other pages.

        It is the digest of that text. Where it has changed, it may differ in a few words, as the number of a request.
        """
        if verdict.kind is not Kind.REVISIT:
            return 0
        if verdict.changed and (same := _checked(self._changed, f"{page.digest:x}", page, job)) is not None:
            return int(same.original, 16) if same.is_duplicate and same.original else page.digest
        return page.digest

    def _begun(self, namespace: str) -> Deduplicator:
        return Deduplicator.from_options(replace(self._options, namespace=namespace))


def _checked(pages: Deduplicator, name: str, page: Fingerprint, job: Job) -> Verdict | None:
    """Compare a page of this name with earlier ones of its scope; None if that fails."""
    with suppress(StoreError):
        return pages.check_fingerprint(
            name, replace(page, key_id=0), scope_key=job.scope_key, similarity=job.similarity
        )
    return None
