"""Crawls whose Redis fails in the middle: no page is lost or judged twice, the gap is counted, and then it goes on.

The site decides by the pages that are asked for when the fault begins and when it ends.
"""

from __future__ import annotations

import contextlib
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import pytest
import redis

from crawldedup import Deduplicator
from crawldedup.errors import StoreError
from crawldedup.verdict import Kind
from tests.scrapy_plugin.crawling import QUICK, Crawl, crawl_apart
from tests.scrapy_plugin.website import Answer, Site
from tests.servers import RedisServer

# Pages 0..44 come before the fault, 45..104 while it lasts, 105..164 until the store is used again, the others after.
BEGIN, END, AGAIN, PAGES = 45, 105, 165, 225
COPIES = 3
OLD_CONTENTS = range(10)
"""The contents that come before the fault and again, at other URLs, as the last pages of all."""
AT_ONCE: Final = 4
# The pages behind the fault come so slowly that they outlast a pause of the circuit breaker.
_PAUSE_SECONDS: Final = 0.1


def content_of(number: int) -> int:
    """Which content a page shows: that of its two neighbours, or, at the end, one that came before the fault."""
    first_again = PAGES - COPIES * len(OLD_CONTENTS)
    return number // COPIES if number < first_again else OLD_CONTENTS[(number - first_again) // COPIES]


def words_of(content: int) -> list[str]:
    rng = random.Random(content)
    return ["".join(rng.choices("abcdeghiklmnoprstu", k=rng.randint(3, 9))) for _ in range(120)]


def html_of(number: int) -> bytes:
    """Of the three pages of a content two have the same text, and one has another word in it."""
    words = words_of(content_of(number))
    if number % COPIES == COPIES - 1:
        words[60] = "otherwise"
    return f"<!DOCTYPE html><html><head><title>Page</title></head><body><p>{' '.join(words)}</p></body></html>".encode()


def number_of(url: str) -> int:
    return int(url.rpartition("/")[2])


@dataclass(frozen=True)
class World:
    """What a fault can act upon."""

    server: RedisServer
    proxy: CuttingProxy


def nothing(world: World, number: int) -> None:
    pass


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What happens at the first page of the fault, at each one, and when it is over.

    `errors` are the kinds that pages are counted under which passed unjudged; none if nobody should notice.
    `forgets` says that the index is empty afterwards; `unsure`, that the server may have done what it could not say;
    not `counts`, that it tells duplicates but cannot count them. `options` are the server's.
    """

    begin: Callable[[World, int], object] = nothing
    each: Callable[[World, int], object] = nothing
    end: Callable[[World, int], object] = nothing
    errors: frozenset[str] = frozenset()
    forgets: bool = False
    unsure: bool = False
    counts: bool = True
    proxied: bool = False
    options: Sequence[str] = ()


class CuttingProxy:
    """Stands between client and server, and cuts connections in the middle of an answer or a question."""

    def __init__(self, port: int) -> None:
        self._server_port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"
        self.cuts = 0
        self._lock = threading.Lock()
        self._armed: dict[str, int] = {}
        self._goes_on = False

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._listener.close()

    def cut(self, what: str, after: int, *, goes_on: bool = False) -> None:
        """Let the next "answer" or "question" end after so many bytes, and all later ones if it `goes_on`."""
        with self._lock:
            self._armed, self._goes_on = {what: after}, goes_on

    def heal(self) -> None:
        with self._lock:
            self._armed = {}

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._server_port))
                for source, target, what in ((client, server, "question"), (server, client, "answer")):
                    threading.Thread(target=self._pass_on, args=(source, target, what), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, what: str) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if (after := self._cut_now(what)) is not None:
                    target.sendall(data[:after])
                    break
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _cut_now(self, what: str) -> int | None:
        with self._lock:
            after = self._armed.get(what) if self._goes_on else self._armed.pop(what, None)
            self.cuts += after is not None
            return after


def every(pages: int, act: Callable[[World, int], object]) -> Callable[[World, int], None]:
    """Not so often that it comes twice while one page is judged: a call is tried again once."""

    def each(world: World, number: int) -> None:
        if number % pages == 0:
            act(world, number)

    return each


# In one step, or the crawl would meet an index that lost a key, which is another fault; and the index removes keys too.
_SPOIL: Final = """
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local kind = redis.call('TYPE', KEYS[1]).ok
redis.call('RENAME', KEYS[1], KEYS[2])
redis.call(kind == 'string' and 'RPUSH' or 'SET', KEYS[1], 'not ours')
return 1
"""


def spoil(client: redis.Redis, key: bytes) -> bool:
    """Put something of another type in a key's place. False if the index has removed the key meanwhile."""
    return bool(client.eval(_SPOIL, 2, key, b"spared:" + key))


