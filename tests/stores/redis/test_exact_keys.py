"""Whatever happens to pages, they are filed under the exact keys of their records and no others."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from dataclasses import replace
from typing import Final

import numpy as np
import pytest
import redis

from crawldedup.marks.exact_keys import exact_keys
from crawldedup.marks.packing import packed
from crawldedup.marks.values import AddressMarks, ContentMarks, Marks, Name
from crawldedup.stores.contract import Query, Retention
from crawldedup.stores.redis import protocol
from crawldedup.stores.redis.store import RedisStore
from tests.servers import RedisServer
from tests.stores.backends import Clock, redis_contents
from tests.stores.pages import LAYOUT, Page, filler, name_of, query, random_page

RECORDS_A_LIST: Final = 512
FEW_PAGES: Final = [random_page(np.random.default_rng(number)) for number in range(4)]


def marks_of(rng: np.random.Generator) -> bytes:
    """Return marks that lack a name or a picture now and then; sometimes there are none."""
    if rng.random() < 0.1:
        return b""
    path = int(rng.integers(1, 20))
    address = AddressMarks(int(rng.integers(1, 3)), path, 3, 0, 0, int(rng.integers(2)), path)
    has_lead = bool(rng.random() < 0.5)
    content = ContentMarks(
        names=(Name(int(rng.integers(1, 4)), 1),) if rng.random() < 0.6 else (),
        pictures=(int(rng.integers(1, 4)),) if has_lead else (),
        has_lead=has_lead,
    )
    return packed(Marks(content, address))


def asked(page: Page, rng: np.random.Generator, retention: Retention) -> Query:
    question = query(page, f"https://example.com/{rng.integers(60)}", retention=retention)
    record = replace(
        question.record,
        marks=marks_of(rng),
        rank=int(rng.integers(3)),
        digest=question.record.digest ^ int(rng.integers(3)),
    )
    return replace(question, record=record)


def filed(client: redis.Redis) -> dict[tuple[int, bytes], set[int]]:
    """Return the pages under every exact key, by the kind of the key."""
    pages: dict[tuple[int, bytes], set[int]] = defaultdict(set)
    for name, members in redis_contents(client).items():
        table = name.split(b":")[-2]
        if table in (b"k0", b"k1", b"k2", b"k3"):
            for member, _ in members:
                pages[int(table[1:]), member[:5]].add(int.from_bytes(member[5:], "big"))
    return dict(pages)


def expected(client: redis.Redis) -> dict[tuple[int, bytes], set[int]]:
    """Return the same as the records have it."""
    pages: dict[tuple[int, bytes], set[int]] = defaultdict(set)
    for name, records in redis_contents(client).items():
        if name.split(b":")[-2] != b"r":
            continue
        for place, packed_record in enumerate(records):
            if packed_record:
                record = protocol.unpack_record(packed_record, LAYOUT)
                number = int(name.split(b":")[-1]) * RECORDS_A_LIST + place
                for kind, key in enumerate(exact_keys(record.search, record.digest, record.marks)):
                    if key is not None:
                        pages[kind, key.to_bytes(5, "big")].add(number)
    return dict(pages)


@pytest.mark.parametrize(
    "retention",
    [Retention(), Retention(max_pages=20), Retention(ttl_seconds=100)],
    ids=["forever", "few", "for a while"],
)
def test_pages_are_filed_under_the_exact_keys_of_their_records(
    redis_server: RedisServer, retention: Retention
) -> None:
    rng, clock = np.random.default_rng(1), Clock()
    with contextlib.closing(RedisStore(redis_server.url, LAYOUT, clock=clock)) as store:
        store.open()
        for _ in range(12):
            pages = [FEW_PAGES[int(rng.integers(len(FEW_PAGES)))] for _ in range(40)]
            store.check([asked(page, rng, retention) for page in pages])
            for number in rng.integers(60, size=3):
                store.forget(name_of(f"https://example.com/{number}"))
            clock.wait(20)
            assert filed(redis_server.client) == expected(redis_server.client)
        for number in range(60):
            store.forget(name_of(f"https://example.com/{number}"))
    assert filed(redis_server.client) == {}


def test_tables_of_exact_keys_grow_and_sparse_lists_are_moved_with_them(
    redis_server: RedisServer,
) -> None:
    rng, clock = np.random.default_rng(2), Clock()
    retention = Retention(ttl_seconds=100)
    with contextlib.closing(RedisStore(redis_server.url, LAYOUT, clock=clock)) as store:
        store.open()

        def fill(first: int, count: int) -> None:
            questions = [
                filler(rng, f"https://example.com/{number}", retention=retention)
                for number in range(first, first + count)
            ]
            store.check(
                [
                    replace(question, record=replace(question.record, marks=marks_of(rng)))
                    for question in questions
                ]
            )

        fill(0, 700)
        assert filed(redis_server.client) == expected(redis_server.client)
        clock.wait(90)
        fill(5, 10)  # are seen again, and live on
        clock.wait(90)
        fill(700, 700)
        assert store.info().pages < 1000
        assert not [key for key in redis_server.client.scan_iter() if key.endswith(b":r:0")]
        assert filed(redis_server.client) == expected(redis_server.client)
