"""A proxy that answers anything to everything: every method says so, and takes nothing for an answer."""

from __future__ import annotations

import socketserver
import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest

from crawldedup.errors import ConfigurationError, StoreError
from crawldedup.stores.base import Retention
from crawldedup.stores.redis.errors import UnexpectedReplyError
from crawldedup.stores.redis.protocol import unpacked
from crawldedup.stores.redis.replies import validate_reply
from crawldedup.stores.registry import make_store
from tests.stores.pages import LAYOUT, query, random_page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crawldedup.stores.base import Query, Store

REPLIES = {
    "OK": b"+OK\r\n",
    "a number": b":1\r\n",
    "nothing": b"$-1\r\n",
    "an empty list": b"*0\r\n",
    "a list of a number": b"*1\r\n:5\r\n",
    "a list of texts": b"*5\r\n$3\r\nnew\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nd\r\n",
    "a short record": b"*5\r\n$4\r\nnear\r\n:0\r\n:1\r\n:1\r\n$3\r\nabc\r\n",
}


class Answering(socketserver.StreamRequestHandler):
    """Reads commands and answers each by the server's one reply."""

    def handle(self) -> None:
        while line := self.rfile.readline():
            for _ in range(int(line[1:])):
                size = int(self.rfile.readline()[1:])
                self.rfile.read(size + 2)
            self.wfile.write(self.server.reply)  # type: ignore[attr-defined]


@pytest.fixture(params=REPLIES)
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Answering) as server:
        server.daemon_threads = True
        server.reply = REPLIES[request.param]  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def a_query() -> Query:
    return query(random_page(np.random.default_rng(1)), "https://example.com/")


METHODS: dict[str, Callable[[Store], object]] = {
    "open": lambda store: store.open(),
    "open_read_only": lambda store: store.open_read_only(),
    "check_and_add": lambda store: store.check_and_add(a_query()),
    "check_many": lambda store: list(store.check_many([a_query(), a_query()])),
    "find": lambda store: store.find(a_query()),
    "prune": lambda store: list(store.prune(Retention(ttl_seconds=9, max_pages=1))),
    "records": lambda store: list(store.records()),
}


# Those that are told one number take any for it: `forget`, `clear` and `heartbeat` are not asked here.
@pytest.mark.parametrize("method", METHODS)
def test_what_is_no_answer_is_an_error_of_the_store(address: str, method: str) -> None:
    store = make_store(f"redis://{address}/0", LAYOUT)
    with pytest.raises(StoreError, match="does not answer as Redis does"):
        METHODS[method](store)
    store.close()


@pytest.mark.parametrize("url", ["redis+sentinel://{}/mymaster", "redis+cluster://{}"])
def test_nor_do_sentinels_and_clusters_end_in_an_error_of_ours(address: str, url: str) -> None:
    store = make_store(url.format(address), LAYOUT)
    # Sentinels that answer with an empty list know no service: that is for the settings to mend.
    with pytest.raises((StoreError, ConfigurationError)):
        store.check_and_add(a_query())
    store.close()


@pytest.mark.parametrize(
    ("script", "answer"),
    [
        ("check", [b"seen", 0, 1, 1, None]),
        ("check", [b"new", 0, 1, 1]),
        ("find", [b"found", 5]),
        ("join", [b"lost"]),
        ("load", [b"loaded", b"1"]),
        ("prune", [1, 2, 3]),
        ("forget", b"OK"),
        ("clear", None),
        ("look", b"OK"),
    ],
)
def test_a_script_gives_answers_of_its_own_kind_only(script: str, answer: object) -> None:
    with pytest.raises(UnexpectedReplyError, match=script):
        validate_reply(script, answer)


def test_what_is_too_short_is_no_record() -> None:
    with pytest.raises(UnexpectedReplyError):
        unpacked(bytes(40), LAYOUT)
