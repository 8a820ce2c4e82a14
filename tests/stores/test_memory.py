from __future__ import annotations

import numpy as np

from crawldedup.stores.sqlite.store import MemoryStore
from tests.stores.pages import LAYOUT, checked, query, random_page


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
