"""No URL leads the service where the operator did not allow it to go."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from crawldedup.errors import ConfigurationError, CrawlDedupError, PageError
from crawldedup.service.console.fetching import Fetcher, check_hosts
from crawldedup.service.problems import ProblemError
from tests.service.console.site import Site, serving

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawldedup.page import Page

ADDRESSES = {
    "inside.example.com": ["10.0.0.7"],
    "loop.example.com": ["127.0.0.1", "::1"],
    "mapped.example.com": ["::ffff:127.0.0.1"],
    "nat.example.com": ["64:ff9b::7f00:1"],
    "cloud.example.com": ["169.254.169.254"],
    "many.example.com": ["224.0.0.1"],
}


def fetched(url: str, *hosts: str, most: int = 20_000, seconds: float = 20) -> Page:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return ADDRESSES.get(host, ["127.0.0.1"])

    return asyncio.run(Fetcher(hosts, most=most, seconds=seconds, resolve=resolve).page(url))


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://other.example/", "other.example:443 may not"),
        ("https://example.com.evil.example/", "may not"),
        ("https://evilexample.com/", "may not"),
        ("https://below.exact.example/", "may not"),
        ("https://exact.example:8080/", "exact.example:8080 may not"),
        ("http://ported.example/", "ported.example:80 may not"),
        ("http://127.0.0.1/", "127.0.0.1:80 may not"),
        ("http://[::1]/", "::1:80 may not"),
        ("http://2130706433/", "may not"),
        ("https://user:secret@exact.example/", "no user"),
        ("https://exact.example@evil.example/", "no user"),
        ("http://evil.example\\@exact.example/", "no user"),
        ("file:///etc/passwd", "http://"),
        ("gopher://exact.example/", "http://"),
        ("https://exact.example:99999/", "http://"),
        ("https:///path", "may not"),
        *((f"http://{host}/", "no public address") for host in ADDRESSES),
    ],
)
def test_other_places_are_refused(url: str, said: str) -> None:
    with pytest.raises(ProblemError, match=said) as raised:
        fetched(url, "exact.example", "*.example.com", "ported.example:8080")
    assert raised.value.status == 403


def test_without_a_host_fetching_is_off() -> None:
    with pytest.raises(ProblemError, match="--fetch-host"):
        fetched("https://example.com/")


@pytest.mark.parametrize("host", ["", "*", "*.", "*example.com", "a.*.com", "user@a.com", "a.com/x", "a.com:x", "[::1"])
def test_what_names_no_host_is_refused(host: str) -> None:
    with pytest.raises(ConfigurationError, match="--fetch-host"):
        check_hosts([host])


def test_an_allowed_page_is_fetched_from_the_address_that_was_checked(port: int) -> None:
    page = fetched(f"http://site.example:{port}/a b\tc?q=ü#x", f"site.example:{port}")
    assert (page.html, page.encoding) == (b"<p>a page</p>", "latin-1")
    path, headers = Site.asked[-1]
    assert (path, headers["host"]) == ("/a%20bc?q=%C3%BC", f"site.example:{port}")
    assert headers.keys() == {"host", "user-agent", "accept", "accept-encoding", "connection"}
    assert fetched(f"http://site.example:{port}/text", f"site.example:{port}").text == "<p>a page</p>"


def test_redirects_are_followed_to_allowed_places_alone(port: int) -> None:
    allowed = f"site.example:{port}"
    assert fetched(f"http://{allowed}/to?/page", allowed).url == f"http://{allowed}/page"
    with serving() as other:
        before = len(Site.asked)
        for target in (f"http://127.0.0.1:{other}/", f"//site.example:{other}/", "file:///etc/passwd"):
            with pytest.raises(ProblemError):
                fetched(f"http://{allowed}/to?{target}", allowed)
        assert len(Site.asked) == before + 3


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("loop", "more than 5 times"),
        ("large", "more than 20,000 bytes"),
        ("gone", "status 404"),
        ("packed", "compressed"),
        ("short", "too early"),
        ("slow", "within 0.5 s"),
        ("plain", "SSL"),
    ],
)
def test_what_cannot_be_fetched_is_said(port: int, path: str, said: str) -> None:
    scheme = "https" if path == "plain" else "http"
    with pytest.raises(PageError, match=said):
        fetched(f"{scheme}://site.example:{port}/{path}", f"site.example:{port}", seconds=0.5 if path == "slow" else 20)


def test_what_is_no_http_is_said() -> None:
    async def nonsense() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"SSH-2.0-OpenSSH_9.2\r\n")
            writer.close()

        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            await Fetcher([f"127.0.0.1:{port}"], most=1000, seconds=20).page(f"http://127.0.0.1:{port}/")

    with pytest.raises(CrawlDedupError, match="cannot be fetched"):
        asyncio.run(nonsense())
