"""A check of a page that is compared with those of all partitions of a cluster.

It is several script calls, each atomic within one partition; `docs/explanation/promises.md` tells the steps and what is
promised. A new page is undecided until it is filed everywhere and its check has looked once more. There it waits for
undecided pages of lower numbers that it finds, and goes ahead of those of higher numbers: the home of such a page notes
it, in one step with seeing that the page is undecided yet, and does not confirm that page before its check has waited
and looked again. So pages wait for lower numbers only, never in a circle.

The answers are those that the pages would get one after the other, a new page where it last began to look, a copy where
it was counted. For let A and B be new, and A find B. B was not filed when A first looked, nor confirmed when A met it
in the end, or A were a copy. If A met it undecided, A went ahead, and B looked again after A was confirmed. If A never
met it, B was filed after A last began to look, and looked later still. So A always comes before B.
"""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from crawldedup.errors import StoreFullError, StoreUnavailableError
from crawldedup.stores.base import MAX_FREED, Answer, Status
from crawldedup.stores.cluster.protocol import (
    best_pages,
    finds,
    found_pages,
    home_of,
    number_of,
    packed_id,
    page_id,
    unpacked_ids,
)
from crawldedup.stores.cluster.spread import FULL
from crawldedup.stores.redis.protocol import unpacked

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crawldedup.stores.base import Query
    from crawldedup.stores.cluster.nodes import Call
    from crawldedup.stores.cluster.protocol import SplitQuestion
    from crawldedup.stores.cluster.spread import Spread

_PAUSE_SECONDS: Final = 0.001
_PATIENCE_SECONDS: Final = 10.0


