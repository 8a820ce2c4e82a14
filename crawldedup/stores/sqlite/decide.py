"""Decide about the pages of a batch, one after the other, by the rules in `base`. Part of its caller's transaction.

The file is read once for all pages, and written once: until then, what earlier pages of the batch changed is kept here.
A page whose answer cannot be told from what was read is asked alone, after all before it are written.
"""

from collections.abc import Sequence

from crawldedup.stores.base import FEW, MAX_EVICTED, MAX_FREED, MAX_SWEPT, Answer, Answers, Query, Record
from crawldedup.stores.sqlite.index import NEVER, Candidate, Page, SqliteIndex, candidates, candidates_alone
from crawldedup.stores.sqlite.schema import Crawlers
from crawldedup.verdict import Kind


def find(index: SqliteIndex, query: Query, now: int) -> list[Record]:
    """Return the records that a query accepts, nearest first."""
    retention = query.retention
    met = [page for page in candidates_alone(index, query) if retention.is_live(page.added_at, page.seen_at, now)]
    numbers, _ = _accepted(query, met)
    pages = {page.number: page for page in index.pages_of(numbers)}
    return [pages[number].record() for number in numbers]


def decide(index: SqliteIndex, batch: Sequence[Query], crawlers: Crawlers) -> Answers:
    """Decide about pages and remember them."""
    crawlers.deliver([name for query in batch for name in query.delivered])
    turn = _Turn(index, batch, crawlers)
    answers: Answers = [turn.answer(place) for place in range(len(batch))]
    turn.write()
    return answers


def _accepted(query: Query, pages: Sequence[Candidate]) -> tuple[list[int], list[int]]:
    """Return the numbers of the pages that a query accepts, nearest first, and that of the nearest other, if any."""
    bounds = query.rule.bounds
    most = bounds.far if len(pages) <= FEW else bounds.reach
    costs = sorted([(page.cost, page.number) for page in pages if page.cost <= most])
    limit = bounds.bar([cost for cost, _ in costs if cost <= bounds.reach]).limit if costs else 0
    accepted = [number for cost, number in costs if cost <= limit]
    return accepted, [number for _, number in costs[len(accepted) :][:1]]


