"""Decide about items in their order, some at a time: which is a copy of an earlier one, or of a page in an index."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from crawldedup.batches import BATCH
from crawldedup.errors import PageError
from crawldedup.page import Page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from crawldedup.commands.feeds import Item
    from crawldedup.deduplicator import Deduplicator
    from crawldedup.verdict import Verdict

T = TypeVar("T")

_BATCH_LETTERS: Final = 16 * 1024 * 1024
"""A batch with so much text takes no more: few pages are longer, and these would fill the memory."""


class Decision(NamedTuple, Generic[T]):
    """What became of an item. The verdict is None for an item whose page cannot be compared.

    It `is_known` if the index that is filtered by knows its page.
    """

    item: T
    verdict: Verdict | None = None
    is_known: bool = False

    @property
    def is_copy(self) -> bool:
        """True for an item to leave out."""
        return self.verdict is not None and self.verdict.is_duplicate


class Decider:
    """Compares items by their texts alone: each is a page of its own, whatever its URL.

    `dedup` remembers the items that are no copies. Nothing is added to the `index`. The error of a page that cannot be
    read goes to `on_unreadable`.
    """

    def __init__(
        self, dedup: Deduplicator, index: Deduplicator | None, on_unreadable: Callable[[str, PageError], None]
    ) -> None:
        self._dedup = dedup
        self._index = index
        self._on_unreadable = on_unreadable
        self._numbers = count()

    def decide(self, items: Iterable[tuple[T, Item | None]]) -> Iterator[Decision[T]]:
        """Yield a decision for each item, in their order. An item without a page is no copy. Raises StoreError."""
        for batch in _batches(items):
            found = [self._looked_up(item, page) for item, page in batch]
            asked = [each for each in found if isinstance(each, tuple) and isinstance(each[1], Page)]
            verdicts = self._dedup.check_many(page for _, page in asked)
            for each in found:
                yield each if isinstance(each, Decision) else Decision(each[0], next(verdicts))

    def _looked_up(self, item: T, page: Item | None) -> Decision[T] | tuple[T, Page]:
        """Return the decision, if the earlier items have no part in it, else what to ask about."""
        if page is None:
            return Decision(item)
        try:
            made = self._dedup.fingerprint(html=page.html, text=page.text, encoding=page.encoding, url=page.url)
        except PageError as error:
            self._on_unreadable(page.url, error)
            return Decision(item)
        identity = f"filter {next(self._numbers)}"
        if self._index is not None:
            verdict = self._index.check_fingerprint(page.url, made, identity=identity, remember=False)
            if verdict.is_duplicate:
                return Decision(item, verdict, is_known=True)
        return item, Page(page.url, fingerprint=made, identity=identity)


def _batches(items: Iterable[tuple[T, Item | None]]) -> Iterator[list[tuple[T, Item | None]]]:
    batch: list[tuple[T, Item | None]] = []
    letters = 0
    for item, page in items:
        batch.append((item, page))
        letters += len(page.html or page.text or "") if page else 0
        if len(batch) == BATCH or letters > _BATCH_LETTERS:
            yield batch
            batch, letters = [], 0
    yield batch
