from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from crawldedup.errors import StoreFullError
from crawldedup.stores import embedded
from crawldedup.stores.base import FOR_EVER, Retention, Status
from crawldedup.stores.memory import index as memory
from crawldedup.stores.memory.store import MemoryStore
from tests.stores.backends import Clock
from tests.stores.pages import LAYOUT, query, random_page, url_key_of


def test_threads_may_share_a_store() -> None:
    store = MemoryStore(LAYOUT)
    rng = np.random.default_rng(2)
    pages = [random_page(rng) for _ in range(100)]
    statuses: list[Any] = []

    def crawl(name: str) -> None:
        statuses.extend([store.check_and_add(query(page, f"{name}/{page.digest}")).status for page in pages])

    threads = [threading.Thread(target=crawl, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses.count(Status.NEW) == 100
    assert statuses.count(Status.EXACT) == 300
    assert store.info().pages == 100


@pytest.fixture
def small_store(monkeypatch: pytest.MonkeyPatch) -> MemoryStore:
    """A store with few page numbers."""
    monkeypatch.setattr(memory, "MAX_PAGES", 20)
    monkeypatch.setattr(memory, "_FIRST_ROOM", 4)
    return MemoryStore(LAYOUT)


def add(store: MemoryStore, number: int, retention: Retention = FOR_EVER) -> None:
    page = random_page(np.random.default_rng(number))
    assert store.check_and_add(query(page, f"https://example.com/{number}", retention=retention)).status is Status.NEW


def test_a_full_store_refuses_pages_until_there_is_room(small_store: MemoryStore) -> None:
    for number in range(20):
        add(small_store, number)
    with pytest.raises(StoreFullError, match="limit of 20 pages"):
        add(small_store, 20)
    assert small_store.info().pages == 20
    assert small_store.forget(url_key_of("https://example.com/7"))
    add(small_store, 21)
    with pytest.raises(StoreFullError):
        add(small_store, 22)
    urls = [record.url for batch in small_store.records() for record in batch]
    assert urls == [f"https://example.com/{number}" for number in (*range(7), *range(8, 20), 21)]


def test_numbers_of_pages_do_not_run_out_while_pages_go(small_store: MemoryStore) -> None:
    for number in range(500):
        add(small_store, number, Retention(max_pages=15))
    assert small_store.info().pages == 15


def test_pages_are_told_and_pruned_once_while_they_are_numbered_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_FIRST_ROOM", 4)
    monkeypatch.setattr(embedded, "BATCH", 5)
    clock = Clock()
    store = MemoryStore(LAYOUT, clock=clock)
    for number in range(60):
        add(store, number)
    reading = store.records()
    told = [record.url for record in next(reading)]
    clock.wait(101)
    ttl = Retention(ttl_seconds=100)
    pruning = store.prune(ttl)
    assert [next(pruning).freed for _ in range(2)] == [5, 10]
    for number in range(30):
        assert store.forget(url_key_of(f"https://example.com/{number}")) == (number >= 10)
    # The third of the rows that is gone makes these move the others.
    for number in range(100, 140):
        add(store, number)
    assert list(pruning)[-1].freed == 40
    assert store.info().pages == 40
    told += [record.url for batch in reading for record in batch]
    assert told == [f"https://example.com/{number}" for number in (*range(5), *range(100, 140))]
