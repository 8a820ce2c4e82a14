"""Crawls whose Redis fails in the middle: no page is lost or judged twice, the gap is counted, and then it goes on.

Each fault comes over a crawl of a process of its own with a server of its own. The site counts the pages that are asked
for, and so decides when the fault begins and when it ends.
"""

from __future__ import annotations

import contextlib
import random
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from types import TracebackType
from typing import Final, Self

import pytest
import redis

from crawldedup import Deduplicator
from crawldedup.demo.site import NOT_FOUND, Reply, serving
from crawldedup.errors import StoreError
from crawldedup.verdict import Kind
from tests.crawls import CrawlOutcome, Judged, crawl_settings, run_crawl
from tests.scrapy_plugin.prepared import prepared_demo_crawls
from tests.servers import RedisServer

# Pages 0..44 come before the fault, 45..104 while it lasts, 105..164 until the store is used again, the others after.
BEGIN, END, AGAIN, PAGES = 45, 105, 165, 225
COPIES = 3
OLD_CONTENTS = range(10)
"""The contents that come before the fault and again, at other URLs, as the last pages of all."""
_AT_ONCE: Final = 4
# So long a page waits for the store to be used again; see `Site`. Together they outlast a pause of the circuit breaker.
_PATIENCE_SECONDS: Final = 0.3
# So long the fault waits for the pages before it, which are not to be disturbed.
_PATIENCE_OF_SITE_SECONDS: Final = 20.0
_EXTRACTOR: Final = "text"
_NAMESPACE: Final = "faults"


def content_of(number: int) -> int:
    """Which content a page shows: that of its two neighbours, or, at the end, one that came before the fault."""
    first_again = PAGES - COPIES * len(OLD_CONTENTS)
    return number // COPIES if number < first_again else OLD_CONTENTS[(number - first_again) // COPIES]


def words_of(content: int) -> list[str]:
    rng = random.Random(content)
    return ["".join(rng.choices("abcdeghiklmnoprstu", k=rng.randint(3, 9))) for _ in range(120)]


def text_of(number: int) -> str:
    """Of the three pages of a content two have the same text, and one has another word in it."""
    words = words_of(content_of(number))
    if number % COPIES == COPIES - 1:
        words[60] = "otherwise"
    return " ".join(words)


def html_of(number: int) -> bytes:
    return f"<!DOCTYPE html><html><head><title>Page</title></head><body><p>{text_of(number)}</p></body></html>".encode()


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


class Site:
    """Pages that are asked for in order. It brings the fault about, and waits for the store to be used again.

    The fault begins when all but the last pages before it were judged, whatever order their answers came in.

    Only a page that is judged shows that the store is in use, and the circuit breaker looks after it now and then only:
    so the pages between the fault and the rest come slowly until one of them was judged.
    """

    name = "faults"

    def __init__(self, fault: Fault, world: World) -> None:
        self._fault = fault
        self._world = world
        self._lock = threading.Lock()
        self._has_begun = self._is_over = False
        self._unsettled = set(range(BEGIN - COPIES))
        self._is_settled = threading.Event()
        self._is_used_again = threading.Event()
        self.start_paths = [f"/{number}" for number in range(PAGES)]

    def reply(self, target: str) -> Reply:
        if target not in self.start_paths:
            return NOT_FOUND
        number = number_of(target)
        if number >= BEGIN:
            # One of the pages that are crawled at once may be far behind the others on a busy machine.
            self._is_settled.wait(_PATIENCE_OF_SITE_SECONDS)
        with self._lock:
            self._disturb(number)
        if END <= number < AGAIN:
            self._is_used_again.wait(_PATIENCE_SECONDS)
        return Reply(html_of(number))

    def on_event(self, event: Judged | str) -> None:
        number = number_of(event if isinstance(event, str) else event.url)
        if isinstance(event, Judged) and number >= END:
            self._is_used_again.set()
        self._unsettled.discard(number)
        if not self._unsettled:
            self._is_settled.set()

    def _disturb(self, number: int) -> None:
        if number >= BEGIN and not self._has_begun:
            self._has_begun = True
            self._fault.begin(self._world, number)
        if BEGIN <= number < END and not self._is_over:
            self._fault.each(self._world, number)
        if number >= END and not self._is_over:
            self._is_over = True
            self._fault.end(self._world, number)


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
# One crawl shows that the plugin copes; what each fault does to it is a matter of length.
NAMES = [pytest.param(name, marks=pytest.mark.nightly if number else ()) for number, name in enumerate(FAULTS)]


