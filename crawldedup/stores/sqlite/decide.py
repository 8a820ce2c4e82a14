"""Decide whether the pages of a batch are new, by the rules of `stores.contract`.

The pages are decided about one after the other. The file is searched once for all pages of a batch,
and written once. In between, `Changes` holds the changes by earlier pages of the batch, and
`BatchSearch` takes them into account.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from crawldedup.marks.exact_keys import text_key
from crawldedup.marks.learning import learned, succeeding
from crawldedup.stores.contract import (
    MAX_EVICTED,
    MAX_FREED,
    MAX_SWEPT,
    Answer,
    Answers,
    Query,
    Record,
    Retention,
)
from crawldedup.stores.sqlite.candidates import Candidate, single_candidates
from crawldedup.stores.sqlite.changes import Changes
from crawldedup.stores.sqlite.crawlers import Crawlers
from crawldedup.stores.sqlite.index import SqliteIndex
from crawldedup.stores.sqlite.pages import PageRow
from crawldedup.stores.sqlite.resemblance import Rejected, Resemblance
from crawldedup.stores.sqlite.search import BatchSearch
from crawldedup.verdict import Kind


@dataclass(frozen=True, slots=True)
class _Comparison:
    """The result of comparing a page with all the pages that it may be a copy of."""

    compared: int  # the number of candidates
    accepted: list[PageRow]  # nearest first
    abandoned: list[PageRow]  # candidates that would be the nearest if they had been delivered
    resemblance: Resemblance
    expired: list[int]  # numbers of candidates that were too old

    def is_better(self, record: Record) -> bool:
        """Return whether a page has a better rank than every page that it resembles."""
        return all(page.rank > record.rank for page in self.accepted)


def find_records(index: SqliteIndex, query: Query, now: int) -> list[Record]:
    """Return the remembered pages that a query accepts, and similar siblings, nearest first."""
    live = [
        candidate
        for candidate in single_candidates(index, query)
        if _is_live(candidate, query.retention, now)
    ]
    found = Resemblance(query, live, attrgetter("marks")).found
    pages = {page.number: page for page in index.pages_of(set(found))}
    return [pages[number].record() for number in found]


class BatchDecision:
    """Decides about the pages of one batch, within one transaction."""

    def __init__(self, index: SqliteIndex, queries: Sequence[Query], crawlers: Crawlers) -> None:
        self._index = index
        self._queries = queries
        self._crawlers = crawlers
        self._now = crawlers.now
        self._changes = Changes(index, crawlers)
        self._changes.load_urls(query.record.url_key for query in queries)
        self._search = BatchSearch(index, queries, self._changes)
        if len(queries) > 1:
            self._look_ahead()

    def answers(self) -> Answers:
        """Decide about all pages, write the changes, and return the answers in order."""
        answers: Answers = [self._answer(place) for place in range(len(self._queries))]
        self._changes.write()
        return answers

    def _look_ahead(self) -> None:
        """Search the file once for all pages of the batch that aren't revisits."""
        places = [
            place for place, query in enumerate(self._queries) if self._visited(query) is None
        ]
        self._search.look_ahead(places)

    def _answer(self, place: int) -> Answer:
        """Decide about one page by the first of the contract's three rules that applies.

        Like the methods below, it makes the changes, which are written later, and returns the
        answer.
        """
        query = self._queries[place]
        # 1. The URL is known, and no other running crawler has the page.
        visited = self._visited(query)
        if visited is not None:
            return self._revisit(place, visited)
        comparison = self._compare(place)
        # 2. Other pages resemble this one. If it is better than all of them, it replaces the
        #    nearest one.
        if comparison.accepted:
            if comparison.is_better(query.record):
                return self._replace(place, comparison)
            return self._count_copy(query, comparison)
        # 3. The page is new.
        return self._add_new(place, comparison)

    # Rule 1

    def _visited(self, query: Query) -> PageRow | None:
        """Return the earlier visit of a page, or None if it isn't a revisit."""
        page = self._changes.page_with_url(query.record.url_key)
        if page is None or not self._is_live(page, query):
            return None
        return None if self._crawlers.is_at_work(page.crawler) else page

    def _revisit(self, place: int, page: PageRow) -> Answer:
        """Note that a page was seen again, and take over its text or marks if they have changed.

        Its URL, age and copies stay the same.
        """
        query = self._queries[place]
        record = query.record
        is_abandoned = self._crawlers.is_abandoned(page.url_key, page.crawler)
        is_changed = query.has_new_text(page.record(), abandoned=is_abandoned)
        self._changes.note_pending(page.url_key, is_pending=query.is_pending)
        seen = replace(page, seen_at=self._now, crawler=self._crawlers.own_number)
        earlier_text = self._changes.text(page.number) if is_changed else b""
        if is_changed:
            self._changes.renew(seen.with_text_of(record), place, query)
        else:
            seen = replace(seen, marks=learned(seen.marks, record.marks))
            self._changes.put(seen)
            self._complete_text(page, record)
        return Answer(
            kind=Kind.REVISIT,
            record=seen.record(earlier_text),
            changed=is_changed,
            pages=self._index.pages,
            candidates=0,
            abandoned=is_abandoned,
        )

    def _complete_text(self, page: PageRow, record: Record) -> None:
        """Store the text of an unchanged page if it was added without its text."""
        is_same_text = record.packed_text and record.digest == page.digest
        if is_same_text and not self._changes.text(page.number):
            self._changes.put_text(page.number, record.packed_text)

    # Rule 2

    def _compare(self, place: int) -> _Comparison:
        """Compare a page with all the pages that it may be a copy of."""
        query = self._queries[place]
        live = candidates = self._search.candidates(place)
        expired: list[int] = []
        if query.retention.ttl_seconds is not None:
            live = [candidate for candidate in candidates if self._is_live(candidate, query)]
            expired = [
                candidate.number for candidate in candidates if not self._is_live(candidate, query)
            ]
        resemblance = Resemblance(query, live, self._changes.marks)
        numbers = resemblance.accepted or self._same_thin_page(query)
        self._changes.load(numbers)
        accepted = [self._changes.page(number) for number in numbers]
        abandoned = self._leading_abandoned(accepted)
        return _Comparison(
            compared=len(live),
            accepted=accepted[len(abandoned) :],
            abandoned=abandoned,
            resemblance=resemblance,
            expired=expired,
        )

    def _same_thin_page(self, query: Query) -> list[int]:
        """Return the number of a thin page's row at another crawler, if its text is unchanged.

        The list has one number or none.
        """
        if not query.exact_only:
            return []
        page = self._changes.page_with_url(query.record.url_key)
        if page is None or not self._is_live(page, query):
            return []
        return [] if query.has_new_text(page.record()) else [page.number]

    def _leading_abandoned(self, accepted: Iterable[PageRow]) -> list[PageRow]:
        """Return the abandoned pages among the accepted ones that are nearer than all others.

        They can't have copies.
        """
        abandoned = []
        for page in accepted:
            if not self._crawlers.is_abandoned(page.url_key, page.crawler):
                break
            abandoned.append(page)
        return abandoned

    def _count_copy(self, query: Query, comparison: _Comparison) -> Answer:
        """Note that a page is a copy of the nearest page, which learns the marks that it lacks."""
        nearest = comparison.accepted[0]
        self._free(query, comparison, is_added=False)
        counted = self._with_copy(nearest)
        counted = replace(counted, marks=learned(counted.marks, query.record.marks))
        self._changes.put(counted)
        return Answer(
            kind=_kind_of_copy(query, nearest),
            record=counted.record(self._text_for(query, nearest)),
            changed=False,
            pages=self._index.pages,
            candidates=comparison.compared,
        )

    def _replace(self, place: int, comparison: _Comparison) -> Answer:
        """Let a better copy take the place of the nearest page, and inherit its copies."""
        query = self._queries[place]
        nearest = comparison.accepted[0]
        self._free(query, comparison, is_added=True)
        counted = self._with_copy(nearest)
        text = self._text_for(query, nearest)
        self._remove_undelivered([*comparison.abandoned, nearest])
        kind = _kind_of_copy(query, nearest)
        if kind is Kind.EXACT_DUPLICATE:
            marks = learned(query.record.marks, nearest.marks)
        else:
            former = text_key(nearest.search, nearest.digest)
            marks = succeeding(query.record.marks, nearest.marks, former)
        self._add(place, replace(query.record, marks=marks), copies=counted.copies)
        return Answer(
            kind=kind,
            record=counted.record(text),
            changed=False,
            pages=self._index.pages,
            candidates=comparison.compared,
            replaces=True,
        )

    def _with_copy(self, page: PageRow) -> PageRow:
        return replace(page, seen_at=self._now, copies=page.copies + 1)

    def _text_for(self, query: Query, nearest: PageRow) -> bytes:
        """Return the text of the nearest page, if the query brings a text to compare it with."""
        if query.record.packed_text and nearest.digest != query.record.digest:
            return self._changes.text(nearest.number)
        return b""

    # Rule 3

    def _add_new(self, place: int, comparison: _Comparison) -> Answer:
        """Add a page that resembles no other page in the index."""
        query = self._queries[place]
        rejected = comparison.resemblance.rejected()
        record = self._record_of(rejected)
        self._free(query, comparison, is_added=True)
        self._remove_undelivered(comparison.abandoned)
        self._add(place, query.record, copies=0)
        return Answer(
            kind=Kind.NEW,
            record=None,
            changed=False,
            pages=self._index.pages,
            candidates=comparison.compared,
            rejected=record,
            conflict=rejected.conflict,
        )

    def _record_of(self, rejected: Rejected) -> Record | None:
        if rejected.number is None:
            return None
        self._changes.load([rejected.number])
        return self._changes.page(rejected.number).record()

    # What rules 2 and 3 share

    def _add(self, place: int, record: Record, *, copies: int) -> None:
        """Add a page to the index, and remove a few pages that have expired or are too many."""
        query = self._queries[place]
        page = PageRow.of_record(
            record,
            number=self._index.next_number(),
            now=self._now,
            copies=copies,
            crawler=self._crawlers.own_number,
        )
        self._changes.add(page, place, query)
        self._changes.note_pending(page.url_key, is_pending=query.is_pending)
        if query.retention.ttl_seconds is not None:
            self._sweep(query)
        if query.retention.max_pages is not None:
            self._evict(query.retention.max_pages)

    def _remove_undelivered(self, pages: Iterable[PageRow]) -> None:
        """Remove abandoned pages that another page replaces, so nobody has to deliver them."""
        for page in pages:
            self._changes.remove(page)
            self._changes.note_pending(page.url_key, is_pending=False)

    def _free(self, query: Query, comparison: _Comparison, *, is_added: bool) -> None:
        """Remove candidates that have expired, and a page that had the URL before.

        The latter is removed if the query's page is added, or if it has expired.
        """
        numbers = sorted(comparison.expired)
        page = self._changes.page_with_url(query.record.url_key)
        if page is not None and (is_added or not self._is_live(page, query)):
            numbers.insert(0, page.number)
        numbers = numbers[:MAX_FREED]
        self._changes.load(numbers)
        for number in numbers:
            self._changes.remove(self._changes.page(number))

    def _sweep(self, query: Query) -> None:
        """Look at the next few pages of the index, and remove those that have expired."""
        pages = self._index.pages_after(self._index.swept, MAX_SWEPT)
        # After the last page, the next sweep starts from the first one.
        self._index.swept = pages[-1].number if len(pages) == MAX_SWEPT else 0
        for page in pages:
            if not self._is_live(self._changes.current(page), query):
                self._changes.remove(page)

    def _evict(self, max_pages: int) -> None:
        """If the index has more pages than allowed, remove a few of the oldest."""
        excess = min(self._index.pages - max_pages, MAX_EVICTED)
        if excess > 0:
            self._changes.write()
            for page in self._index.pages_after(0, excess):
                self._changes.remove(page)

    def _is_live(self, page: PageRow | Candidate, query: Query) -> bool:
        return _is_live(page, query.retention, self._now)


def _is_live(page: PageRow | Candidate, retention: Retention, now: int) -> bool:
    return retention.is_live(page.added_at, page.seen_at, now)


def _kind_of_copy(query: Query, nearest: PageRow) -> Kind:
    is_exact = nearest.digest == query.record.digest
    return Kind.EXACT_DUPLICATE if is_exact else Kind.NEAR_DUPLICATE
