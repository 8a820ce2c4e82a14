"""The clients return and raise the same as a Deduplicator."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import httpx
import pytest

from crawldedup import Deduplicator, Page, PageError, StoreError, Verdict, compare
from crawldedup.client import AsyncClient, Client, ServiceError
from crawldedup.errors import ConfigurationError, KeyMismatchError, StoreUnavailableError
from crawldedup.stores.sqlite.store import MemoryStore
from tests.servers import free_port
from tests.service.serving import TIDES, service_here, story

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
    """The address of a service with an empty index in memory, whose clock doesn't move."""
    monkeypatch.setattr(MemoryStore.__init__, "__kwdefaults__", {"clock": lambda: 1e9})
    monkeypatch.setenv("CRAWLDEDUP_TOKEN", TOKEN)
    with service_here(paragraphs="mark", key=9) as started:
        yield started.url


def told(verdict: Verdict) -> tuple[Any, ...]:
    """What does not hang on the key of the index."""
    return (
        verdict.kind,
        verdict.url,
        verdict.original,
        verdict.words,
        verdict.copies,
        verdict.changed,
        verdict.coverage,
    )


def test_answers_are_those_of_a_deduplicator(url: str) -> None:
    pair = Page("", text=TIDES), Page("", html=f"<p>{TIDES} Amen.</p>")
    known = f"<article><p>{story(7)}</p><p>{TIDES}</p></article>"
    with Client(url, token=TOKEN) as client, Deduplicator(paragraphs="mark", key=9) as dedup:
        assert list(map(told, client.check_many(PAGES, batch=4))) == list(
            map(told, dedup.check_many(PAGES))
        )
        for page in (
            {"text": f"{TIDES} Amen."},
            {"html": known},
            {"text": TIDES, "fingerprint": None},
        ):
            ours, theirs = (each.check("https://b.example/1", **page) for each in (client, dedup))
            assert told(ours) == told(theirs)
            read, expected = (
                each.check_with_text("https://b.example/1", **page) for each in (client, dedup)
            )
            assert told(read.verdict) == told(expected.verdict)
            assert (read.text, read.name) == (expected.text, expected.name)
            assert read.text
        for page in ({"text": TIDES}, {"html": known}):
            assert client.find(**page) == dedup.find(**page)
            assert client.explain("https://b.example/2", **page) == dedup.explain(
                "https://b.example/2", **page
            )
        assert client.compare(*pair) == compare(*pair, key=9)
        for each in (client, dedup):
            each.check("https://b.example/4", text=story(4), identity="four")
            assert each.forget("x", identity="four") == 1
        assert client.info()["pages"] == dedup.info().pages
        made = dedup.fingerprint(text=TIDES)
        assert client.check("https://b.example/3", fingerprint=made).is_duplicate
        assert client.forget(made) == dedup.forget(made) > 0


def test_large_pages_are_sent_in_smaller_batches(url: str) -> None:
    """A page that no batch can hold is unreadable, and the others get their verdicts."""
    large = [
        Page(f"https://a.example/{number}", html=f"<p>{story(number)}".encode() + b" " * 3_000_000)
        for number in range(5)
    ]
    too_large = Page("https://a.example/huge", html=b"<p>" + b" " * 7_000_000)
    pages = [*large, too_large, *PAGES[:2]]
    unreadable: list[tuple[Page, str]] = []

    def note(page: Page, error: PageError) -> None:
        unreadable.append((page, error.reason))

    with Client(url, token=TOKEN) as client:
        verdicts = list(client.check_many(pages, on_unreadable=note))
        with pytest.raises(PageError, match="8,388,608 bytes"):
            client.check(too_large.url, html=too_large.html)
    assert [verdict.url for verdict in verdicts] == [page.url for page in [*large, *PAGES[:2]]]
    assert unreadable == [(too_large, "too_large")]

    async def check_all() -> list[str]:
        async with AsyncClient(url, token=TOKEN) as client:
            found = client.check_many(pages, on_unreadable=note)
            return [verdict.kind async for verdict in found]

    assert asyncio.run(check_all()) == ["revisit"] * len(verdicts)


def test_the_asynchronous_one_does_the_same(url: str) -> None:
    async def main() -> None:
        async with AsyncClient(url, token=TOKEN) as client:
            verdicts = [verdict async for verdict in client.check_many(PAGES, batch=4)]
            assert list(map(told, verdicts)) == list(
                map(told, Deduplicator(paragraphs="mark").check_many(PAGES))
            )
            assert (await client.check("https://c.example/7", text=story(7))).kind == "new"
            checked = await client.check_with_text("https://c.example/7", text=story(7))
            assert (checked.verdict.kind, checked.text) == ("revisit", story(7))
            assert (await client.find(text=story(7)))[0].url == "https://c.example/7"
            assert (await client.explain("x", text=story(7))).verdict.is_duplicate
            assert await client.forget("https://c.example/7") == 1
            assert (await client.info())["namespace"] == "default"

    asyncio.run(main())


