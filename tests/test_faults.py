"""Crawls whose Redis fails in the middle: no page is lost or judged twice, the gap is counted, and
then it goes on.

The site decides by the pages that are asked for when the fault begins and when it ends.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

import pytest
import redis

from crawldedup import Deduplicator
from crawldedup.errors import StoreError
from crawldedup.verdict import Kind
from tests.scrapy_plugin.crawling import QUICK, Crawl, crawl_apart
from tests.scrapy_plugin.website import Answer, Site
from tests.servers import RedisServer

# Pages 0..44 come before the fault, 45..104 while it lasts, 105..164 until the store is used again,
# the others after.
BEGIN, END, AGAIN, PAGES = 45, 105, 165, 225
COPIES = 3
OLD_CONTENTS = range(10)
"""The contents that come before the fault and again, at other URLs, as the last pages of all."""
AT_ONCE: Final = 4
# The pages behind the fault come so slowly that they outlast a pause of the circuit breaker.
_PAUSE_SECONDS: Final = 0.1


def content_of(number: int) -> int:
    """Return which content a page shows: that of its two neighbours, or one from before the fault
    at the end.
    """
    first_again = PAGES - COPIES * len(OLD_CONTENTS)
    return (
        number // COPIES if number < first_again else OLD_CONTENTS[(number - first_again) // COPIES]
    )


def words_of(content: int) -> list[str]:
    rng = random.Random(content)
    return ["".join(rng.choices("abcdeghiklmnoprstu", k=rng.randint(3, 9))) for _ in range(120)]


def html_of(number: int) -> bytes:
    """Of the three pages of a content two have the same text, and one has another word in it."""
    words = words_of(content_of(number))
    if number % COPIES == COPIES - 1:
        words[60] = "otherwise"
    return f"<!DOCTYPE html><html><head><title>Page</title></head><body><p>{' '.join(words)}</p></body></html>".encode()


def path_of(number: int) -> str:
    """Return where a page stands: one with another word in a folder of its own, because another
    text at an address of the same form is that of a sibling.
    """
    return f"/near/{number}" if number % COPIES == COPIES - 1 else f"/{number}"


def number_of(url: str) -> int:
    return int(url.rpartition("/")[2])


Act = Callable[[RedisServer], object]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What happens at the first page of the fault, at every sixth one, and when it is over.

    `errors` are the kinds that pages are counted under which passed unjudged; none if nobody should
    notice. `forgets` says that the index is empty afterwards; `unsure`, that the server may have
    done what it could not say; not `counts`, that it tells duplicates but cannot count them.
    `options` are the server's.
    """

    begin: Act = id
    each: Act = id
    end: Act = id
    errors: frozenset[str] = frozenset()
    forgets: bool = False
    unsure: bool = False
    counts: bool = True
    options: Sequence[str] = ()


# In one step, or the crawl would meet an index that lost a key, which is another fault; and the
# index removes keys too.
_SPOIL: Final = """
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local kind = redis.call('TYPE', KEYS[1]).ok
redis.call('RENAME', KEYS[1], KEYS[2])
redis.call(kind == 'string' and 'RPUSH' or 'SET', KEYS[1], 'not ours')
return 1
"""
# What the index keeps for some seconds only may have gone meanwhile.
_MEND: Final = """
redis.call('UNLINK', KEYS[1])
if redis.call('EXISTS', KEYS[2]) == 1 then redis.call('RENAME', KEYS[2], KEYS[1]) end
"""


def spoil(client: redis.Redis, key: bytes) -> bool:
    """Put something of another type in a key's place.

    Return False if the index has removed the key meanwhile.
    """
    return bool(client.eval(_SPOIL, 2, key, b"spared:" + key))


def mend(client: redis.Redis, key: bytes) -> None:
    client.eval(_MEND, 2, key, b"spared:" + key)


def keys_of_index(client: redis.Redis) -> list[bytes]:
    return sorted(set(client.scan_iter("crawldedup:*")))  # SCAN may return a key twice


UNAVAILABLE = frozenset({"unavailable"})
FAULTS: dict[str, Fault] = {
    "killed, and empty when it starts again": Fault(
        begin=RedisServer.stop, end=RedisServer.start, errors=UNAVAILABLE, forgets=True
    ),
    "killed, and starts again from its file": Fault(
        begin=RedisServer.stop,
        end=RedisServer.start,
        errors=UNAVAILABLE,
        unsure=True,
        options=("--appendonly", "yes", "--appendfsync", "always"),
    ),
    "paused for three seconds": Fault(
        begin=lambda server: server.client.client_pause(3000), errors=UNAVAILABLE, unsure=True
    ),
    "full": Fault(
        begin=lambda server: server.client.config_set("maxmemory", 1),
        end=lambda server: server.client.config_set("maxmemory", 0),
        errors=frozenset({"full"}),
        counts=False,
    ),
    "read only": Fault(
        # Nothing listens at this port, so the server goes on with what it has.
        begin=lambda server: server.client.replicaof("127.0.0.1", "1"),
        end=lambda server: server.client.replicaof("no", "one"),
        errors=UNAVAILABLE,
        counts=False,
    ),
    # A call is tried again once, so these come at most once while a page is judged.
    "connections killed": Fault(
        each=lambda server: server.client.client_kill_filter(_type="normal", skipme=True)
    ),
    "scripts flushed": Fault(each=lambda server: server.client.script_flush()),
}


