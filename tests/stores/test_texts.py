"""Texts that are kept beside pages: each store keeps that of the page as it is remembered, and only as long."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from crawldedup.stores.base import Answer, Query, Retention, Status, Store
from tests.stores.backends import Backend, Clock
from tests.stores.pages import (
    FOR_EVER,
    LAYOUT,
    Page,
    checked,
    filler,
    found,
    name_of,
    near_page,
    query,
    random_page,
)

A, B = "https://example.com/a", "https://example.com/b"
FIRST, SECOND = b"the first text", b"the second text"
HOUR = Retention(ttl_seconds=3600)
FEW = Retention(max_pages=1)


def asked(page: Page, url: str, text: bytes = b"", *, rank: int = 0, retention: Retention = FOR_EVER) -> Query:
    question = query(page, url, retention=retention)
    return replace(question, record=replace(question.record, packed_text=text, rank=rank))


def text_of(store: Store, url: str, retention: Retention = FOR_EVER) -> bytes:
    (page,) = store.remembered([name_of(url)], retention)
    return page.packed_text if page else b""


def record_text(answer: Answer) -> bytes:
    assert answer.record is not None
    return answer.record.packed_text


def is_anywhere(backend: Backend, text: bytes) -> bool:
    """Whether a text lies in the store, wherever it is."""
    if backend.name == "memory":
        return False
    contents = repr(backend.contents())
    return repr(text)[2:-1] in contents or text.hex().upper() in contents


def forget(store: Store, clock: Clock, page: Page, other: Page) -> None:
    assert store.forget(name_of(A))


def clear(store: Store, clock: Clock, page: Page, other: Page) -> None:
    store.clear()


def expire_and_return(store: Store, clock: Clock, page: Page, other: Page) -> None:
    clock.wait(3601)
    assert checked(store, asked(page, A, SECOND, retention=HOUR)).status is Status.NEW
    assert text_of(store, A, HOUR) == SECOND


def be_evicted(store: Store, clock: Clock, page: Page, other: Page) -> None:
    checked(store, asked(other, B, retention=FEW))


def be_replaced(store: Store, clock: Clock, page: Page, other: Page) -> None:
    answer = checked(store, asked(near_page(page), B, SECOND))
    assert answer.replaces
    assert record_text(answer) == FIRST
    assert text_of(store, B) == SECOND


ENDS = [forget, clear, expire_and_return, be_evicted, be_replaced]


@pytest.mark.parametrize("end", ENDS)
def test_a_text_goes_with_its_page(
    store: Store, backend: Backend, clock: Clock, page: Page, other: Page, end: Callable[..., None]
) -> None:
    checked(store, asked(page, A, FIRST, rank=1))
    assert text_of(store, A, HOUR) == FIRST
    end(store, clock, page, other)
    assert text_of(store, A) != FIRST
    assert not is_anywhere(backend, FIRST)


def test_texts_outlive_the_pages_around_theirs(
    store: Store, clock: Clock, page: Page, rng: np.random.Generator
) -> None:
    """Whatever a store does with the room that pages leave."""
    old = [filler(rng, f"{B}{number}", retention=HOUR) for number in range(600)]
    store.check(old[:300])
    checked(store, asked(page, A, FIRST, retention=HOUR))
    store.check(old[300:])
    clock.wait(3000)
    checked(store, asked(page, A, FIRST, retention=HOUR))
    clock.wait(3000)
    # They free what has expired.
    store.check([filler(rng, f"{B}new{number}", retention=HOUR) for number in range(300)])
    assert store.info().pages == 301
    assert text_of(store, A) == FIRST
    store.forget(name_of(A))
    assert text_of(store, A) == b""


def test_the_text_is_that_of_the_page_whoever_came_last(
    shared_backend: Backend, clock: Clock, rng: np.random.Generator
) -> None:
    """Of the connections of one crawler, as its workers have."""
    stores = [shared_backend.store(LAYOUT, clock) for _ in range(4)]
    stores[0].open()
    for store in stores[1:]:
        store.open(stores[0].session)
    pages = [random_page(rng) for _ in range(8)]
    questions = [asked(page, A, b"text of %d" % page.search) for page in pages]

    def visit(number: int) -> None:
        for at in range(10):
            checked(stores[number], questions[(2 * number + at) % 8])

    for _ in range(3):
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(visit, range(4)))
        (record,) = {record for page in pages for record in found(stores[0], query(page, "")) if record.url == A}
        assert text_of(stores[0], A) == b"text of %d" % record.search
    for store in stores:
        store.close()
