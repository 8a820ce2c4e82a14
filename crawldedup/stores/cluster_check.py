"""A check of a page that is compared with those of all partitions of a cluster.

It is several script calls, each atomic within one partition:

1. At the page's home: is its URL known? In the partitions that its ranges name: which pages are there? All at once.
2. At the homes of what was found: which of these does the rule accept? All at once.
3. The nearest is counted at its home. If there is none, the page is admitted at its own, for now undecided.
4. File the page's keys in the partitions they belong to, all at once.
5. In the partitions that its ranges name: which pages came since step 1? All at once. If another one is accepted and
   stays, it is counted, and the own page is taken back.
6. Confirm the page.

Nobody counts as a copy of an undecided page: who meets one waits until it is confirmed or gone. Of two undecided
pages at least one meets the other in step 5, for each files before it looks again. It tells the other, and then both
know: if both find each other, the one with the lower number goes on; one that is not found by the other goes on too.

What is promised while others write:

- However many copies or near duplicates race, the answers are those that they would get one after the other in some
  order. There are two exceptions, in which near duplicates may be admitted beside each other, after CIRCLE_SECONDS:
  three or more that find each other in a circle, but not the other way round; and a crawler that is held up for so
  long between steps 3 and 6.
- A page that another was dropped for stays. If a crawler dies between steps 3 and 6, its page is remembered; who
  meets it waits for three seconds at most, and `Spread.finish` files it later. If a crawler is held up for three
  seconds between these steps, a copy of its page may have been counted meanwhile: then it stays, whatever it met.
- A call whose answer was lost is repeated. No page is admitted twice by that, but a copy may be counted twice.
"""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from crawldedup.errors import StoreFullError, StoreUnavailableError
from crawldedup.stores.base import MAX_FREED, Answer, Status
from crawldedup.stores.cluster_spread import FULL
from crawldedup.stores.cluster_wire import (
    best_pages,
    finds,
    found_pages,
    home_of,
    number_of,
    page_id,
)
from crawldedup.stores.redis_wire import unpacked

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crawldedup.stores.base import Query
    from crawldedup.stores.cluster_nodes import Call
    from crawldedup.stores.cluster_spread import Spread
    from crawldedup.stores.cluster_wire import SplitQuestion

CIRCLE_SECONDS: Final = 2.0
"""So long an undecided page waits for another one."""

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
            self._spread.exchange(page, layout.keys(old.search, old.signature), self._query.entry.keys)
            self._spread.confirm([page], self._token)
        return self._answer(Status.REVISIT, visit[2], changed=len(visit) > 3)

    def _count_best(self, pages: list[int]) -> Answer | None:
        """Count the page as a copy of the nearest of these that the rule accepts, if there is one."""
        compared = self._spread.compare(self._question, pages)
        self._compared += compared.count
        self._gone.update(compared.gone)
        self._expired += compared.expired
        for _, _, page in compared.accepted:
            if (counted := self._settled_count(page))[0] == b"counted":
                return self._copy(counted)
        return None

    def _settled_count(self, page: int) -> Any:
        """What the page's home says to a copy of it, as soon as it is decided."""
        while (counted := self._count(page)[0])[0] == b"undecided":
            self._wait()
        return counted

    def _count(self, page: int, *beside: Call) -> list[Any]:
        """What the page's home says to a copy of it, and the answers to other calls beside."""
        asked = (*self._question.to_home(), number_of(page))
        return self._spread.run(self._spread.to_home(home_of(page), "home_count", *asked, 0, last_again=1), *beside)

    def _heal(self, found: dict[int, bytes]) -> None:
        """Take out of the tables what leads to no page: a crawler died before it was done."""
        if self._gone:
            self._spread.heal(
                self._question,
                {partition: self._gone.intersection(found_pages(found[partition])) for partition in found},
            )
            self._gone.clear()

    def _admit(self) -> Answer | None:
        """Steps 3 to 5; None if the page's URL came to be known meanwhile."""
        spread = self._spread
        (admitted,) = spread.run(spread.to_home(self._home, "home_admit", *self._to_home))
        if admitted[0] == b"counted":
            return self._copy(admitted)
        if admitted[0] == b"full":
            raise StoreFullError(FULL)
        if admitted[0] != b"admitted":
            return None
        page = page_id(self._home, admitted[2])
        keys = self._query.entry.keys
        spread.file([(page, keys)])
        answer = self._look_again(page)
        if answer is not None and self._retract(page):
            spread.unfile([(page, keys)])
            return answer
        spread.confirm([page], self._token)
        spread.unfile_removed({self._home: admitted[3:]})
        spread.free(self._question, self._expired[:MAX_FREED])
        return self._answer(Status.NEW)

    def _look_again(self, page: int) -> Answer | None:
        """Step 5: an answer if another page came first."""
        spread, question = self._spread, self._question
        looks = spread.run(
            *(
                spread.to_tables(partition, "spread_since", *question.to_tables(partition), self._filings[partition])
                for partition in question.parts
            )
        )
        others = dict.fromkeys(other for look in looks for other in found_pages(look[2]) if other != page)
        return self._come_to_terms(page, others)

    def _accepted_of(self, pages: Iterable[int]) -> list[int]:
        """Those of some new pages that are accepted and that the ranges would have found, nearest first."""
        chosen = list(islice(pages, self._query.max_candidates))
        if not chosen:
            return []
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
        known: set[int] = set()
        waiting_for: list[int] = []
        deadline = time.monotonic() + CIRCLE_SECONDS
        while time.monotonic() < deadline:
            if new := [other for other in others if other not in known]:
                known.update(new)
                found = self._accepted_of(new)
                spread.meet(page, found, finds=True)
                spread.meet(page, [other for other in new if other not in found], finds=False)
                waiting_for += found
            if not waiting_for:
                return None
            told = spread.to_home(self._home, "home_others", number_of(page))
            counted, (_, _, *flat) = self._count(waiting_for[0], told)
            if counted[0] == b"counted":
                return self._copy(counted)
            finds_us = {int.from_bytes(flat[at], "big"): flat[at + 1] == b"1" for at in range(0, len(flat), 2)}
            others, other = finds_us, waiting_for[0]
            if counted[0] == b"gone" or (other in finds_us and (page < other or not finds_us[other])):
                del waiting_for[0]
            else:
                self._wait()
        return None

    def _retract(self, page: int) -> bool:
        spread = self._spread
        (answer,) = spread.run(spread.to_home(self._home, "home_retract", number_of(page), self._token))
        return bool(answer[0] == b"retracted")

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
