from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from crawldedup.search.tables import KEY_BITS
from crawldedup.search.two_stage import TABLES
from crawldedup.stores.base import Record
from crawldedup.stores.redis.store import RedisStore
from tests.stores.pages import LAYOUT, query, random_page

if TYPE_CHECKING:
    from tests.servers import RedisServer
    from tests.stores.pages import Page


def page_in_half(half: int) -> Page:
    """A page whose keys are in this half of all tables, so in this half of their buckets while there is one a table."""
    rng = np.random.default_rng(half)
    while True:
        page = random_page(rng)
        if all(table.key(page.search) >> KEY_BITS - 1 == half for table in TABLES):
            return page


def record(page: Page, number: int, signature: bytes) -> Record:
    return Record(
        url=f"https://example.com/{number}",
        url_key=number,
        search=page.search,
        signature=signature,
        digest=number,
        added_at=1,
        seen_at=1,
        copies=0,
    )


@pytest.mark.parametrize("half", [0, 1])
def test_of_equal_keys_the_first_pages_are_compared_from_whichever_end_a_bucket_is_read(
    redis_server: RedisServer, half: int
) -> None:
    page = page_in_half(half)
    rng = np.random.default_rng(9)
    others = [record(page, number, rng.bytes(LAYOUT.signature_bytes)) for number in range(1, 20)]
    store = RedisStore(redis_server.url, LAYOUT)
    store.open()
    store.load([record(page, 0, page.signature), *others])
    found = store.find(query(page, "https://example.com/", max_candidates=3))
    assert [match.url for match in found] == ["https://example.com/0"]
    store.close()