# What the index keeps for some seconds only may have gone meanwhile.
_MEND: Final = """
redis.call('UNLINK', KEYS[1])
if redis.call('EXISTS', KEYS[2]) == 1 then redis.call('RENAME', KEYS[2], KEYS[1]) end
"""


def mend(client: redis.Redis, key: bytes) -> None:
    client.eval(_MEND, 2, key, b"spared:" + key)


def spoil_every_key(world: World, number: int) -> None:
    for key in keys_of_index(world.server.client):
        spoil(world.server.client, key)


def mend_all(world: World, number: int) -> None:
    for spared in world.server.client.keys("spared:*"):
        mend(world.server.client, spared.removeprefix(b"spared:"))


def keys_of_index(client: redis.Redis) -> list[bytes]:
    return sorted(set(client.scan_iter("crawldedup:*")))  # SCAN may return a key twice


FAULTS: dict[str, Fault] = {
    "killed, and empty when it starts again": Fault(
        begin=lambda world, _: world.server.stop(),
        end=lambda world, _: world.server.start(),
        errors=frozenset({"unavailable"}),
        forgets=True,
    ),
    "killed, and starts again from its file": Fault(
        begin=lambda world, _: world.server.stop(),
        end=lambda world, _: world.server.start(),
        errors=frozenset({"unavailable"}),
        unsure=True,
        options=("--appendonly", "yes", "--appendfsync", "always"),
    ),
    "scripts flushed": Fault(
        begin=lambda world, _: world.server.client.script_flush(),
        end=lambda world, _: world.server.client.script_flush(),
    ),
    "paused for three seconds": Fault(
        begin=lambda world, _: world.server.client.client_pause(3000), errors=frozenset({"unavailable"}), unsure=True
    ),
    "full": Fault(
        begin=lambda world, _: world.server.client.config_set("maxmemory", 1),
        end=lambda world, _: world.server.client.config_set("maxmemory", 0),
        errors=frozenset({"full"}),
        counts=False,
    ),
    "read only": Fault(
        # Nothing listens at this port, so the server goes on with what it has.
        begin=lambda world, _: world.server.client.replicaof("127.0.0.1", "1"),
        end=lambda world, _: world.server.client.replicaof("no", "one"),
        errors=frozenset({"unavailable"}),
        counts=False,
    ),
    "every key of the wrong type": Fault(begin=spoil_every_key, end=mend_all, errors=frozenset({"store"})),
    "connections killed": Fault(
        each=every(6, lambda world, _: world.server.client.client_kill_filter(_type="normal", skipme=True))
    ),
    "answers cut": Fault(
        each=every(6, lambda world, number: world.proxy.cut("answer", (number - BEGIN) // 6)), proxied=True
    ),
    "questions cut": Fault(
        each=every(6, lambda world, number: world.proxy.cut("question", (number - BEGIN) * 10)), proxied=True
    ),
    "every answer cut": Fault(
        begin=lambda world, _: world.proxy.cut("answer", 3, goes_on=True),
        end=lambda world, _: world.proxy.heal(),
        errors=frozenset({"unavailable"}),
        unsure=True,
        proxied=True,
    ),
}


class Disturbance:
    """Brings a fault about when its first page is asked for, and ends it when the first one behind it is."""

    def __init__(self, fault: Fault, world: World) -> None:
        self._fault, self._world = fault, world
        self._lock = threading.Lock()
        self._has_begun = self._is_over = False

    def __call__(self, number: int) -> None:
        with self._lock:
            if number >= BEGIN and not self._has_begun:
                self._has_begun = True
                self._fault.begin(self._world, number)
            if BEGIN <= number < END and not self._is_over:
                self._fault.each(self._world, number)
            if number >= END and not self._is_over:
                self._is_over = True
                self._fault.end(self._world, number)
        if END <= number < AGAIN:
            time.sleep(_PAUSE_SECONDS)


def crawl_under(fault: Fault, world: World, folder: Path) -> Crawl:
    disturb = Disturbance(fault, world)
    with Site({f"/{number}": Answer(html_of(number)) for number in range(PAGES)}) as site:
        site.actions = {f"/{number}": partial(disturb, number) for number in range(PAGES)}
        return crawl_apart(
            site,
            folder,
            list(site.pages),
            **QUICK,
            CRAWLDEDUP_STORE=world.proxy.url if fault.proxied else world.server.url,
            CRAWLDEDUP_PREFER=[],
            CRAWLDEDUP_WORKERS=1,
            CONCURRENT_REQUESTS=AT_ONCE,
            # Scrapy's own second tries would hide a page that is lost.
            RETRY_ENABLED=False,
        )


# One crawl shows that the plugin copes; what each fault does to it is a matter of length.
NAMES = [pytest.param(name, marks=pytest.mark.nightly if number else ()) for number, name in enumerate(FAULTS)]


@pytest.mark.parametrize("name", NAMES)
def test_a_fault_costs_no_page_and_no_second_verdict_and_leaves_the_index_whole(name: str, tmp_path: Path) -> None:
    fault = FAULTS[name]
    with RedisServer(*fault.options) as server, CuttingProxy(server.port) as proxy:
        crawl = crawl_under(fault, World(server, proxy), tmp_path)
        with Deduplicator(server.url, extractor="text") as dedup:
            found = [match for number in range(PAGES) for match in dedup.find(html=html_of(number))]
            copies, pages = {number_of(match.url): match.copies for match in found}, dedup.info().pages

    stats = crawl.report["stats"]
    assert stats["finish_reason"] == "finished"
    assert stats["downloader/response_count"] == PAGES

    # Every page is delivered, once, or dropped for one of its content that was delivered.
    delivered = list(map(number_of, crawl.passed))
    dropped = {
        number_of(page): number_of(original) for page, original, is_gone in crawl.report["duplicates"] if is_gone
    }
    assert sorted([*delivered, *dropped]) == list(range(PAGES))
    for page, original in dropped.items():
        assert original in delivered
        assert content_of(original) == content_of(page)

    # Every page has one verdict, or is counted as an error.
    judged = {number_of(page): kind for page, kind, _ in crawl.report["signals"]}
    unjudged = {*range(PAGES)} - judged.keys()
    assert len(crawl.report["signals"]) == PAGES - len(unjudged) == crawl.counts["checked"]
    errors = {name.removeprefix("error/"): count for name, count in crawl.counts.items() if name.startswith("error/")}
    assert errors.keys() == fault.errors
    assert sum(errors.values()) == len(unjudged)

    # The gap is as long as the fault and what it takes to look again, and then the store is in use.
    assert unjudged <= {*range(BEGIN - COPIES, AGAIN)}
    assert ("the store answers again" in crawl.log) == bool(fault.errors)

    # Before and after the gap, each content is delivered once.
    times_delivered = Counter(content_of(page) for page in delivered if page < BEGIN - COPIES or page >= AGAIN)
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
        # Enough pages for the index to change its shape while a key is spoilt: that writes to keys no page asks for.
        for key in keys_of_index(server.client):
            if spoil(server.client, key):
                for _ in range(45):
                    offer(next(contents))
                mend(server.client, key)

        assert len(unjudged) > 45
        assert dedup.info().pages == len(judged)
        assert not [text for text in unjudged if dedup.find(text=text)]
        assert not [text for text in judged if not dedup.find(text=text)]
