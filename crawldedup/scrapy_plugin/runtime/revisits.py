"""A word to users who keep an index and did not ask for unchanged pages to be dropped."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from crawldedup.printable import pluralize
from crawldedup.verdict import Kind

if TYPE_CHECKING:
    from scrapy import Spider

    from crawldedup.verdict import Verdict

logger = logging.getLogger(__name__)

_ENOUGH: Final = 20
_MOST_WATCHED: Final = 10_000
"""A crawl over a site that is known meets known pages early, and a larger one is not to take memory for this."""


class KeptRevisits:
    """Tells once in a crawl, at `_ENOUGH` pages or at its end, that pages of an earlier crawl are delivered again."""

    def __init__(self, *, is_watching: bool) -> None:
        self._own: set[int] | None = set() if is_watching else None
        self._revisits = 0

    @property
    def is_watching(self) -> bool:
        """True while a page may make a difference."""
        return self._own is not None

    def add(self, key: int, verdict: Verdict, spider: Spider) -> None:
        """Note a page that passes, by its `page_key`."""
        if self._own is None:
            return
        # One that this crawl asks for again is none of an earlier crawl, nor is one that was never delivered.
        if verdict.kind is Kind.REVISIT and not verdict.abandoned and key not in self._own:
            self._revisits += 1
        self._own.add(key)
        if self._revisits >= _ENOUGH:
            self.tell(spider)
        elif len(self._own) >= _MOST_WATCHED:
            self._own = None

    def tell(self, spider: Spider) -> None:
        """Tell what was noted, if anything, and note nothing more."""
        if self._revisits:
            pages = ("at least " if self._revisits >= _ENOUGH else "") + pluralize(self._revisits, "page")
            logger.info(
                "crawldedup: %s of an earlier crawl delivered again, since CRAWLDEDUP_REVISIT is 'keep'; 'drop' drops "
                "those that have not changed.",
                pages,
                extra={"spider": spider},
            )
        self._own, self._revisits = None, 0
