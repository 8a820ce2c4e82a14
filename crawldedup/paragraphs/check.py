"""Ask a store about the paragraphs of a page, and decide which share of the page they make known."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from crawldedup.errors import StoreError
from crawldedup.fingerprinting.anchors import ANCHOR_BITS, PARAGRAPH_WORDS
from crawldedup.paragraphs.coverage import coverage_of
from crawldedup.stores.anchors import AnchorLimits, AnchorQuery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawldedup.fingerprinting.anchors import Paragraph
    from crawldedup.options import Options
    from crawldedup.queries import Question
    from crawldedup.stores.base import Store
    from crawldedup.verdict import Coverage, Verdict

LONGEST_URL: Final = 2048
"""Longer ones are not kept: each paragraph of a page may name one."""


class ParagraphCheck:
    """The paragraphs of one index."""

    def __init__(self, store: Store, options: Options) -> None:
        self._store = store
        self._options = options
        most = options.max_paragraphs * PARAGRAPH_WORDS >> (64 - ANCHOR_BITS)
        self.limits = AnchorLimits(options.paragraph_ttl_seconds, most)

    def coverage(
        self, url: str, url_key: int, shard_key: int | None, paragraphs: Sequence[Paragraph], *, add: bool
    ) -> Coverage:
        """Return how much of a page stands on earlier pages, and add it if that is wanted and it is not partial."""
        least_new = self._options.least_new
        # Anchors of different places differ, as fingerprints do.
        salt = (shard_key or 0) & ((1 << ANCHOR_BITS) - 1)
        salted = [each._replace(anchors=tuple(anchor ^ salt for anchor in each.anchors)) for each in paragraphs]
        anchors = tuple(dict.fromkeys(anchor for each in salted for anchor in each.anchors))
        if not anchors:
            return coverage_of(salted, {}, {}, least_new)
        query = AnchorQuery(
            url=url if self._options.store_urls and len(url) <= LONGEST_URL else "",
            url_key=url_key,
            anchors=anchors,
            limits=self.limits,
            shard_key=shard_key,
            key_id=self._store.layout.key.id,
        )
        found = self._store.anchors(query, add=add)
        coverage = coverage_of(salted, dict(zip(anchors, found.of, strict=True)), found.urls, least_new)
        if add and coverage.is_partial and not found.is_known:
            self._store.forget_anchors(url_key)
        return coverage

    def told(self, question: Question, verdict: Verdict, *, add: bool) -> Verdict:
        """Return a verdict with the coverage of its page, if that is no duplicate and paragraphs are compared."""
        entry, paragraphs = question.query.entry, question.page.paragraphs
        if paragraphs and not verdict.is_duplicate:
            # The verdict stands without it.
            with suppress(StoreError):
                page = question.url, entry.url_key, question.query.shard_key, paragraphs
                return replace(verdict, coverage=self.coverage(*page, add=add))
        return verdict
