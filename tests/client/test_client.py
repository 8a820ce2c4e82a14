"""The clients: what they return is what a Deduplicator returns, and they raise what it raises."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from crawldedup import Deduplicator, Page, PageError, StoreError, Verdict, compare
from crawldedup.client import AsyncClient, Client, ServiceError
from crawldedup.errors import ConfigurationError, KeyMismatchError, StoreUnavailableError
from tests.servers import RedisServer, free_port
from tests.service.serving import BREAD, TIDES, ServiceProcess, story

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKEN = "a-token-of-the-tests"
PAGES = [
    Page("https://a.example/1", text=TIDES),
    Page("https://a.example/2", html=f"<p>{TIDES}</p>"),
    Page("https://a.example/3", html=f"<p>{BREAD} é</p>".encode("latin-1"), encoding="latin-1"),
    Page("https://a.example/4", text=f"{BREAD} é", rank=3, identity="bread", similarity=0.8),
    Page("https://a.example/1", text=TIDES),
    Page("https://a.example/5", text="few words"),
]


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as started:
        yield started


@pytest.fixture(scope="module")
def service(server: RedisServer) -> Iterator[ServiceProcess]:
    with ServiceProcess("--store", server.url, CRAWLDEDUP_TOKEN=TOKEN) as started:
        yield started


@pytest.fixture
def empty(server: RedisServer, service: ServiceProcess) -> ServiceProcess:
    server.client.flushall()
    return service


def told(verdict: Verdict) -> tuple[Any, ...]:
    """What does not hang on the key of the index."""
    return verdict.kind, verdict.url, verdict.original, verdict.words, verdict.copies, verdict.changed


def test_verdicts_are_those_of_a_deduplicator(empty: ServiceProcess) -> None:
    with Client(empty.url, token=TOKEN) as client, Deduplicator() as dedup:
        assert list(map(told, client.check_many(PAGES, batch=4))) == list(map(told, dedup.check_many(PAGES)))
        longer = TIDES + " Amen."
        ours, theirs = (each.check("https://b.example/1", text=longer) for each in (client, dedup))
        assert told(ours) == told(theirs)
        assert [match.url for match in client.find(text=BREAD)] == [match.url for match in dedup.find(text=BREAD)]
        why, too = (each.explain("https://b.example/2", text=TIDES) for each in (client, dedup))
        assert told(why.verdict) == told(too.verdict)
        assert [each.match.url for each in why.candidates] == [each.match.url for each in too.candidates]
        pair = Page("", text=TIDES), Page("", html=f"<p>{TIDES} Amen.</p>")
        assert client.compare(*pair) == compare(*pair)
        assert client.forget("x", identity="bread") == dedup.forget("x", identity="bread")
        assert client.info()["pages"] == dedup.info().pages
        with Deduplicator(
            empty.http.get("/v1/info", headers={"authorization": f"Bearer {TOKEN}"}).json()["store"]
        ) as own:
            made = own.fingerprint(text=TIDES)
        assert client.check("https://b.example/3", fingerprint=made).is_duplicate
        assert client.forget(made) == 1


def test_the_asynchronous_one_does_the_same(empty: ServiceProcess) -> None:
    async def main() -> None:
        async with AsyncClient(empty.url, token=TOKEN) as client:
            verdicts = [verdict async for verdict in client.check_many(PAGES, batch=4)]
            assert list(map(told, verdicts)) == list(map(told, Deduplicator().check_many(PAGES)))
            both = await asyncio.gather(*(client.check(f"https://c.example/{n}", text=story(n)) for n in range(50)))
            assert {verdict.kind for verdict in both} == {"new"}
            assert (await client.find(text=story(7)))[0].url == "https://c.example/7"
            assert (await client.explain("x", text=story(7))).verdict.is_duplicate
            assert await client.forget("https://c.example/7") == 1
            assert (await client.info())["namespace"] == "default"

    asyncio.run(main())


def test_errors_are_those_of_a_deduplicator(empty: ServiceProcess) -> None:
    with Client(empty.url, token=TOKEN) as client:
        with pytest.raises(PageError, match="empty") as raised:
            client.check("u", html="")
        assert raised.value.reason == "empty"
        with pytest.raises(ConfigurationError, match="one of html, text and fingerprint"):
            client.check("u")
        with pytest.raises(ConfigurationError, match="did you mean 'similarity'"):
            client.check("u", text="a", simlarity=0.9)
        with pytest.raises(ConfigurationError, match="of length <= 8192"):
            client.check("u" * 8193, text="a")
        with pytest.raises(KeyMismatchError):
            client.check("u", fingerprint=Deduplicator(key=7).fingerprint(text=TIDES))
        pages = [PAGES[0], Page("https://d.example/", html=""), PAGES[1]]
        skipped: list[str] = []
        verdicts = client.check_many(
            pages, on_unreadable=lambda page, error: skipped.append(f"{page.url} {error.reason}")
        )
        assert [verdict.kind for verdict in verdicts] == ["new", "exact_duplicate"]
        assert skipped == ["https://d.example/ empty"]
        iterator = client.check_many(pages)
        assert next(iterator).kind == "revisit"
        with pytest.raises(PageError):
            next(iterator)
    with Client(empty.url) as client, pytest.raises(ServiceError, match="Authorization") as refused:
        client.info()
    assert refused.value.status == 401
    with Client(f"http://127.0.0.1:{free_port()}") as client, pytest.raises(StoreError, match="does not answer"):
        client.info()


class Moody(BaseHTTPRequestHandler):
    """Is busy, then behind a proxy that fails, then answers."""

    answers: list[tuple[int, bytes]]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        status, body = self.answers.pop(0)
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def moody() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Moody) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


BUSY = b'{"type": "urn:crawldedup:busy", "status": 503, "detail": "busy", "retry_after": 0}'
NEW = b'{"kind": "new", "url": "u"}'


def test_patience_outlasts_a_busy_service_and_ends(moody: str) -> None:
    Moody.answers = [(503, BUSY), (502, b"<html>"), (200, NEW), (503, BUSY)]
    with Client(moody, patience_seconds=5) as client:
        assert client.check("u", text="a").kind == "new"
    with Client(moody) as client, pytest.raises(StoreUnavailableError, match="busy"):
        client.check("u", text="a")
    assert not Moody.answers


def test_only_pages_that_were_not_decided_are_sent_again(moody: str) -> None:
    failed = b'{"url": "u", "problem": ' + BUSY + b"}"
    Moody.answers = [(200, b"[" + NEW + b"," + failed + b"]"), (200, b"[" + NEW + b"]")]
    pages = [Page("u", text="a"), Page("v", text="b")]
    with Client(moody, patience_seconds=5) as client:
        assert [verdict.kind for verdict in client.check_many(pages)] == ["new", "new"]
    Moody.answers = [(200, b"[" + NEW + b"," + failed + b"]")]
    with Client(moody) as client:
        verdicts = client.check_many(pages)
        assert next(verdicts).kind == "new"
        with pytest.raises(StoreUnavailableError):
            next(verdicts)


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"kind": "odd", "url": "u"}', b"null", b"\xff"])
def test_another_server_is_told_from_a_service(moody: str, body: bytes) -> None:
    Moody.answers = [(200, body)]
    with Client(moody) as client, pytest.raises(ServiceError, match="no problem of its own"):
        client.check("u", text="a")


@pytest.mark.parametrize("size", [0, -1])
def test_a_batch_of_no_pages_is_refused_and_loses_none(size: int) -> None:
    with Client("http://localhost:9") as client, pytest.raises(ConfigurationError, match="batch"):
        list(client.check_many([Page("https://a.example/", text="A text")], batch=size))


def test_a_client_does_without_what_reads_pages() -> None:
    loaded = "[name for name in sys.modules if name in ('crawldedup.page', 'crawldedup.deduplicator', 'selectolax')]"
    code = f"import sys, crawldedup.client; sys.exit(str({loaded} or ''))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr == "\n"
