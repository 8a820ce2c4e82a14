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
from tests.servers import free_port
from tests.service.serving import TIDES, service_here, story

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKEN = "a-token-of-the-tests"
PAGES = [
    Page("https://a.example/1", text=TIDES),
    Page("https://a.example/2", html=f"<p>{TIDES}</p>"),
    Page("https://a.example/3", html=f"<p>{story(1)} é</p>".encode("latin-1"), encoding="latin-1"),
    Page("https://a.example/4", text=f"{story(1)} é", rank=3, identity="four", similarity=0.8),
    Page("https://a.example/1", text=TIDES),
    Page("https://a.example/5", text="few words"),
]


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a service with an empty index in memory."""
    monkeypatch.setenv("CRAWLDEDUP_TOKEN", TOKEN)
    with service_here() as started:
        yield started.url


def told(verdict: Verdict) -> tuple[Any, ...]:
    """What does not hang on the key of the index."""
    return verdict.kind, verdict.url, verdict.original, verdict.words, verdict.copies, verdict.changed


def test_answers_are_those_of_a_deduplicator(url: str) -> None:
    pair = Page("", text=TIDES), Page("", html=f"<p>{TIDES} Amen.</p>")
    with Client(url, token=TOKEN) as client, Deduplicator() as dedup:
        assert list(map(told, client.check_many(PAGES, batch=4))) == list(map(told, dedup.check_many(PAGES)))
        near, also_near = (each.check("https://b.example/1", text=f"{TIDES} Amen.") for each in (client, dedup))
        assert told(near) == told(also_near)
        assert [match.url for match in client.find(text=TIDES)] == [match.url for match in dedup.find(text=TIDES)]
        why, also_why = (each.explain("https://b.example/2", text=TIDES) for each in (client, dedup))
        assert told(why.verdict) == told(also_why.verdict)
        assert [each.match.url for each in why.candidates] == [each.match.url for each in also_why.candidates]
        assert client.compare(*pair) == compare(*pair)
        assert client.forget("x", identity="four") == dedup.forget("x", identity="four")
        assert client.info()["pages"] == dedup.info().pages
        made = dedup.fingerprint(text=TIDES)
        assert client.check("https://b.example/3", fingerprint=made).is_duplicate
        assert client.forget(made) == 1


def test_the_asynchronous_one_does_the_same(url: str) -> None:
    async def main() -> None:
        async with AsyncClient(url, token=TOKEN) as client:
            verdicts = [verdict async for verdict in client.check_many(PAGES, batch=4)]
            assert list(map(told, verdicts)) == list(map(told, Deduplicator().check_many(PAGES)))
            many = await asyncio.gather(*(client.check(f"https://c.example/{n}", text=story(n)) for n in range(2, 50)))
            assert {verdict.kind for verdict in many} == {"new"}
            assert (await client.find(text=story(7)))[0].url == "https://c.example/7"
            assert (await client.explain("x", text=story(7))).verdict.is_duplicate
            assert await client.forget("https://c.example/7") == 1
            assert (await client.info())["namespace"] == "default"

    asyncio.run(main())


def test_errors_are_those_of_a_deduplicator(url: str) -> None:
    with Client(url, token=TOKEN) as client:
        with pytest.raises(PageError, match="empty") as raised:
            client.check("u", html="")
        assert raised.value.reason == "empty"
        with pytest.raises(ConfigurationError, match="did you mean 'similarity'"):
            client.check("u", text="a", simlarity=0.9)
        with pytest.raises(KeyMismatchError):
            client.check("u", fingerprint=Deduplicator(key=7).fingerprint(text=TIDES))
        pages = [PAGES[0], Page("https://d.example/", html=""), PAGES[1]]
        skipped: list[tuple[str, str]] = []
        verdicts = client.check_many(pages, on_unreadable=lambda page, error: skipped.append((page.url, error.reason)))
        assert [verdict.kind for verdict in verdicts] == ["new", "exact_duplicate"]
        assert skipped == [("https://d.example/", "empty")]
        iterator = client.check_many(pages)
        assert next(iterator).kind == "revisit"
        with pytest.raises(PageError):
            next(iterator)
        with pytest.raises(ConfigurationError, match="batch"):
            list(client.check_many(PAGES, batch=0))
    with Client(url) as client, pytest.raises(ServiceError, match="Authorization") as refused:
        client.info()
    assert refused.value.status == 401
    with Client(f"http://127.0.0.1:{free_port()}") as client, pytest.raises(StoreError, match="does not answer"):
        client.info()


class Moody(BaseHTTPRequestHandler):
    """Gives the next of its answers."""

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


@pytest.fixture(scope="module")
def moody() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Moody) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


BUSY = b'{"type": "urn:crawldedup:busy", "status": 503, "detail": "busy", "retry_after": 0}'
NEW = b'{"kind": "new", "url": "u"}'
HALF = b"[" + NEW + b',{"url": "u", "problem": ' + BUSY + b"}]"


def test_patience_outlasts_a_busy_service_and_ends(moody: str) -> None:
    Moody.answers = [(503, BUSY), (502, b"<html>"), (200, NEW), (503, BUSY)]
    with Client(moody, patience_seconds=5) as client:
        assert client.check("u", text="a").kind == "new"
    with Client(moody) as client, pytest.raises(StoreUnavailableError, match="busy"):
        client.check("u", text="a")
    assert not Moody.answers


def test_only_pages_that_were_not_decided_are_sent_again(moody: str) -> None:
    pages = [Page("u", text="a"), Page("v", text="b")]
    Moody.answers = [(200, HALF), (200, b"[" + NEW + b"]"), (200, HALF)]
    with Client(moody, patience_seconds=5) as client:
        assert [verdict.kind for verdict in client.check_many(pages)] == ["new", "new"]
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


def test_a_client_does_without_what_reads_pages() -> None:
    loaded = "[name for name in sys.modules if name in ('crawldedup.page', 'crawldedup.deduplicator', 'selectolax')]"
    code = f"import sys, crawldedup.client; sys.exit(str({loaded} or ''))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr == "\n"
