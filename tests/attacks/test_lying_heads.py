"""Numbers in the head of an index that cannot be true: no call hangs, and errors are ours."""

from __future__ import annotations

import contextlib

import pytest

from crawldedup import Deduplicator
from crawldedup.errors import CrawlDedupError, StoreError
from tests.attacks.test_damaged_sqlite import everything, text_of
from tests.servers import RedisServer

NUMBERS = ["pages", "next", "depth", "split", "crawlers", "oldest", "sweep", "epoch"]
LIES = ["", "-1", "1.5", "nan", "inf", "1e308", "9" * 400, "28", "29", "4294967295", "18446744073709551616", "text"]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("field", NUMBERS)
def test_a_lie_in_the_head_is_held(session_redis: RedisServer, field: str, lie: str) -> None:
    client = session_redis.client
    client.flushall()
    with Deduplicator(session_redis.url) as dedup:
        for number in range(20):
            dedup.check(f"https://a.example/{number}", text=text_of(number))
    client.hset("crawldedup:{default}:m", field, lie)
    dedup = Deduplicator(session_redis.url, ttl="30d", max_pages=1000)
    for call in everything(dedup):
        with contextlib.suppress(CrawlDedupError):
            call()


def test_an_index_whose_head_lies_can_be_cleared(session_redis: RedisServer) -> None:
    session_redis.client.flushall()
    with Deduplicator(session_redis.url) as dedup:
        dedup.check("https://a.example/", text=text_of(1))
        session_redis.client.hset("crawldedup:{default}:m", "depth", "28")
        with pytest.raises(StoreError, match="crawldedup did not write"):
            dedup.check("https://b.example/", text=text_of(2))
        dedup.clear()
        assert dedup.check("https://b.example/", text=text_of(1)).kind == "new"