def test_errors_are_those_of_a_deduplicator(url: str) -> None:
    foreign = Deduplicator(key=7).fingerprint(text=TIDES)
    with Client(url, token=TOKEN) as client:
        for kind, said, page in (
            (PageError, "empty", {"html": ""}),
            (ConfigurationError, "did you mean 'similarity'", {"text": "a", "simlarity": 0.9}),
            (KeyMismatchError, "key", {"fingerprint": foreign}),
        ):
            with pytest.raises(kind, match=said):
                client.check("u", **page)
        with pytest.raises(ConfigurationError, match="batch"):
            list(client.check_many(PAGES, batch=0))
        pages, skipped = (
            [PAGES[0], Page("https://d.example/", html=""), PAGES[1]],
            list[tuple[str, str]](),
        )
        verdicts = client.check_many(
            pages, on_unreadable=lambda page, error: skipped.append((page.url, error.reason))
        )
        assert [verdict.kind for verdict in verdicts] == ["new", "exact_duplicate"]
        assert skipped == [("https://d.example/", "empty")]
        iterator = client.check_many(pages)
        assert next(iterator).kind == "revisit"
        with pytest.raises(PageError):
            next(iterator)
    with Client(url) as client, pytest.raises(ServiceError, match="Authorization") as refused:
        client.info()
    assert refused.value.status == 401
    with (
        Client(f"http://127.0.0.1:{free_port()}") as client,
        pytest.raises(StoreError, match="does not answer"),
    ):
        client.info()


BUSY = b'{"type": "urn:crawldedup:busy", "status": 503, "detail": "busy", "retry_after": 0}'
NEW = b'{"kind": "new", "url": "u"}'
HALF = b"[" + NEW + b',{"url": "u", "problem": ' + BUSY + b"}]"
PAIR = [Page("u", text="a"), Page("v", text="b")]


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[tuple[int, bytes]]]:
    """A function that takes what a service answers, one after the other, and returns the list of
    what is left.
    """

    def answer(*answers: tuple[int, bytes]) -> list[tuple[int, bytes]]:
        left = list(answers)
        transport = httpx.MockTransport(
            lambda _: httpx.Response(left[0][0], content=left.pop(0)[1])
        )
        monkeypatch.setattr(Client, "_transport", partial(httpx.Client, transport=transport))
        return left

    return answer


def test_patience_outlasts_a_busy_service_and_ends(answering: Any) -> None:
    left = answering((503, BUSY), (502, b"<html>"), (200, NEW), (503, BUSY))
    assert Client(patience_seconds=5).check("u", text="a").kind == "new"
    with pytest.raises(StoreUnavailableError, match="busy"):
        Client().check("u", text="a")
    assert left == []


def test_only_pages_that_were_not_decided_are_sent_again(answering: Any) -> None:
    answering((200, HALF), (200, b"[" + NEW + b"]"), (200, HALF))
    assert [verdict.kind for verdict in Client(patience_seconds=5).check_many(PAIR)] == [
        "new",
        "new",
    ]
    verdicts = Client().check_many(PAIR)
    assert next(verdicts).kind == "new"
    with pytest.raises(StoreUnavailableError):
        next(verdicts)


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"kind": "odd", "url": "u"}', b"null", b"\xff"]
)
def test_another_server_is_told_from_a_service(answering: Any, body: bytes) -> None:
    answering((200, body))
    with pytest.raises(ServiceError, match="without saying what is wrong"):
        Client().check("u", text="a")


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("localhost:8080", ": write http://localhost:8080$"),
        ("127.0.0.1:8080/", ": write http://127.0.0.1:8080$"),
        ("//localhost:8080", ": write http://localhost:8080$"),
        ("ftp://localhost:8080", "url is 'ftp://localhost:8080'; it must be the address"),
        ("http://[::1", "such as http://localhost:8300 \\(Invalid port"),
        ("me:secret@a.example:8080", ": write http://\\*{3}@a.example:8080$"),
        ("http://", "url is 'http://'; it must be the address"),
        ("", "url is ''; it must be the address"),
    ],
)
def test_an_address_that_never_answers_is_refused_at_once(
    kind: type[Client | AsyncClient], address: str, said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        kind(address, patience_seconds=60)
