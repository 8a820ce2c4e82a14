from __future__ import annotations

import threading
from typing import Any

import numpy as np

from crawldedup.stores.base import Status
from crawldedup.stores.sqlite.store import MemoryStore
from tests.stores.pages import LAYOUT, checked, query, random_page


def test_threads_may_share_a_store() -> None:
    store = MemoryStore("memory://", LAYOUT)
    store.open()
    rng = np.random.default_rng(2)
    pages = [random_page(rng) for _ in range(100)]
    statuses: list[Any] = []

    def crawl(name: str) -> None:
        statuses.extend([checked(store, query(page, f"{name}/{page.digest}")).status for page in pages])

    threads = [threading.Thread(target=crawl, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses.count(Status.NEW) == 100
    assert statuses.count(Status.EXACT) == 300
    assert store.info().pages == 100


def test_an_index_lasts_until_its_store_goes_and_is_told_in_no_file() -> None:
    store = MemoryStore("memory://", LAYOUT)
    assert store.open_read_only() == 0
    page = random_page(np.random.default_rng(1))
    store.open()
    checked(store, query(page, "https://example.com/"))
    store.close()
    assert store.open_read_only() == 1
    assert store.open() == 1
    assert store.info().store == "memory://"
    assert MemoryStore("memory://", LAYOUT).open() == 0
