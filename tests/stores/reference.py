"""The rules of `crawldedup.stores.base` once more, in the plainest words: what the stores are held against."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from crawldedup.stores.base import LEASE_SECONDS, Answer, Crawler, Layout, Query, Record, Status, StoreInfo

if TYPE_CHECKING:
    from .backends import Clock


@dataclass
class ReferenceIndex:
    """Pages in the order of their coming, each with the number of the crawler that delivered it last."""

    pages: list[tuple[Record, int]] = field(default_factory=list)
    leases: dict[int, int] = field(default_factory=dict)
    crawlers: int = 0
    first: int = 0


class ReferenceStore:
    """Slow and simple. Knows nothing of buckets, B-trees or sorted arrays."""

    def __init__(self, index: ReferenceIndex, layout: Layout, clock: Clock) -> None:
        self._index = index
        self._layout = layout
        self._clock = clock
        self._me = Crawler(0, 0)

    @property
    def _now(self) -> int:
        return int(self._clock())

    def open(self) -> int:
        index = self._index
        index.leases = {number: ends for number, ends in index.leases.items() if ends > self._now}
        if self._me.number == 0:
            index.crawlers += 1
            self._me = Crawler(index.crawlers, 0)
        index.leases.pop(self._me.number, None)
        if not index.leases:
            index.first = self._me.number
        self._me = Crawler(self._me.number, index.first)
        self.heartbeat()
        return len(index.pages)

    def heartbeat(self) -> None:
        self._index.leases[self._me.number] = self._now + LEASE_SECONDS

    def close(self) -> None:
        self._index.leases.pop(self._me.number, None)
        self._me = Crawler(0, 0)

    def check_and_add(self, query: Query) -> Answer:
        entry, pages = query.entry, self._index.pages
        own = next((place for place, (page, _) in enumerate(pages) if page.url_key == entry.url_key), None)
        if own is not None and self._is_live(pages[own][0], query) and not self._me.is_fellow(pages[own][1]):
            old = pages[own][0]
            new = replace(old, seen_at=self._now)
            if old.digest != entry.digest:
                new = replace(new, search=entry.search, signature=entry.signature, digest=entry.digest)
            pages[own] = (new, self._me.number)
            return Answer(Status.REVISIT, new, old.digest != entry.digest, len(pages), 0)
        places = self._candidates(query)
        accepted = self._accepted(query, places)
        if accepted:
            page, crawler = pages[accepted[0]]
            counted = replace(page, seen_at=self._now, copies=page.copies + 1)
            pages[accepted[0]] = (counted, crawler)
            status = Status.EXACT if page.digest == entry.digest else Status.NEAR
            return Answer(status, counted, False, len(pages), len(places))
        if own is not None:
            del pages[own]
        added = Record(
            entry.url, entry.url_key, entry.search, entry.signature, entry.digest, self._now, self._now, copies=0
        )
        pages.append((added, self._me.number))
        return Answer(Status.NEW, None, False, len(pages), len(places))

    def find(self, query: Query) -> list[Record]:
        return [self._index.pages[place][0] for place in self._accepted(query, self._candidates(query))]

    def forget(self, url_key: int) -> bool:
        before = len(self._index.pages)
        self._index.pages = [page for page in self._index.pages if page[0].url_key != url_key]
        return len(self._index.pages) < before

    def clear(self) -> None:
        self._index.pages.clear()
        self.open()

    def info(self) -> StoreInfo:
        layout = self._layout
        return StoreInfo(len(self._index.pages), 0, len(layout.tables), layout.profile, layout.namespace, "reference")

    def _is_live(self, page: Record, query: Query) -> bool:
        return query.ttl_seconds is None or page.seen_at >= self._now - query.ttl_seconds

    def _candidates(self, query: Query) -> list[int]:
        plan, tables = query.plan, self._layout.tables
        ranges = list(zip(plan.tables.tolist(), plan.lows.tolist(), plan.highs.tolist(), strict=True))
        return [
            place
            for place, (page, _) in enumerate(self._index.pages)
            if self._is_live(page, query)
            and any(low <= tables[table].key(page.search) <= high for table, low, high in ranges)
        ]

    def _accepted(self, query: Query, places: list[int]) -> list[int]:
        """Nearest first, the earlier one of equals."""
        costs = []
        for place in places:
            page = self._index.pages[place][0]
            cost = query.rule.cost(query.entry.signature, page.signature)
            if cost <= query.rule.limit and (not query.exact_only or page.digest == query.entry.digest):
                costs.append((cost, place))
        return [place for _, place in sorted(costs)]