class Check:
    """One page that is checked. `token` is its alone: `run` may be called again after an error, and goes on."""

    def __init__(self, spread: Spread, query: Query, question: SplitQuestion, crawl: bytes, token: bytes) -> None:
        self._spread = spread
        self._query = query
        self._question = question
        self._to_home = (*question.to_home(), crawl, token)
        self._token = token
        self._home = spread.home_of_url(query.entry.url_key)
        self._deadline = time.monotonic() + _PATIENCE_SECONDS
        self._filings: dict[int, int] = {}
        self._page: int | None = None
        self._gone: set[int] = set()
        self._expired: list[int] = []
        self._compared = 0

    def run(self) -> Answer:
        """Decide about the page and remember it."""
        while True:
            visit, found = self._visit_and_look()
            if visit[0] == b"revisit":
                return self._revisit(visit)
            if visit[0] != b"undecided":
                self._compared = 0
                answer = self._count_best(best_pages(self._query, found, self._question))
                self._heal(found)
                answer = answer or self._admit()
                if answer is not None:
                    return answer
            self._wait()

    def _visit_and_look(self) -> tuple[Any, dict[int, bytes]]:
        spread, question = self._spread, self._question
        partitions = list(question.parts)
        visit, *looks = spread.run(
            spread.to_home(self._home, "home_visit", *self._to_home),
            *(spread.to_tables(partition, "spread_look", *question.to_tables(partition)) for partition in partitions),
        )
        found = {}
        for partition, (_, filings, pages) in zip(partitions, looks, strict=True):
            self._filings[partition] = filings
            if pages:
                found[partition] = pages
        return visit, found

    def _revisit(self, visit: Any) -> Answer:
        if len(visit) > 3:
            layout = self._spread.layout
            page, old = page_id(self._home, visit[3]), unpacked(visit[4], layout)
            self._spread.unfile([(page, layout.keys(old.search, old.signature))])
            self._spread.file([(page, self._query.entry.keys)])
            self._spread.confirm([page], self._token)
        return self._answer(Status.REVISIT, visit[2], changed=len(visit) > 3)

    def _count_best(self, pages: list[int]) -> Answer | None:
        """Count the page as a copy of the nearest of these that the rule accepts, if there is one."""
        # A check that goes on after an error has filed its page before.
        compared = self._spread.compare(self._question, [page for page in pages if page != self._page])
        self._compared += compared.count
        self._gone.update(compared.gone)
        self._expired += compared.expired
        for _, _, page in compared.accepted:
            # It counts as soon as that page is decided.
            while (counted := self._spread.run(self._counting(page))[0])[0] == b"undecided":
                self._wait()
            if counted[0] == b"counted":
                return self._copy(counted)
        return None

    def _counting(self, page: int) -> Call:
        asked = (*self._question.to_home(), number_of(page))
        return self._spread.to_home(home_of(page), "home_count", *asked, 0, last_again=1)

    def _heal(self, found: dict[int, bytes]) -> None:
        """Take out of the tables what leads to no page: a crawler died before it was done."""
        if self._gone:
            self._spread.heal(
                self._question,
                {partition: self._gone.intersection(found_pages(found[partition])) for partition in found},
            )
            self._gone.clear()

    def _admit(self) -> Answer | None:
        """Remember a page without a match; None if its URL came to be known meanwhile."""
        spread = self._spread
        (admitted,) = spread.run(spread.to_home(self._home, "home_admit", *self._to_home))
        if admitted[0] == b"counted":
            return self._copy(admitted)
        if admitted[0] == b"full":
            raise StoreFullError(FULL)
        if admitted[0] != b"admitted":
            return None
        page = self._page = page_id(self._home, admitted[2])
        keys = self._query.entry.keys
        spread.file([(page, keys)])
        answer = self._decide(page)
        if answer is not None:
            spread.unfile([(page, keys)])
            return answer
        spread.unfile_removed({self._home: admitted[3:]})
        spread.free(self._question, self._expired[:MAX_FREED])
        return self._answer(Status.NEW)

    def _decide(self, page: int) -> Answer | None:
        """None if the page stays, confirmed; an answer if another came first, and it was taken back."""
        ahead = b""
        while True:
            answer = self._come_to_terms(page, self._others_since(page))
            if answer is not None:
                retract = self._spread.to_home(self._home, "home_retract", number_of(page), self._token)
                return answer if self._spread.run(retract)[0][0] == b"retracted" else None
            confirmed = self._confirm(page, ahead)
            if confirmed[0] != b"behind":
                return None
            ahead = confirmed[2]
            while self._spread.undecided(unpacked_ids(ahead)):
                self._wait()

    def _others_since(self, page: int) -> list[int]:
        """The pages that were filed where the ranges are since it was last looked there."""
        spread, question = self._spread, self._question
        looks = spread.run(
            *(
                spread.to_tables(partition, "spread_since", *question.to_tables(partition), self._filings[partition])
                for partition in question.parts
            )
        )
        self._filings = {partition: look[1] for partition, look in zip(question.parts, looks, strict=True)}
        others = dict.fromkeys(other for look in looks for other in found_pages(look[2]))
        return [other for other in others if other != page]

    def _accepted_of(self, pages: Iterable[int]) -> list[int]:
        """Those of some new pages that are accepted and that the ranges would have found, nearest first."""
        chosen = list(islice(pages, self._query.max_candidates))
        compared = self._spread.compare(self._question, chosen, with_records=True)
        self._compared += compared.count
        layout = self._spread.layout
        records = {page: unpacked(record, layout) for page, record in compared.records.items()}
        return [
            page
            for _, _, page in compared.accepted
            if finds(self._query, layout, layout.keys(records[page].search, records[page].signature))
        ]

    def _come_to_terms(self, page: int, others: Iterable[int]) -> Answer | None:
        """An answer if one of the others stays in place of the own page, which is undecided, like some of them."""
        spread = self._spread
        for other in self._accepted_of(others):
            calls = [self._counting(other)]
            if page < other:
                calls.append(spread.to_home(home_of(other), "home_meet", packed_id(page), number_of(other)))
            while True:
                counted, *met = spread.run(*calls)
                if counted[0] == b"counted":
                    return self._copy(counted)
                if counted[0] == b"gone" or (met and met[0][0] == b"ahead"):
                    break
                self._wait()
        return None

    def _confirm(self, page: int, ahead: bytes) -> Any:
        confirm = self._spread.to_home(self._home, "home_confirm", number_of(page), self._token, ahead)
        return self._spread.run(confirm)[0]

    def _copy(self, counted: Any) -> Answer:
        record = unpacked(counted[2], self._spread.layout)
        is_exact = record.digest == self._query.entry.digest
        return self._answer(Status.EXACT if is_exact else Status.NEAR, counted[2])

    def _answer(self, status: Status, record: bytes = b"", *, changed: bool = False) -> Answer:
        return Answer(
            status=status,
            record=unpacked(record, self._spread.layout) if record else None,
            changed=changed,
            pages=self._spread.pages(),
            candidates=self._compared if status is not Status.REVISIT else 0,
        )

    def _wait(self) -> None:
        if time.monotonic() > self._deadline:
            raise StoreUnavailableError("pages that are on their way into the cluster do not arrive")
        time.sleep(_PAUSE_SECONDS)