class _Turn:
    """What is known of the pages that a batch meets, and what is to be written of them."""

    def __init__(self, index: SqliteIndex, batch: Sequence[Query], crawlers: Crawlers) -> None:
        self._index, self._batch, self._crawlers, self._now = index, batch, crawlers, crawlers.now
        # What is not written yet: keys and texts, pages that are new or have changed, those gone, and who is pending.
        self._added: dict[int, tuple[int, ...]] = {}
        self._texts: dict[int, bytes] = {}
        self._changed: set[int] = set()
        self._removed: dict[int, Page] = {}
        self._pending: dict[int, bool] = {}
        # Whose query's text a page has since the file was read, None for those gone; and which page has a query's.
        self._place_of: dict[int, int | None] = {}
        self._page_of: dict[int, int] = {}
        own = index.pages_with([query.record.url_key for query in batch])
        # The pages that the batch meets, as they are now.
        self._pages = {page.number: page for page in own}
        self._own = {page.url_key: page.number for page in own}
        self._candidates: dict[int, tuple[list[Candidate], int]] = {}
        if len(batch) > 1 and (asked := [place for place, query in enumerate(batch) if not self._revisited(query)]):
            self._candidates = candidates(index, batch, asked)
            met = [page for pages, _ in self._candidates.values() for page in pages]
            self._load([page.number for page in met if page.number > 0 and page.cost != NEVER])

    def answer(self, place: int) -> Answer:
        query, index = self._batch[place], self._index
        record = query.record
        if own := self._revisited(query):
            return self._revisit(place, own)
        met = self._met(place)
        live = met if query.retention.ttl_seconds is None else [page for page in met if self._is_live(page, query)]
        near, others = _accepted(query, live)
        near = near or self._same_thin(query)
        self._load([*near, *others])
        gone = []
        while near and self._crawlers.is_abandoned((page := self._pages[near[0]]).url_key, page.crawler):
            gone.append(page)
            del near[0]
        nearest = self._pages[near[0]] if near else None
        replaces = nearest is not None and min([self._pages[number].rank for number in near]) > record.rank
        self._free(query, met, live, is_added=nearest is None or replaces)
        kind, earlier, rejected = Kind.NEW, None, next((self._pages[number].record() for number in others), None)
        if nearest is not None:
            rejected = None
            kind = Kind.EXACT_DUPLICATE if nearest.digest == record.digest else Kind.NEAR_DUPLICATE
            text = self._text(nearest.number) if kind is Kind.NEAR_DUPLICATE and record.packed_text else b""
            counted = nearest._replace(seen_at=self._now, copies=nearest.copies + 1)
            earlier = counted.record(text)
            if not replaces:
                self._change(counted)
                return Answer(kind, earlier, False, index.pages, len(live))
            gone.append(nearest)
        for page in gone:
            self._remove(page)
            self._pending[page.url_key] = False
        self._add(place, earlier.copies if earlier else 0)
        return Answer(kind, earlier, False, index.pages, len(live), replaces=replaces, rejected=rejected)

    def write(self) -> None:
        index = self._index
        if self._removed:
            index.remove(self._removed.values())
        if self._changed:
            index.keep([self._pages[number] for number in self._changed])
        if self._added:
            index.file([self._pages[number] for number in self._added], self._added.values())
        index.keep_texts(self._texts)
        self._crawlers.note_pending(self._pending)
        index.write_head()
        self._added, self._texts, self._changed, self._removed, self._pending = {}, {}, set(), {}, {}

    def _is_live(self, page: Page | Candidate, query: Query) -> bool:
        return query.retention.is_live(page.added_at, page.seen_at, self._now)

    def _revisited(self, query: Query) -> Page | None:
        """Return the page that a query visits again, if it does."""
        page = self._pages.get(self._own.get(query.record.url_key, 0))
        is_own = page is not None and self._is_live(page, query) and not self._crawlers.is_at_work(page.crawler)
        return page if is_own else None

    def _same_thin(self, query: Query) -> list[int]:
        """Return the number of a thin page that another crawler at work has, if it is unchanged."""
        own = self._pages.get(self._own.get(query.record.url_key, 0)) if query.exact_only else None
        is_same = own is not None and self._is_live(own, query) and not query.has_new_text(own.signature, own.digest)
        return [own.number] if own is not None and is_same else []

    def _load(self, numbers: Sequence[int]) -> None:
        if missing := set(numbers).difference(self._pages):
            for page in self._index.pages_of(missing):
                self._pages[page.number] = page

    def _met(self, place: int) -> Sequence[Candidate]:
        """Return the pages to compare with a query, as they are now."""
        if place in self._candidates:
            pages, room = self._candidates[place]
            of_file = [page for page in pages if page.number > 0 and page.number not in self._place_of]
            of_batch = [page for page in pages if page.number < 0 and self._is_kept(-1 - page.number)]
            if sum([page.keys for page in of_batch]) <= room:
                return of_file + [page._replace(number=self._page_of[-1 - page.number]) for page in of_batch]
        if len(self._batch) > 1:
            self.write()
        return candidates_alone(self._index, self._batch[place])

    def _is_kept(self, place: int) -> bool:
        """Return whether a page has the text of an earlier query of the batch."""
        return self._place_of.get(self._page_of.get(place, 0)) == place

    def _revisit(self, place: int, own: Page) -> Answer:
        """Note that a page was seen again, and its new text if it has one; its URL, age and copies stay."""
        query, index = self._batch[place], self._index
        record = query.record
        is_abandoned = self._crawlers.is_abandoned(own.url_key, own.crawler)
        self._pending[own.url_key] = query.is_pending
        is_changed = query.has_new_text(own.signature, own.digest, abandoned=is_abandoned)
        seen = own._replace(seen_at=self._now, crawler=self._crawlers.own)
        earlier = seen.record(self._text(own.number) if is_changed else b"")
        if is_changed:
            if own.number not in self._added:
                index.unfile([own])
            self._added[own.number] = query.keys
            seen = Page(*seen[:3], record.search, record.signature, record.digest, record.rank, *seen[7:])
            self._texts[own.number] = record.packed_text
            self._page_of[place], self._place_of[own.number] = own.number, place
        elif record.packed_text and record.digest == own.digest and not self._text(own.number):
            # Texts may not have been kept when the page was added.
            self._texts[own.number] = record.packed_text
        self._change(seen)
        return Answer(Kind.REVISIT, earlier, is_changed, index.pages, 0, is_abandoned)

    def _free(self, query: Query, met: Sequence[Candidate], live: Sequence[Candidate], *, is_added: bool) -> None:
        """Remove pages that have expired, and what has the URL of a page that is added."""
        gone = sorted({page.number for page in met}.difference([page.number for page in live]))
        own = self._own.get(query.record.url_key)
        if own is not None and (is_added or not self._is_live(self._pages[own], query)):
            gone = [own, *gone]
        self._load(gone[:MAX_FREED])
        for number in gone[:MAX_FREED]:
            self._remove(self._pages[number])

    def _text(self, number: int) -> bytes:
        return self._texts[number] if number in self._texts else self._index.text(number)

    def _change(self, page: Page) -> None:
        self._pages[page.number] = page
        self._changed.add(page.number)

    def _add(self, place: int, copies: int) -> None:
        query, index = self._batch[place], self._index
        record, retention, number = query.record, query.retention, index.next_number()
        url = record.url.encode("utf-8", "replace").decode()
        bits = record.url_key, record.search, record.signature, record.digest, record.rank
        self._change(Page(number, url, *bits, self._now, self._now, copies, self._crawlers.own))
        self._added[number], self._own[record.url_key] = query.keys, number
        self._page_of[place], self._place_of[number] = number, place
        if record.packed_text:
            self._texts[number] = record.packed_text
        self._pending[record.url_key] = query.is_pending
        if retention.ttl_seconds is not None:
            swept = index.pages_after(index.swept, MAX_SWEPT)
            index.swept = swept[-1].number if len(swept) == MAX_SWEPT else 0
            for page in swept:
                if not self._is_live(self._pages.get(page.number, page), query):
                    self._remove(page)
        if retention.max_pages is not None:
            excess = min(index.pages - retention.max_pages, MAX_EVICTED)
            if excess > 0:
                self.write()
                for page in index.pages_after(0, excess):
                    self._remove(page)

    def _remove(self, page: Page) -> None:
        if page.number in self._removed:
            return
        page = self._pages.get(page.number, page)
        self._removed[page.number] = page
        self._added.pop(page.number, None)
        self._texts.pop(page.number, None)
        self._changed.discard(page.number)
        self._place_of[page.number] = None
        if self._own.get(page.url_key) == page.number:
            del self._own[page.url_key]
        self._index.freed += 1