class Disturbance:
    """Brings a fault about when its first page is asked for, and ends it when the first one behind
    it is.
    """

    def __init__(self, fault: Fault, server: RedisServer) -> None:
        self._fault, self._server = fault, server
        self._lock = threading.Lock()
        self._has_begun = self._is_over = False

    def __call__(self, number: int) -> None:
        with self._lock:
            if number >= BEGIN and not self._has_begun:
                self._has_begun = True
                self._fault.begin(self._server)
            if BEGIN <= number < END and not self._is_over and number % 6 == 0:
                self._fault.each(self._server)
            if number >= END and not self._is_over:
                self._is_over = True
                self._fault.end(self._server)
        if END <= number < AGAIN:
            time.sleep(_PAUSE_SECONDS)


def crawl_under(fault: Fault, server: RedisServer, folder: Path) -> Crawl:
    disturb = Disturbance(fault, server)
    with Site({path_of(number): Answer(html_of(number)) for number in range(PAGES)}) as site:
        site.actions = {path_of(number): partial(disturb, number) for number in range(PAGES)}
        return crawl_apart(
            site,
            folder,
            list(site.pages),
            **QUICK,
            CRAWLDEDUP_STORE=server.url,
            CRAWLDEDUP_PREFER=[],
            CRAWLDEDUP_WORKERS=1,
            CONCURRENT_REQUESTS=AT_ONCE,
            # Scrapy's own second tries would hide a page that is lost.
            RETRY_ENABLED=False,
        )


# One crawl shows that the plugin copes; what each fault does to it is a matter of length.
NAMES = [
    pytest.param(name, marks=pytest.mark.nightly if number else ())
    for number, name in enumerate(FAULTS)
]


@pytest.mark.parametrize("name", NAMES)
def test_a_fault_costs_no_page_and_no_second_verdict_and_leaves_the_index_whole(
    name: str, tmp_path: Path
) -> None:
    fault = FAULTS[name]
    with RedisServer(*fault.options) as server:
        crawl = crawl_under(fault, server, tmp_path)
        with Deduplicator(server.url, extractor="text") as dedup:
            found = [match for number in range(PAGES) for match in dedup.find(html=html_of(number))]
            copies, pages = (
                {number_of(match.url): match.copies for match in found},
                dedup.info().pages,
            )

    stats = crawl.report["stats"]
    assert stats["finish_reason"] == "finished"
    assert stats["downloader/response_count"] == PAGES

    # Every page is delivered, once, or dropped for one of its content that was delivered.
    delivered = list(map(number_of, crawl.passed))
    dropped = {
        number_of(page): number_of(original)
        for page, original, is_gone in crawl.report["duplicates"]
        if is_gone
    }
    assert sorted([*delivered, *dropped]) == list(range(PAGES))
    for page, original in dropped.items():
        assert original in delivered
        assert content_of(original) == content_of(page)

    # Every page has one verdict, or is counted as an error.
    judged = {number_of(page): kind for page, kind, _ in crawl.report["signals"]}
    unjudged = {*range(PAGES)} - judged.keys()
    assert len(crawl.report["signals"]) == PAGES - len(unjudged) == crawl.counts["checked"]
    errors = {
        name.removeprefix("error/"): count
        for name, count in crawl.counts.items()
        if name.startswith("error/")
    }
    assert errors.keys() == fault.errors
    assert sum(errors.values()) == len(unjudged)

    # The gap is as long as the fault and what it takes to look again, and then the store is in use.
    assert unjudged <= {*range(BEGIN - COPIES, AGAIN)}
    assert ("the store answers again" in crawl.log) == bool(fault.errors)

    # Before and after the gap, each content is delivered once.
    times_delivered = Counter(
        content_of(page) for page in delivered if page < BEGIN - COPIES or page >= AGAIN
    )
    if fault.forgets:
        times_delivered.subtract(OLD_CONTENTS)
    assert {*times_delivered.values()} == {1}

    # What the index counts is found, and what is found was delivered.
    assert pages == len(copies)
    assert copies.keys() <= {*delivered}
    # A page whose answer was lost and asked for again is its own revisit.
    admitted = {page for page, kind in judged.items() if kind in (Kind.NEW, Kind.REVISIT)}
    if fault.forgets:
        assert {page for page in admitted if page >= END} <= copies.keys()
        assert min(copies) >= BEGIN
        return
    assert admitted <= copies.keys()
    lost_answers = len(unjudged) if fault.unsure else 0
    assert len(copies.keys() - admitted) <= lost_answers
    # A duplicate whose answer was lost was counted, and is counted again if it is asked for again.
    counted, told = sum(copies.values()), len(dropped)
    assert told - (0 if fault.counts else AT_ONCE) <= counted <= told + lost_answers


@pytest.mark.nightly
def test_a_key_of_the_wrong_type_leaves_no_page_half_written() -> None:
    judged, unjudged = [], []
    with RedisServer() as server, Deduplicator(server.url) as dedup:

        def offer(content: int) -> None:
            text = " ".join(words_of(content))
            try:
                assert dedup.check(f"https://example.com/{content}", text=text).kind is Kind.NEW
                judged.append(text)
            except StoreError:
                unjudged.append(text)

        contents = count()
        for _ in range(300):
            offer(next(contents))
        # Enough pages for the index to change its shape while a key is spoilt: that writes to keys
        # no page asks for.
        for key in keys_of_index(server.client):
            if spoil(server.client, key):
                for _ in range(45):
                    offer(next(contents))
                mend(server.client, key)

        assert len(unjudged) > 45
        assert dedup.info().pages == len(judged)
        assert not [text for text in unjudged if dedup.find(text=text)]
        assert not [text for text in judged if not dedup.find(text=text)]
