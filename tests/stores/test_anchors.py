"""Anchors of paragraphs: what every store tells of the pages that hold them, and for how long."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from crawldedup.errors import KeyMismatchError
from crawldedup.fingerprinting.anchors import ANCHOR_BITS
from crawldedup.stores.base import MOST_HOLDERS, AnchorQuery, Store
from tests.stores.backends import Backend, Clock
from tests.stores.pages import LAYOUT, OTHER_NAMESPACE, Page, checked, name_of, query

A, B, C = "https://example.com/a", "https://example.com/b", "https://example.com/ç"
HOUR = {"ttl_seconds": 3600}


def text(seed: int, anchors: int = 20) -> tuple[int, ...]:
    rng = random.Random(seed)
    return tuple(rng.getrandbits(ANCHOR_BITS) for _ in range(anchors))


ONE, OTHER = text(1), text(2)
MIXED = ONE[:10] + OTHER[:10]


def asked(url: str, anchors: tuple[int, ...], **limits: int) -> AnchorQuery:
    return AnchorQuery(url, name_of(url), anchors, **limits)


def holders(store: Store, question: AnchorQuery, *, add: bool = True) -> list[set[str] | None]:
    """The URLs of the pages that hold each anchor."""
    found = store.anchors(question, add=add)
    return [None if pages is None else {found.urls[page] for page in pages if page in found.urls} for pages in found.of]


def seen(store: Store, anchors: tuple[int, ...], **limits: int) -> list[set[str] | None]:
    return holders(store, asked("https://example.com/looks", anchors, **limits), add=False)


def is_anywhere(backend: Backend, url: str) -> bool:
    return backend.name != "memory" and url in repr(backend.contents())


def test_an_anchor_on_many_pages_is_told_as_such_and_takes_in_no_more(store: Store) -> None:
    urls = [f"https://example.com/{number}" for number in range(MOST_HOLDERS + 2)]
    found = [holders(store, asked(url, ONE[:1])) for url in urls]
    assert found == [[set(urls[:number]) if number < MOST_HOLDERS else None] for number in range(len(urls))]
    # Those that were too many are forgotten without a trace.
    for url in urls[MOST_HOLDERS:]:
        assert store.forget(name_of(url), anchors_alone=True)
    assert seen(store, ONE[:1]) == [None]
    assert store.forget(name_of(urls[0]), anchors_alone=True)
    assert seen(store, ONE[:1]) == [set(urls[1:MOST_HOLDERS])]


@pytest.mark.parametrize("end", [lambda store: store.forget(name_of(A)), lambda store: store.clear()])
def test_a_page_that_is_forgotten_leaves_no_trace(
    store: Store, backend: Backend, clock: Clock, page: Page, end: Callable[[Store], object]
) -> None:
    elsewhere = backend.store(OTHER_NAMESPACE, clock)
    elsewhere.open()
    checked(store, query(page, A))
    store.anchors(asked(A, ONE))
    assert holders(elsewhere, asked(B, MIXED)) == [set()] * 20
    end(store)
    assert seen(store, ONE) == [set()] * 20
    assert not is_anywhere(backend, A)
    assert seen(elsewhere, MIXED) == [{B}] * 20
    elsewhere.close()


def test_what_is_too_old_counts_no_more_and_goes(store: Store, backend: Backend, clock: Clock) -> None:
    store.anchors(asked(A, ONE, **HOUR))
    clock.wait(3600)
    assert seen(store, ONE, **HOUR) == [{A}] * 20
    clock.wait(1)
    assert seen(store, ONE, **HOUR) == [set()] * 20
    assert not store.anchors(asked(A, ONE[:5], **HOUR)).is_known
    assert seen(store, ONE, **HOUR) == [{A}] * 5 + [set()] * 15
    clock.wait(3601)
    assert seen(store, ONE) == [{A}] * 5 + [set()] * 15
    store.anchors(asked(B, OTHER, **HOUR))
    assert not is_anywhere(backend, A)
    assert seen(store, ONE) == [set()] * 20


def test_pages_are_added_in_the_place_of_the_oldest(store: Store) -> None:
    urls = [f"https://example.com/{number}" for number in range(12)]
    for number, url in enumerate(urls):
        store.anchors(asked(url, text(number), most_anchors=100))
    assert [seen(store, text(number)) == [set()] * 20 for number in range(12)] == [True] * 7 + [False] * 5
    # With a lower limit they go some at a time.
    for number in range(12, 14):
        store.anchors(asked(f"{A}{number}", text(number), most_anchors=20))
    assert seen(store, text(11)) == [set()] * 20
    assert seen(store, text(13)) == [{f"{A}13"}] * 20


def test_a_page_added_again_is_as_new(store: Store, clock: Clock) -> None:
    """It was the oldest when it was forgotten."""
    store.anchors(asked(A, ONE))
    store.anchors(asked(B, OTHER))
    store.forget(name_of(A), anchors_alone=True)
    clock.wait(1800)
    store.anchors(asked(A, ONE))
    clock.wait(1801)
    store.anchors(asked(C, text(3), **HOUR))
    assert seen(store, ONE + OTHER) == [{A}] * 20 + [set()] * 20


def test_pages_hashed_with_another_key_are_refused(store: Store) -> None:
    with pytest.raises(KeyMismatchError):
        store.anchors(replace(asked(A, ONE), key_id=7))


def test_a_store_that_only_looks_finds_them(shared_backend: Backend, clock: Clock) -> None:
    reader = shared_backend.store(LAYOUT, clock)
    reader.open_read_only()
    assert seen(reader, ONE) == [set()] * 20
    writer = shared_backend.store(LAYOUT, clock)
    writer.open()
    writer.anchors(asked(A, ONE))
    reader.close()
    reader.open_read_only()
    assert seen(reader, ONE) == [{A}] * 20
    reader.close()
    writer.close()


def test_of_pages_that_come_at_once_one_is_first(shared_backend: Backend, clock: Clock) -> None:
    stores = [shared_backend.store(LAYOUT, clock) for _ in range(4)]
    for store in stores:
        store.open()
    with ThreadPoolExecutor(4) as threads:
        for round_ in range(5):
            questions = [asked(f"https://example.com/{round_}/{number}", text(round_)) for number in range(4)]
            counts = list(threads.map(lambda pair: len(pair[0].anchors(pair[1]).urls), zip(stores, questions)))  # noqa: B905
            assert sorted(counts) == [0, 1, 2, 3]
    for store in stores:
        store.close()


def test_what_they_take_is_a_part_of_the_index(store: Store, backend: Backend) -> None:
    if backend.server is not None:
        pytest.skip("estimated there, by the number of pages")
    before = store.info().bytes
    for number in range(300):
        store.anchors(asked(f"https://example.com/{number}", text(number)))
    # Some 22 bytes an anchor, 70 a page, and the URL.
    assert store.info().bytes - before > 300 * 20 * 15
