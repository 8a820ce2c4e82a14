from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from crawldedup.stores.base import Record, Status
from crawldedup.stores.redis.store import RedisStore
from tests.stores.pages import LAYOUT, query, random_page

if TYPE_CHECKING:
    import numpy as np

    from tests.servers import RedisServer

SHARED_BITS = 0xABCDEF0123 << 24


def test_urls_that_were_made_to_share_the_bits_of_their_keys_do_not_slow_each_other(
    redis_server: RedisServer, rng: np.random.Generator
) -> None:
    pages = [random_page(rng) for _ in range(300)]
    records = [
        Record(
            url="",
            url_key=SHARED_BITS | number,
            search=page.search,
            signature=page.signature,
            digest=page.digest & 0xFFFFFFFF,
            added_at=1,
            seen_at=1,
            copies=0,
        )
        for number, page in enumerate(pages)
    ]
    store = RedisStore(redis_server.url, LAYOUT)
    store.open()
    assert store.load(records) == len(records)
    redis_server.client.config_resetstat()
    asked = query(random_page(rng), "")
    asked = replace(asked, entry=replace(asked.entry, url_key=SHARED_BITS | len(records)))
    assert store.check_and_add(asked).status is Status.NEW
    assert redis_server.client.info("commandstats")["cmdstat_lindex"]["calls"] < 30
    # The first of them, which may have been there before the crowd, are still known.
    asked = replace(asked, entry=replace(asked.entry, url_key=SHARED_BITS))
    assert store.check_and_add(asked).status is Status.REVISIT
    store.close()
