"""The rules of `crawldedup.stores.contract` once more, in the plainest words.

The other stores are compared with this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from crawldedup.marks.exact_keys import MOST_PER_KEY, exact_keys, sought_keys, text_key
from crawldedup.marks.learning import is_former_text, learned, succeeding
from crawldedup.marks.relation import Conflict
from crawldedup.search.plan import STORED_BITS
from crawldedup.stores.anchors import MOST_HOLDERS, AnchorQuery, Holders
from crawldedup.stores.contract import (
    FEW,
    LEASE_SECONDS,
    MAX_EVICTED,
    NO_SESSION,
    Answer,
    CrawlSession,
    Layout,
    PageName,
    Query,
    Record,
    Retention,
    StoreInfo,
)
from crawldedup.verdict import Kind
from tests.stores.backends import Clock


@dataclass(frozen=True)
class Attempt:
    """How a page is asked about: alone or at a place of its batch, and perhaps once more."""

    place: int | None = None
    is_repeated: bool = False


FIRST_ATTEMPT = Attempt()
# A page that was added or changed so lately may have been so by the question whose answer was lost.
SECONDS_OF_A_QUESTION = 10


@dataclass
class ReferenceIndex:
    """Pages in the order in which they were added, each with the crawler that checked it last."""

    pages: list[tuple[Record, int]] = field(default_factory=list)
    # By the URL key of a page: the last byte of that of the copy that was counted last.
    last_copies: dict[int, int] = field(default_factory=dict)
    counted_place: int = -1  # of the last copy that was counted of a batch
    leases: dict[int, int] = field(default_factory=dict)
    pending: dict[int, int] = field(default_factory=dict)
    covered: dict[int, AnchorQuery] = field(default_factory=dict)
    holders: dict[int, list[int]] = field(default_factory=dict)  # of each anchor, as they came
    crawlers: int = 0


class ReferenceStore:
    """Slow and simple. Knows nothing of buckets, B-trees or sorted arrays.

    What has expired it frees at once, which is more than a store promises.
    """

    def __init__(self, index: ReferenceIndex, layout: Layout, clock: Clock) -> None:
        self._index = index
        self.layout = layout
        self._clock = clock
        self.session = NO_SESSION

    @property
    def _now(self) -> int:
        return int(self._clock())

    def open(self, session: CrawlSession | None = None) -> int:
        index = self._index
        index.leases = {number: ends for number, ends in index.leases.items() if ends > self._now}
        if self.session.number == 0:
            index.crawlers += 1
            self.session = CrawlSession(index.crawlers, "")
        self.heartbeat()
        return len(index.pages)

    def heartbeat(self) -> None:
        self._index.leases[self.session.number] = self._now + LEASE_SECONDS

    def close(self, *, leave: bool = True) -> None:
        self._index.leases.pop(self.session.number, None)
        self.session = NO_SESSION

    def check(self, queries: Sequence[Query]) -> list[Answer]:
        self.deliver([name for query in queries for name in query.delivered])
        return [self.check_once(query) for query in queries]

    def check_once(self, query: Query, attempt: Attempt = FIRST_ATTEMPT) -> Answer:
        """Check one page, whose deliveries have been noted."""
        self._free_expired(query.retention)
        place = self._place_of(query.record.url_key)
        if place is not None:
            crawler = self._index.pages[place][1]
            if crawler == self.session.number or not self._is_at_work(crawler):
                return self._revisit(query, place, attempt)
        return self._look_for_duplicates(query, place, attempt)

    def _place_of(self, url_key: int) -> int | None:
        for place, (page, _) in enumerate(self._index.pages):
            if page.url_key == url_key:
                return place
        return None

    def _revisit(self, query: Query, place: int, attempt: Attempt) -> Answer:
        """Rule 1: the page is known."""
        record, pages = query.record, self._index.pages
        known, crawler = pages[place]
        seen = replace(known, seen_at=self._now)
        is_own = self._index.pending.get(known.url_key) == self.session.number
        is_abandoned = self._is_abandoned(place) or (attempt.is_repeated and is_own)
        changed = query.has_new_text(seen, abandoned=is_abandoned)
        new = replace(seen, marks=learned(seen.marks, record.marks))
        if changed:
            new = replace(
                record,
                url=seen.url,
                added_at=seen.added_at,
                seen_at=seen.seen_at,
                copies=seen.copies,
            )
        elif seen.digest == record.digest and not seen.packed_text:
            new = replace(new, packed_text=record.packed_text)
        self._note_pending(query)
        pages[place] = (new, self.session.number)
        earlier = seen if changed else replace(new, packed_text=b"")
        if not changed and attempt.is_repeated and crawler == self.session.number:
            # The answer that was lost may have been that the page is new, or has changed.
            changed = self._now - known.seen_at <= SECONDS_OF_A_QUESTION
            if changed and known.seen_at == known.added_at:
                return Answer(Kind.NEW, None, False, len(pages), 0)
        return Answer(Kind.REVISIT, earlier, changed, len(pages), 0, is_abandoned)

    def _look_for_duplicates(self, query: Query, place: int | None, attempt: Attempt) -> Answer:
        """Rules 2 and 3. `place` is that of the page itself, if another crawler holds it."""
        pages = self._index.pages
        candidates = self._candidates(query)
        accepted = self._accepted(query, candidates)
        if place is not None and query.exact_only and not accepted:
            accepted = [] if query.has_new_text(pages[place][0]) else [place]
        rejected, conflict = self._rejected(query, candidates, accepted)
        removed = list(takewhile(self._is_abandoned, accepted))
        accepted = accepted[len(removed) :]
        if not accepted:
            self._add(query, removed, place)
            told = Kind.NEW, None, False, len(pages), len(candidates)
            return Answer(*told, rejected=rejected, conflict=conflict)
        nearest = accepted[0]
        page, crawler = pages[nearest]
        counted = replace(page, seen_at=self._now, copies=page.copies + 1)
        replaces = all(pages[number][0].rank > query.record.rank for number in accepted)
        if replaces:
            marks = learned(query.record.marks, page.marks)
            if page.digest != query.record.digest:
                former = text_key(page.search, page.digest)
                marks = succeeding(query.record.marks, page.marks, former)
            better = replace(query.record, copies=counted.copies, marks=marks)
            self._add(replace(query, record=better), [*removed, nearest], place)
        else:
            if self._is_counted(query, page, attempt):
                counted = replace(counted, copies=page.copies)
            counted = replace(counted, marks=learned(page.marks, query.record.marks))
            pages[nearest] = counted, crawler
        is_exact = page.digest == query.record.digest
        kind = Kind.EXACT_DUPLICATE if is_exact else Kind.NEAR_DUPLICATE
        has_text = not is_exact and query.record.packed_text
        earlier = counted if has_text else replace(counted, packed_text=b"")
        return Answer(kind, earlier, False, len(pages), len(candidates), replaces=replaces)

    def _is_counted(self, query: Query, page: Record, attempt: Attempt) -> bool:
        """Return whether the question counted this copy of a page already, and count it if not."""
        index, copy = self._index, query.record.url_key & 0xFF
        if attempt.place is None:
            is_last = page.copies > 0 and index.last_copies.get(page.url_key, 0) == copy
        else:
            is_last = attempt.place <= index.counted_place
        is_counted = attempt.is_repeated and is_last
        if attempt.place is not None and not is_counted:
            index.counted_place = attempt.place
        index.last_copies[page.url_key] = copy
        return is_counted

    def _add(self, query: Query, removed: Sequence[int], place: int | None) -> None:
        """Add a page, which replaces removed pages and an earlier page with its URL."""
        pages = self._index.pages
        for number in removed:
            self._index.pending.pop(pages[number][0].url_key, None)
        self._note_pending(query)
        gone = {*removed} if place is None else {*removed, place}
        for number in sorted(gone, reverse=True):
            del pages[number]
        self._index.last_copies.pop(query.record.url_key, None)
        added = replace(query.record, added_at=self._now, seen_at=self._now)
        pages.append((added, self.session.number))
        self._free_oldest(query.retention, MAX_EVICTED)

    def _note_pending(self, query: Query) -> None:
        if query.is_pending:
            self._index.pending[query.record.url_key] = self.session.number
        else:
            self._index.pending.pop(query.record.url_key, None)

    def deliver(self, names: Sequence[PageName]) -> None:
        for name in names:
            if self._index.pending.get(name.url_key) == self.session.number:
                del self._index.pending[name.url_key]

    def find(self, queries: Sequence[Query]) -> list[list[Record]]:
        return [list(map(self._without_text, self._found(query))) for query in queries]

    def _found(self, query: Query) -> list[int]:
        """Those that are accepted, and siblings that are as near, nearest first."""
        candidates = self._candidates(query)
        accepted = self._accepted(query, candidates)
        found = [
            (cost, place)
            for cost, place in self._costs(query, candidates)
            if place in accepted or (cost <= query.rule.limit and self._conflict(query, place))
        ]
        return [place for _, place in sorted(found)]

    def _without_text(self, place: int) -> Record:
        return replace(self._index.pages[place][0], packed_text=b"")

    def remembered(self, names: Sequence[PageName], retention: Retention) -> list[Record | None]:
        live = {
            page.url_key: page for page, _ in self._index.pages if self._is_live(page, retention)
        }
        return [live.get(name.url_key) for name in names]

    def anchors(self, query: AnchorQuery, *, add: bool = True) -> Holders:
        """Pages that never expire and are never too many."""
        own, covered, holders = query.name.url_key, self._index.covered, self._index.holders
        is_known = own in covered
        every = [holders.get(anchor, []) for anchor in query.anchors]
        of = [
            tuple(takewhile(lambda key: key != own, held)) if len(held) < MOST_HOLDERS else None
            for held in every
        ]
        urls = {key: page.url for key, page in covered.items()}
        if add:
            self._uncover(own, keep=query.anchors)
            covered[own] = query
            for anchor in query.anchors:
                held = holders.setdefault(anchor, [])
                if own not in held and len(held) < MOST_HOLDERS:
                    held.append(own)
        return Holders(tuple(of), urls, is_known)

    def _uncover(self, own: int, keep: Sequence[int] = ()) -> bool:
        for anchor, held in self._index.holders.items():
            if own in held and anchor not in keep:
                held.remove(own)
        return self._index.covered.pop(own, None) is not None

    def forget(self, name: PageName, *, anchors_alone: bool = False) -> bool:
        was_covered = self._uncover(name.url_key)
        if anchors_alone:
            return was_covered
        before = len(self._index.pages)
        self._index.pages = [page for page in self._index.pages if page[0].url_key != name.url_key]
        if len(self._index.pages) < before:
            self._index.pending.pop(name.url_key, None)
        return was_covered or len(self._index.pages) < before

    def clear(self) -> None:
        self._index.pages.clear()
        self._index.pending.clear()
        self._index.covered.clear()
        self._index.holders.clear()
        self.open()

    def info(self) -> StoreInfo:
        layout = self.layout
        named = layout.profile, layout.namespace, "reference"
        return StoreInfo(len(self._index.pages), 0, 0, len(layout.tables), *named)

    def _is_at_work(self, crawler: int) -> bool:
        return 0 < self._index.leases.get(crawler, 0) - self._now <= LEASE_SECONDS

    def _is_abandoned(self, place: int) -> bool:
        page, crawler = self._index.pages[place]
        is_pending = self._index.pending.get(page.url_key) == crawler
        return is_pending and crawler != self.session.number and not self._is_at_work(crawler)

    def _is_live(self, page: Record, retention: Retention) -> bool:
        since = page.seen_at if retention.refresh else page.added_at
        return retention.ttl_seconds is None or self._now - since <= retention.ttl_seconds

    def _free_expired(self, retention: Retention) -> None:
        self._index.pages = [
            page for page in self._index.pages if self._is_live(page[0], retention)
        ]

    def _free_oldest(self, retention: Retention, most: int) -> None:
        if retention.max_pages is not None:
            del self._index.pages[: min(max(len(self._index.pages) - retention.max_pages, 0), most)]

    def _candidates(self, query: Query) -> list[int]:
        """The live ones in the ranges, and the last of those under each exact key of the page."""
        pages = [page for page, _ in self._index.pages]
        met = {
            place
            for place, page in enumerate(pages)
            if any(
                self._is_met(query, table, key)
                for table, key in enumerate(self.layout.keys(page.search))
            )
        }
        own = sought_keys(query.record.search, query.record.digest, query.record.marks)
        keys = [exact_keys(page.search, page.digest, page.marks) for page in pages]
        for kind, key in enumerate(own):
            if key is not None:
                filed = [place for place, its in enumerate(keys) if its[kind] == key]
                met.update(filed[-MOST_PER_KEY:])
        return [place for place in sorted(met) if self._is_live(pages[place], query.retention)]

    def _is_met(self, query: Query, table: int, key: int) -> bool:
        """True if a key lies in a range of its table and the key rule has nothing against it."""
        plan, rule = query.plan, query.prefilter
        bounds = zip(plan.tables.tolist(), plan.lows.tolist(), plan.highs.tolist(), strict=True)
        if not any(table == where and low <= key <= high for where, low, high in bounds):
            return False
        if rule is None:
            return True
        differing = f"{key ^ query.keys[table]:064b}"[:STORED_BITS]
        order = self.layout.tables[table].order.tolist()
        return (
            sum(rule.costs[order[bit]] for bit, differs in enumerate(differing) if differs == "1")
            <= rule.limit
        )

    def _conflict(self, query: Query, place: int) -> Conflict:
        return query.conflict_with(self._index.pages[place][0].marks)

    def _rejected(
        self, query: Query, places: list[int], accepted: list[int]
    ) -> tuple[Record | None, Conflict]:
        """The nearest sibling, or else the nearest of the others that are not accepted.

        None is told from a certain cost on.
        """
        costs = sorted(self._costs(query, places))
        for cost, place in costs:
            if cost <= query.rule.limit and (conflict := self._conflict(query, place)):
                return self._without_text(place), conflict
        most = query.rule.bounds.far if len(places) <= FEW else query.rule.bounds.reach
        for cost, place in costs:
            is_sibling = cost <= query.rule.bounds.reach and self._conflict(query, place)
            if cost <= most and place not in accepted and not is_sibling:
                return self._without_text(place), Conflict.NONE
        return None, Conflict.NONE

    def _costs(self, query: Query, places: list[int]) -> list[tuple[int, int]]:
        costs = []
        record = query.record
        text = text_key(record.search, record.digest)
        for place in places:
            page = self._index.pages[place][0]
            cost = query.rule.cost(query.record.signature, page.signature)
            is_view = cost <= query.rule.bounds.of_views and query.has_certain_view(page.marks)
            is_former = is_former_text(record.marks, page.marks, text)
            if page.digest == record.digest or is_view or is_former:
                costs.append((0, place))
            elif not query.exact_only:
                costs.append((cost, place))
        return costs

    def _accepted(self, query: Query, places: list[int]) -> list[int]:
        """Nearest first, the earlier one of equals. Siblings are passed over."""
        costs = [
            (cost, place)
            for cost, place in self._costs(query, places)
            if cost <= query.rule.bounds.reach and not self._conflict(query, place)
        ]
        limit = query.rule.bounds.bar([cost for cost, _ in costs]).limit
        return [place for cost, place in sorted(costs) if cost <= limit]
