"""What is sent to the scripts, and in which order they read it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from crawldedup.search.plan import KEY_BITS
from crawldedup.search.query import TABLES
from crawldedup.stores.base import PageName, Record
from crawldedup.stores.redis import protocol
from crawldedup.stores.redis.store import RedisStore
from tests.servers import RedisServer
from tests.stores.pages import EQUAL_ONLY, LAYOUT, NO_PROBES, Page, filler, found, query, random_page, thin_page


def page_in_half(half: int) -> Page:
    """A page whose keys are in this half of all tables, so in this half of their buckets while there is one a table."""
    rng = np.random.default_rng(half)
    while True:
        page = random_page(rng)
        if all(table.key(page.search) >> KEY_BITS - 1 == half for table in TABLES):
            return page


@pytest.mark.parametrize("half", [0, 1])
def test_of_equal_keys_the_first_pages_are_compared_from_whichever_end_a_bucket_is_read(
    redis_server: RedisServer, half: int
) -> None:
    page = page_in_half(half)
    rng = np.random.default_rng(9)
    signatures = [page.signature, *(rng.bytes(LAYOUT.signature_bytes) for _ in range(19))]
    store = RedisStore(redis_server.url, LAYOUT)
    store.open()
    asked = replace(query(page, ""), plan=NO_PROBES, rule=EQUAL_ONLY, prefilter=None)
    for number, signature in enumerate(signatures):
        store.check([replace(asked, record=Record(f"https://e.com/{number}", number, page.search, signature, number))])
    records = found(store, query(page, "https://example.com/", max_candidates=3))
    assert [record.url for record in records] == ["https://e.com/0"]
    store.close()


def test_queries_of_a_batch_are_packed_as_each_of_them_alone(rng: np.random.Generator) -> None:
    pages = [
        query(random_page(rng), f"https://example.com/{size}", pages=size) for size in (0, 10, 10**4, 10**7, 10**9)
    ]
    others = [filler(rng, "https://example.com/filler"), query(thin_page(rng), "https://example.com/thin")]
    batch = [*pages[:3], *others, *pages[3:]]
    alone = [question for asked in batch for question in protocol.pack_questions([asked], LAYOUT, 7)]
    assert protocol.pack_questions(batch, LAYOUT, 7) == alone
    assert protocol.pack_questions([], LAYOUT, 7) == []


def test_a_retry_differs_in_its_last_argument() -> None:
    store = RedisStore("redis://localhost", LAYOUT)
    (first,) = store._checks([query(random_page(np.random.default_rng(1)), "https://example.com/")])
    assert (first.command[-1], first.retried().command) == (0, (*first.command[:-1], 1))
    assert protocol.pack_names([PageName(1), PageName(2, 5)]) == bytes(7) + b"\1" + bytes(7) + b"\2"
