"""How long a store keeps pages, texts and anchors of paragraphs, how many, and that nothing of them
stays behind.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from crawldedup.fingerprinting.anchors import ANCHOR_BITS
from crawldedup.stores.anchors import MOST_HOLDERS, AnchorQuery
from crawldedup.stores.contract import Query, Retention, Store
from crawldedup.verdict import Kind
from tests.stores.backends import Backend, Clock
from tests.stores.pages import (
    FOR_EVER,
    OTHER_NAMESPACE,
    Page,
    checked,
    filler,
    name_of,
    near_page,
    query,
)

A, B, C = "https://example.com/a", "https://example.com/b", "https://example.com/ç"
FIRST, SECOND = b"the first text", b"the second text"
TTL = Retention(ttl_seconds=100)
HOUR = Retention(ttl_seconds=3600)


def url_of(number: int) -> str:
    return f"https://example.com/{number}"


class TestPages:
    def add(self, store: Store, numbers: range, retention: Retention) -> int:
        """Add pages; return the size of the index after the last."""
        rng = np.random.default_rng(numbers.start)
        answers = [
            checked(store, filler(rng, url_of(number), retention=retention)) for number in numbers
        ]
        assert {answer.kind for answer in answers} == {Kind.NEW}
        return answers[-1].pages

    def held(self, store: Store, most: int) -> list[int]:
        """Return the numbers of the pages that the index holds, expired or not."""
        pages = store.remembered([name_of(url_of(number)) for number in range(most)], FOR_EVER)
        return [number for number, page in enumerate(pages) if page]

    @pytest.mark.parametrize("refresh", [True, False])
    def test_expired_ones_are_freed_while_others_are_added(
        self, store: Store, clock: Clock, refresh: bool
    ) -> None:
        retention = replace(TTL, refresh=refresh)
        self.add(store, range(30), retention)
        clock.wait(101)
        assert store.find([filler(np.random.default_rng(1), "", retention=retention)]) == [[]]
        # Looking frees nothing.
        assert self.held(store, 90) == list(range(30))
        assert self.add(store, range(30, 90), retention) == store.info().pages == 60
        assert self.held(store, 90) == list(range(30, 90))

    def test_an_index_far_above_its_limit_shrinks_by_a_page_for_each_that_is_added(
        self, store: Store
    ) -> None:
        self.add(store, range(9), FOR_EVER)
        limit = Retention(max_pages=6)
        assert [self.add(store, range(number, number + 1), limit) for number in range(9, 14)] == [
            8,
            7,
            6,
            6,
            6,
        ]
        assert self.held(store, 14) == list(range(8, 14))


def with_text(
    page: Page, url: str, text: bytes, *, rank: int = 0, retention: Retention = FOR_EVER
) -> Query:
    question = query(page, url, retention=retention)
    return replace(question, record=replace(question.record, packed_text=text, rank=rank))


def text_of(store: Store, url: str, retention: Retention = FOR_EVER) -> bytes:
    (page,) = store.remembered([name_of(url)], retention)
    return page.packed_text if page else b""


class TestTexts:
    def forget(self, store: Store, clock: Clock, page: Page, other: Page) -> None:
        assert store.forget(name_of(A))

    def clear(self, store: Store, clock: Clock, page: Page, other: Page) -> None:
        store.clear()

    def expire_and_return(self, store: Store, clock: Clock, page: Page, other: Page) -> None:
        clock.wait(3601)
        assert checked(store, with_text(page, A, SECOND, retention=HOUR)).kind is Kind.NEW
        assert text_of(store, A, HOUR) == SECOND

    def be_evicted(self, store: Store, clock: Clock, page: Page, other: Page) -> None:
        checked(store, with_text(other, B, b"", retention=Retention(max_pages=1)))

    def be_replaced(self, store: Store, clock: Clock, page: Page, other: Page) -> None:
        answer = checked(store, with_text(near_page(page), B, SECOND))
        assert answer.replaces
        assert answer.record is not None
        assert (answer.record.packed_text, text_of(store, B)) == (FIRST, SECOND)

    @pytest.mark.parametrize("end", [forget, clear, expire_and_return, be_evicted, be_replaced])
    def test_one_goes_with_its_page(
        self,
        store: Store,
        backend: Backend,
        clock: Clock,
        page: Page,
        other: Page,
        end: Callable[..., None],
    ) -> None:
        checked(store, with_text(page, A, FIRST, rank=1))
        assert text_of(store, A, HOUR) == FIRST
        end(self, store, clock, page, other)
        assert text_of(store, A) != FIRST
        assert not backend.mentions(FIRST)

    def test_what_came_and_went_in_one_batch_leaves_none(
        self, store: Store, backend: Backend, page: Page
    ) -> None:
        store.check([with_text(page, A, FIRST, rank=1), with_text(near_page(page), B, SECOND)])
        assert (text_of(store, B), backend.mentions(FIRST)) == (SECOND, False)


def anchors_of(seed: int) -> tuple[int, ...]:
    rng = random.Random(seed)
    return tuple(rng.getrandbits(ANCHOR_BITS) for _ in range(20))


ONE, OTHER = anchors_of(1), anchors_of(2)
MIXED = ONE[:10] + OTHER[:10]
AN_HOUR = {"ttl_seconds": 3600}


def asked(url: str, anchors: tuple[int, ...], **limits: int) -> AnchorQuery:
    return AnchorQuery(url, name_of(url), anchors, **limits)


def holders(store: Store, question: AnchorQuery, *, add: bool = True) -> list[set[str] | None]:
    """Return the URLs of the pages that hold each anchor."""
    found = store.anchors(question, add=add)
    return [
        None if pages is None else {found.urls[page] for page in pages if page in found.urls}
        for pages in found.pages
    ]


def seen(store: Store, anchors: tuple[int, ...], **limits: int) -> list[set[str] | None]:
    return holders(store, asked("https://example.com/looks", anchors, **limits), add=False)


class TestAnchors:
    def test_one_on_many_pages_is_told_as_such_and_takes_in_no_more(self, store: Store) -> None:
        urls = list(map(url_of, range(MOST_HOLDERS + 2)))
        found = [holders(store, asked(url, ONE[:1])) for url in urls]
        assert found == [
            [set(urls[:number]) if number < MOST_HOLDERS else None] for number in range(len(urls))
        ]
        # Those that were too many are forgotten without a trace.
        assert [store.forget(name_of(url), anchors_alone=True) for url in urls[MOST_HOLDERS:]] == [
            True,
            True,
        ]
        assert seen(store, ONE[:1]) == [None]
        assert store.forget(name_of(urls[0]), anchors_alone=True)
        assert seen(store, ONE[:1]) == [set(urls[1:MOST_HOLDERS])]

    @pytest.mark.parametrize(
        "end", [lambda store: store.forget(name_of(A)), lambda store: store.clear()]
    )
    def test_a_page_that_is_forgotten_leaves_no_trace(
        self,
        store: Store,
        backend: Backend,
        clock: Clock,
        page: Page,
        end: Callable[[Store], object],
    ) -> None:
        elsewhere = backend.store(OTHER_NAMESPACE, clock)
        elsewhere.open()
        checked(store, query(page, A))
        store.anchors(asked(A, ONE))
        assert holders(elsewhere, asked(B, MIXED)) == [set()] * 20
        end(store)
        assert seen(store, ONE) == [set()] * 20
        assert not backend.mentions(A)
        assert seen(elsewhere, MIXED) == [{B}] * 20
        elsewhere.close()

    def test_what_is_too_old_counts_no_more_and_goes(
        self, store: Store, backend: Backend, clock: Clock
    ) -> None:
        store.anchors(asked(A, ONE, **AN_HOUR))
        clock.wait(3600)
        assert seen(store, ONE, **AN_HOUR) == [{A}] * 20
        clock.wait(1)
        assert seen(store, ONE, **AN_HOUR) == [set()] * 20
        assert not store.anchors(asked(A, ONE[:5], **AN_HOUR)).is_known
        assert seen(store, ONE, **AN_HOUR) == [{A}] * 5 + [set()] * 15
        clock.wait(3601)
        assert seen(store, ONE) == [{A}] * 5 + [set()] * 15
        store.anchors(asked(B, OTHER, **AN_HOUR))
        assert not backend.mentions(A)
        assert seen(store, ONE) == [set()] * 20

    def test_pages_are_added_in_the_place_of_the_oldest(self, store: Store) -> None:
        for number in range(12):
            store.anchors(asked(url_of(number), anchors_of(number), most_anchors=100))
        are_gone = [seen(store, anchors_of(number)) == [set()] * 20 for number in range(12)]
        assert are_gone == [True] * 7 + [False] * 5