@dataclass(frozen=True)
class Result:
    """A crawl, and the index it left: how many pages, and the copies of each page that is found in it."""

    outcome: CrawlOutcome
    pages: int
    copies: dict[int, int]
    cuts: int

    @property
    def delivered(self) -> list[int]:
        return [number_of(url) for url in self.outcome.kept]

    @property
    def dropped(self) -> dict[int, int]:
        """The dropped pages, each with its original."""
        return {number_of(page.url): number_of(page.original or "") for page in self.outcome.judged if page.dropped}

    @property
    def admitted(self) -> set[int]:
        """Pages that were judged and not found. One whose answer was lost and asked for again is its own revisit."""
        return {number_of(page.url) for page in self.outcome.judged if page.kind in (Kind.NEW, Kind.REVISIT)}

    @property
    def unjudged(self) -> set[int]:
        return set(range(PAGES)) - {number_of(page.url) for page in self.outcome.judged}

    def stats_below(self, prefix: str) -> dict[str, int]:
        stats = self.outcome.stats
        return {name.removeprefix(prefix): stats[name] for name in stats if name.startswith(prefix)}


def crawl_under(fault: Fault) -> Result:
    with RedisServer(*fault.options) as server, CuttingProxy(server.port) as proxy:
        site = Site(fault, World(server, proxy))
        settings = crawl_settings(
            proxy.url if fault.proxied else server.url,
            _NAMESPACE,
            CRAWLDEDUP_EXTRACTOR=_EXTRACTOR,
            CONCURRENT_REQUESTS=_AT_ONCE,
            CRAWLDEDUP_WORKERS=1,
            # Scrapy's own second tries would hide a page that is lost.
            RETRY_ENABLED=False,
        )
        with serving(site.reply) as base_url:
            urls = [base_url + path for path in site.start_paths]
            outcome = run_crawl(urls, settings, on_event=site.on_event)
        with Deduplicator(server.url, namespace=_NAMESPACE, extractor=_EXTRACTOR) as dedup:
            found = [match for number in range(PAGES) for match in dedup.find(html=html_of(number))]
            copies = {number_of(match.url): match.copies for match in found}
            return Result(outcome, dedup.info().pages, copies, proxy.cuts)


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest) -> Iterator[dict[str, Future[Result]]]:
    """The crawls of the tests that were chosen. Most of their time they wait, so some run side by side."""
    chosen = [item for item in request.session.items if isinstance(item, pytest.Function) and item.path == request.path]
    names = dict.fromkeys(str(item.callspec.params["name"]) for item in chosen if hasattr(item, "callspec"))
    with prepared_demo_crawls(), ThreadPoolExecutor(3) as pool:
        yield {name: pool.submit(crawl_under, FAULTS[name]) for name in names}
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("name", NAMES)
def test_a_fault_costs_no_page_and_no_second_verdict(name: str, results: dict[str, Future[Result]]) -> None:
    fault, result = FAULTS[name], results[name].result()
    outcome = result.outcome
    assert outcome.reason == "finished"

    # Every page is delivered, once, or dropped for one of its content that was delivered.
    assert sorted([*result.delivered, *result.dropped]) == list(range(PAGES))
    for page, original in result.dropped.items():
        assert original in result.delivered
        assert content_of(original) == content_of(page)

    # Every page has one verdict, or is counted as an error.
    assert len(outcome.judged) == PAGES - len(result.unjudged) == outcome.stats["crawldedup/checked"]
    errors = result.stats_below("crawldedup/error/")
    assert errors.keys() == fault.errors
    assert sum(errors.values()) == len(result.unjudged)
    assert not result.stats_below("crawldedup/skipped/")
    assert outcome.stats["downloader/response_count"] == PAGES

    # The gap is as long as the fault and what it takes to look again, and then the store is in use.
    assert result.unjudged <= set(range(BEGIN - COPIES, AGAIN))
    assert ("the store answers again" in outcome.log) == bool(fault.errors)

    # Before and after the gap, each content is delivered once.
    undisturbed = [page for page in result.delivered if page < BEGIN - COPIES or page >= AGAIN]
    times_delivered = Counter(map(content_of, undisturbed))
    if fault.forgets:
        times_delivered.subtract(OLD_CONTENTS)
    assert set(times_delivered.values()) == {1}


@pytest.mark.parametrize("name", NAMES)
def test_the_index_after_a_fault_is_whole(name: str, results: dict[str, Future[Result]]) -> None:
    fault, result = FAULTS[name], results[name].result()
    # What is counted is found, and what is found was delivered.
    assert result.pages == len(result.copies)
    assert result.copies.keys() <= set(result.delivered)

    if fault.forgets:
        assert {page for page in result.admitted if page >= END} <= result.copies.keys()
        assert min(result.copies) >= BEGIN
        return
    assert result.admitted <= result.copies.keys()
    remembered_unjudged = len(result.copies.keys() - result.admitted)
    lost_answers = len(result.unjudged) if fault.unsure else 0
    assert remembered_unjudged <= lost_answers
    # A duplicate whose answer was lost was counted, and is counted again if it is asked for again.
    counted, told = sum(result.copies.values()), len(result.dropped)
    assert told - (0 if fault.counts else _AT_ONCE) <= counted <= told + lost_answers


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
