"""How long a store keeps pages, texts and anchors of paragraphs, how many, and that nothing of them stays behind."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from crawldedup.errors import KeyMismatchError
from crawldedup.fingerprinting.anchors import ANCHOR_BITS
from crawldedup.stores.base import MOST_HOLDERS, AnchorQuery, Answer, Query, Retention, Status, Store
from tests.stores.backends import Backend, Clock
from tests.stores.pages import FOR_EVER, OTHER_NAMESPACE, Page, checked, filler, name_of, near_page, query

A, B, C = "https://example.com/a", "https://example.com/b", "https://example.com/ç"
FIRST, SECOND = b"the first text", b"the second text"
TTL = Retention(ttl_seconds=100)
HOUR = Retention(ttl_seconds=3600)


def url_of(number: int) -> str:
    return f"https://example.com/{number}"


class TestPages:
    def sizes(self, store: Store, numbers: range, retention: Retention, *, at_once: bool = False) -> list[int]:
        """Add pages; return the size of the index after each."""
        rng = np.random.default_rng(numbers.start)
        asked = [filler(rng, url_of(number), retention=retention) for number in numbers]
        answers = store.check(asked) if at_once else [checked(store, question) for question in asked]
        added = [answer for answer in answers if isinstance(answer, Answer) and answer.status is Status.NEW]
        assert len(added) == len(numbers)
        return [answer.pages for answer in added]

    def held(self, store: Store, most: int) -> list[int]:
        """Return the numbers of the pages that the index holds, expired or not."""
        pages = store.remembered([name_of(url_of(number)) for number in range(most)], FOR_EVER)
        return [number for number, page in enumerate(pages) if page]

    @pytest.mark.parametrize("refresh", [True, False])
    def test_expired_ones_are_freed_while_others_are_added(self, store: Store, clock: Clock, refresh: bool) -> None:
        retention = replace(TTL, refresh=refresh)
        self.sizes(store, range(30), retention)
        clock.wait(101)
        assert store.find([filler(np.random.default_rng(1), "", retention=retention)]) == [[]]
        # Looking frees nothing.
        assert self.held(store, 90) == list(range(30))
        assert self.sizes(store, range(30, 90), retention)[-1] == store.info().pages == 60
        assert self.held(store, 90) == list(range(30, 90))

    @pytest.mark.parametrize("at_once", [False, True])
    def test_an_index_far_above_its_limit_shrinks_page_by_page(self, store: Store, at_once: bool) -> None:
        self.sizes(store, range(20), FOR_EVER)
        after = self.sizes(store, range(20, 50), Retention(max_pages=3), at_once=at_once)
        assert after == [*range(19, 3, -1), *[3] * 14]
        assert self.held(store, 50) == [47, 48, 49]
        assert self.sizes(store, range(50, 55), Retention(max_pages=1), at_once=at_once) == [2, 1, 1, 1, 1]
        assert self.held(store, 55) == [54]

    def test_an_index_that_pages_come_to_all_the_time_stays_small(self, store: Store, clock: Clock) -> None:
        """One page of ten is seen again and again."""
        rng = np.random.default_rng(1)
        pages = []
        for number in range(600):
            clock.wait(1)
            pages.append(checked(store, filler(rng, url_of(number), retention=TTL)).pages)
            if number % 10 == 0:
                checked(store, filler(rng, url_of(-(number // 10 % 10)), retention=TTL))
        assert max(pages) < 200

    @pytest.mark.nightly
    def test_an_index_at_its_limit_grows_no_more(self, store: Store) -> None:
        """Pages come to six times the limit, and every third of them has other text when it is seen again."""
        rng = np.random.default_rng(1)
        bytes_taken = []
        for number in range(6 * 200):
            for _ in range(2 if number % 3 == 0 else 1):
                checked(store, filler(rng, url_of(number), retention=Retention(max_pages=200)))
            if number % 200 == 199:
                bytes_taken.append(store.info().bytes)
        assert store.info().pages == 200
        assert max(bytes_taken[3:]) < 1.2 * max(bytes_taken[:3])


def with_text(page: Page, url: str, text: bytes, *, rank: int = 0, retention: Retention = FOR_EVER) -> Query:
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
        assert checked(store, with_text(page, A, SECOND, retention=HOUR)).status is Status.NEW
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
        self, store: Store, backend: Backend, clock: Clock, page: Page, other: Page, end: Callable[..., None]
    ) -> None:
        checked(store, with_text(page, A, FIRST, rank=1))
        assert text_of(store, A, HOUR) == FIRST
        end(self, store, clock, page, other)
        assert text_of(store, A) != FIRST
        assert not backend.mentions(FIRST)

    def test_one_outlives_the_pages_around_its_own(
        self, store: Store, clock: Clock, page: Page, rng: np.random.Generator
    ) -> None:
        """Whatever a store does with the room that pages leave."""
        others = [filler(rng, f"{B}{number}", retention=HOUR) for number in range(900)]
        for start, seconds in ((0, 0), (300, 3000), (600, 3000)):
            clock.wait(seconds)
            checked(store, with_text(page, A, FIRST, retention=HOUR))
            # The last ones free what has expired.
            store.check(others[start : start + 300])
            checked(store, with_text(page, A, FIRST, retention=HOUR))
        assert store.info().pages < 900
        assert text_of(store, A) == FIRST


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
    return [None if pages is None else {found.urls[page] for page in pages if page in found.urls} for pages in found.of]


def seen(store: Store, anchors: tuple[int, ...], **limits: int) -> list[set[str] | None]:
    return holders(store, asked("https://example.com/looks", anchors, **limits), add=False)


class TestAnchors:
    def test_one_on_many_pages_is_told_as_such_and_takes_in_no_more(self, store: Store) -> None:
        urls = list(map(url_of, range(MOST_HOLDERS + 2)))
        found = [holders(store, asked(url, ONE[:1])) for url in urls]
        assert found == [[set(urls[:number]) if number < MOST_HOLDERS else None] for number in range(len(urls))]
        # Those that were too many are forgotten without a trace.
        assert [store.forget(name_of(url), anchors_alone=True) for url in urls[MOST_HOLDERS:]] == [True, True]
        assert seen(store, ONE[:1]) == [None]
        assert store.forget(name_of(urls[0]), anchors_alone=True)
        assert seen(store, ONE[:1]) == [set(urls[1:MOST_HOLDERS])]

    @pytest.mark.parametrize("end", [lambda store: store.forget(name_of(A)), lambda store: store.clear()])
    def test_a_page_that_is_forgotten_leaves_no_trace(
        self, store: Store, backend: Backend, clock: Clock, page: Page, end: Callable[[Store], object]
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

    def test_what_is_too_old_counts_no_more_and_goes(self, store: Store, backend: Backend, clock: Clock) -> None:
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
        # With a lower limit they go some at a time.
        for number in range(12, 14):
            store.anchors(asked(f"{A}{number}", anchors_of(number), most_anchors=20))
        assert [seen(store, anchors_of(number)) for number in (11, 13)] == [[set()] * 20, [{f"{A}13"}] * 20]

    def test_a_page_added_again_is_as_new(self, store: Store, clock: Clock) -> None:
        """It was the oldest when it was forgotten."""
        store.anchors(asked(A, ONE))
        store.anchors(asked(B, OTHER))
        store.forget(name_of(A), anchors_alone=True)
        clock.wait(1800)
        store.anchors(asked(A, ONE))
        clock.wait(1801)
        store.anchors(asked(C, anchors_of(3), **AN_HOUR))
        assert seen(store, ONE + OTHER) == [{A}] * 20 + [set()] * 20

    def test_pages_hashed_with_another_key_are_refused(self, store: Store) -> None:
        with pytest.raises(KeyMismatchError):
            store.anchors(replace(asked(A, ONE), key_id=7))

    def test_a_store_that_only_looks_finds_them(self, shared: Callable[[], Store]) -> None:
        reader, writer = shared(), shared()
        reader.open_read_only()
        assert seen(reader, ONE) == [set()] * 20
        writer.open()
        writer.anchors(asked(A, ONE))
        reader.close()
        reader.open_read_only()
        assert seen(reader, ONE) == [{A}] * 20

    def test_of_pages_that_come_at_once_one_is_first(self, shared: Callable[[], Store]) -> None:
        stores = [shared() for _ in range(4)]
        for store in stores:
            store.open()
        with ThreadPoolExecutor(4) as threads:
            for number in range(5):
                questions = [asked(f"{url_of(number)}/{place}", anchors_of(number)) for place in range(4)]
                answers = threads.map(lambda store, question: store.anchors(question).urls, stores, questions)
                assert sorted(map(len, answers)) == [0, 1, 2, 3]

    def test_what_they_take_is_a_part_of_the_index(self, store: Store, backend: Backend) -> None:
        before = store.info().bytes
        for number in range(300):
            store.anchors(asked(url_of(number), anchors_of(number)))
        # Some 22 bytes an anchor, 70 a page, and the URL. Redis estimates them by the number of pages.
        assert store.info().bytes - before > 300 * 20 * 15 or backend.servers
