"""Pages read from one index and loaded into another, in every store."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from crawldedup.search.routing import home_of
from crawldedup.stores.base import DIGEST_MASK, Record, Retention, Status
from tests.stores.backends import Backend, Clock
from tests.stores.pages import LAYOUT, OTHER_NAMESPACE, Page, near_page, query, random_page, url_key_of

if TYPE_CHECKING:
    from crawldedup.stores.base import Store

A, B, C = "https://example.com/a", "https://example.com/b", "https://example.com/c"


def record(page: Page, url: str, *, added_at: int = 900_000, seen_at: int = 950_000, copies: int = 3) -> Record:
    return Record(
        url=url,
        url_key=url_key_of(url),
        search=page.search,
        signature=page.signature,
        digest=page.digest & DIGEST_MASK,
        added_at=added_at,
        seen_at=seen_at,
        copies=copies,
        home=home_of(page.fingerprint),
    )


def records(rng: np.random.Generator, count: int) -> list[Record]:
    """In an order that is neither that of their times nor that of their numbers."""
    return [
        record(
            random_page(rng),
            f"https://example.com/{rng.integers(1 << 60)}",
            added_at=900_000 - number * 7 % 1000,
            seen_at=950_000 + number * 11 % 1000,
            copies=number % 5,
        )
        for number in range(count)
    ]


def everything(store: Store) -> list[Record]:
    return [record for batch in store.records() for record in batch]


def test_pages_are_told_in_the_order_of_adding_some_at_a_time(store: Store, rng: np.random.Generator) -> None:
    assert everything(store) == []
    some = records(rng, 2500)
    assert store.load(some) == store.info().pages == 2500
    assert everything(store) == some
    assert max(map(len, store.records())) <= 1000


def test_pages_that_a_crawl_added_are_told_as_it_knows_them(store: Store, clock: Clock, page: Page) -> None:
    store.check_and_add(query(page, A))
    clock.wait(60)
    answer = store.check_and_add(query(near_page(page), B))
    assert everything(store) == [answer.record]


def test_a_copy_of_an_index_is_like_the_index(
    store: Store, backend: Backend, clock: Clock, rng: np.random.Generator
) -> None:
    pages = [random_page(rng) for _ in range(20)]
    for number, page in enumerate(pages):
        clock.wait(1)
        store.check_and_add(query(page, f"{A}/{number}"))
    store.check_and_add(query(pages[3], B))
    store.forget(url_key_of(f"{A}/7"))
    copy = backend.store(OTHER_NAMESPACE, clock)
    copy.open()
    assert copy.load(everything(store)) == 19
    assert everything(copy) == everything(store)
    for page in pages:
        question = query(near_page(page), C)
        assert copy.find(question) == store.find(question)


@pytest.mark.parametrize("url", ["", "https://example.com/\N{SNOWMAN}/日本語", "https://example.com/\0", "x" * 10_000])
def test_any_url_is_moved(store: Store, page: Page, url: str) -> None:
    store.load([record(page, url)])
    assert everything(store) == [record(page, url)]


def test_pages_that_are_known_are_left_out(store: Store, page: Page, other: Page, rng: np.random.Generator) -> None:
    answer = store.check_and_add(query(page, A))
    more = record(random_page(rng), C)
    assert store.load([record(other, A), record(other, B), more, replace(more, copies=9)]) == 2
    assert answer.pages + 2 == store.info().pages
    assert sorted((told.url, told.copies) for told in everything(store)) == [(A, 0), (B, 3), (C, 3)]
    assert store.load(everything(store)) == store.load([]) == 0


def test_likenesses_are_loaded_beside_each_other(store: Store, page: Page) -> None:
    assert store.load([record(page, A), record(near_page(page), B)]) == 2
    assert {found.url for found in store.find(query(page, C))} == {A, B}


def test_a_loaded_page_is_a_page_of_an_earlier_crawl(
    store: Store, clock: Clock, page: Page, rng: np.random.Generator
) -> None:
    store.load([record(page, A), record(random_page(rng), B)])
    copy = store.check_and_add(query(page, C))
    assert copy.record == record(page, A, seen_at=int(clock.now), copies=4)
    assert copy.status is Status.EXACT
    again = store.check_and_add(query(page, A))
    assert (again.status, again.changed) == (Status.REVISIT, False)
    assert store.forget(url_key_of(B))
    assert [told.url for told in everything(store)] == [A]


def test_a_loaded_page_is_no_fellows(shared_backend: Backend, clock: Clock, page: Page) -> None:
    first, second = (shared_backend.store(LAYOUT, clock) for _ in range(2))
    first.open()
    second.open()
    first.load([record(page, A)])
    assert second.check_and_add(query(page, A)).status is Status.REVISIT
    assert first.check_and_add(query(page, A)).status is Status.EXACT


def test_a_loaded_page_is_as_old_as_it_was(store: Store, clock: Clock, page: Page, other: Page) -> None:
    now = int(clock.now)
    store.load([record(page, A, seen_at=now - 100), record(other, B, seen_at=now - 101)])
    ttl = Retention(ttl_seconds=100)
    assert [bool(store.find(query(text, C, retention=ttl))) for text in (page, other)] == [True, False]
    assert store.check_and_add(query(other, B, retention=ttl)).status is Status.NEW


def test_pages_may_come_and_go_while_they_are_told(store: Store, rng: np.random.Generator) -> None:
    """What stays is told once, in order; what comes or goes may be told or not, and it comes to an end."""
    some = records(rng, 3000)
    store.load(some)
    told: list[Record] = []
    gone = set()
    for batch in store.records():
        told += batch
        for page in (told[0], some[rng.integers(len(some))]):
            store.forget(page.url_key)
            gone.add(page.url)
        store.check_and_add(query(random_page(rng), f"{A}/{len(told)}"))
    staying = [page.url for page in some if page.url not in gone]
    assert [page.url for page in told if page.url in set(staying)] == staying


@pytest.mark.parametrize("home", [None, 0, 255])
@pytest.mark.parametrize("url", ["", A, "\N{SNOWMAN}"])
def test_the_home_of_a_page_is_kept_and_may_be_unknown(
    store: Store, page: Page, other: Page, url: str, home: int | None
) -> None:
    loaded = replace(record(page, url), home=home)
    store.load([loaded])
    assert everything(store) == [loaded]
    # A visit with other text tells it anew; the URL stays.
    visited = query(other, url)
    answer = store.check_and_add(visited)
    assert answer.record is not None
    assert (answer.record.url, answer.record.home) == (url, home)
    assert [(kept.url, kept.home) for kept in everything(store)] == [(url, visited.entry.home)]
