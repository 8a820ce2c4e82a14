"""Fetch a page from a host that the operator allows, and from no other: the service may reach more than its users.

An allowed host may be at any address, for the operator has named it. Those of a wildcard, which others may run, must be
at a public one. What was checked is the address that is connected to, so a name cannot move in between. httptools reads
the answer, and all is one task of the event loop: at its time limit everything ends, however slowly a host answers.
"""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass, field
from email.message import Message
from functools import cache
from ipaddress import IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Final, NamedTuple, Self
from urllib.parse import SplitResult, quote, urljoin, urlsplit

import httptools

from crawldedup import __version__
from crawldedup.errors import ConfigurationError, PageError
from crawldedup.page import Page
from crawldedup.service.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Sequence

    Resolve = Callable[[str, int], Coroutine[None, None, Sequence[str]]]

_PORTS: Final = {"http": 80, "https": 443}
_MOST_REDIRECTS: Final = 5
_MOST_HEAD: Final = 64 << 10
_CHUNK: Final = 64 << 10
# They stand for addresses of IPv4, which may be private.
_EMBEDDING: Final = tuple(map(ip_network, ("2002::/16", "64:ff9b::/96", "::/96", "2001::/32")))


class _Allowed(NamedTuple):
    """One host that may be asked, or with `is_wildcard` all below it; without a port at the usual two."""

    host: str
    port: int | None
    is_wildcard: bool

    @classmethod
    def of(cls, given: str) -> Self:
        name = given.removeprefix("*") if given.startswith("*.") else given
        try:
            parts = urlsplit(f"//{name.removeprefix('.')}")
            host, port = _ascii(parts.hostname or ""), parts.port
        except ValueError:
            host = ""
        if not host or parts.path or parts.query or "@" in parts.netloc or "*" in host:
            raise ConfigurationError(
                f"--fetch-host is {given!r}; it must be a host, such as example.com, localhost:8000 or *.example.com"
            )
        return cls(host, port, name.startswith("."))

    def has(self, host: str, port: int) -> bool:
        is_at_port = port in _PORTS.values() if self.port is None else port == self.port
        return is_at_port and (host.endswith(f".{self.host}") if self.is_wildcard else host == self.host)


class _Place(NamedTuple):
    parts: SplitResult
    host: str
    port: int
    needs_public: bool


def _headers() -> Message:
    headers = Message()
    headers.set_default_type("text/html")
    return headers


@dataclass(slots=True)
class _Answer:
    """What httptools tells of an answer."""

    most: int
    headers: Message = field(default_factory=_headers)
    body: bytearray = field(default_factory=bytearray)
    is_whole: bool = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode("latin-1")] = value.decode("latin-1")

    def on_body(self, part: bytes) -> None:
        self.body += part
        if len(self.body) > self.most:
            raise OverflowError

    def on_message_complete(self) -> None:
        self.is_whole = True


async def resolved(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=1)
    return [str(address[0]) for *_, address in found]


def check_hosts(hosts: Iterable[str]) -> None:
    """Raise ConfigurationError for what names no host."""
    for host in hosts:
        _Allowed.of(host)


class Fetcher:
    """Fetches pages from the hosts that are allowed."""

    def __init__(self, hosts: Iterable[str], *, most: int, seconds: float, resolve: Resolve = resolved) -> None:
        self._allowed = [_Allowed.of(host) for host in hosts]
        self._most = most
        self._seconds = seconds
        self._resolve = resolve

    async def page(self, url: str) -> Page:
        """Return the page at a URL. Raises PageError, and ProblemError for a place that is not allowed."""
        try:
            async with asyncio.timeout(self._seconds):
                for _ in range(_MOST_REDIRECTS + 1):
                    place = self._place(url)
                    status, answer = await self._asked(place)
                    if status not in (301, 302, 303, 307, 308) or "location" not in answer.headers:
                        return _page(url, status, answer)
                    url = urljoin(url, answer.headers["location"])
        except TimeoutError:
            raise PageError("unreachable", f"the URL did not answer within {self._seconds:g} s") from None
        # A name that is too long for the domain name system is a UnicodeError.
        except (OSError, EOFError, UnicodeError, httptools.HttpParserError) as error:
            raise PageError("unreachable", f"the URL cannot be fetched: {str(error) or type(error).__name__}") from None
        raise PageError("unreachable", f"the URL redirects more than {_MOST_REDIRECTS} times")

    def _place(self, url: str) -> _Place:
        """Return where a URL leads. Raises ProblemError unless that is allowed."""
        if not self._allowed:
            raise _forbidden("fetching URLs is off: paste the page's HTML, or start the service with --fetch-host HOST")
        try:
            parts = urlsplit(url)
            usual = _PORTS[parts.scheme]
            host, port = _ascii(parts.hostname or ""), parts.port or usual
        except (ValueError, KeyError):
            raise _forbidden("a URL to fetch begins with http:// or https:// and a host") from None
        if "@" in parts.netloc:
            raise _forbidden("a URL to fetch has no user and no password")
        fitting = [each for each in self._allowed if each.has(host, port)]
        if not fitting:
            raise _forbidden(f"{host[:200]}:{port} may not be fetched from: the operator allows it by --fetch-host")
        return _Place(parts, host, port, all(each.is_wildcard for each in fitting))

    async def _asked(self, place: _Place) -> tuple[int, _Answer]:
        addresses = await self._resolve(place.host, place.port)
        if place.needs_public:
            addresses = list(filter(_is_public, addresses))
            if not addresses:
                raise _forbidden(f"{place.host[:200]} is at no public address: the operator may name it without a *")
        secure = place.parts.scheme == "https"
        reader, writer = await asyncio.open_connection(
            addresses[0],
            place.port,
            ssl=_context() if secure else None,
            server_hostname=place.host if secure else None,
        )
        try:
            writer.write(_request(place))
            return await self._answer(reader)
        finally:
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader) -> tuple[int, _Answer]:
        answer = _Answer(self._most)
        parser = httptools.HttpResponseParser(answer)
        taken = 0
        try:
            while not answer.is_whole and (part := await reader.read(_CHUNK)):
                taken += len(part)
                if taken > _MOST_HEAD and not answer.body:
                    raise OverflowError
                parser.feed_data(part)
        except (OverflowError, httptools.HttpParserCallbackError):
            raise PageError("too_large", f"the page at the URL has more than {self._most:,} bytes") from None
        if not taken:
            raise EOFError("it gave no answer")
        if not answer.is_whole and any(map(answer.headers.__contains__, ("content-length", "transfer-encoding"))):
            raise EOFError("it ended too early")
        return parser.get_status_code(), answer


def _page(url: str, status: int, answer: _Answer) -> Page:
    if status != 200:
        raise PageError("unreachable", f"the URL answers with status {status}")
    if answer.headers.get("content-encoding", "identity").lower() != "identity":
        raise PageError("unreachable", "the URL answers with compressed content, which was not asked for")
    charset = answer.headers.get_content_charset()
    if answer.headers.get_content_type() != "text/plain":
        return Page(url, html=bytes(answer.body), encoding=charset)
    try:
        return Page(url, text=answer.body.decode(charset or "utf-8", "replace"))
    except LookupError:
        return Page(url, text=answer.body.decode("utf-8", "replace"))


def _request(place: _Place) -> bytes:
    path = quote(place.parts.path or "/", safe="/%:=&~+!$,;'@()*[]")
    query = f"?{quote(place.parts.query, safe='/%:=&~+!$,;@()*[]?')}" if place.parts.query else ""
    name = f"[{place.host}]" if ":" in place.host else place.host
    port = "" if _PORTS[place.parts.scheme] == place.port else f":{place.port}"
    head = f"GET {path}{query} HTTP/1.1\r\nHost: {name}{port}\r\nUser-Agent: crawldedup/{__version__}\r\n"
    return f"{head}Accept: text/html, */*;q=0.5\r\nAccept-Encoding: identity\r\nConnection: close\r\n\r\n".encode()


def _is_public(address: str) -> bool:
    ip = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv6Address):
        if ip.ipv4_mapped is not None:
            ip = ip.ipv4_mapped
        elif any(ip in network for network in _EMBEDDING):
            return False
    return ip.is_global and not ip.is_multicast


def _ascii(host: str) -> str:
    """Return a host as it is looked up. Raises UnicodeError."""
    return host if host.isascii() and host.count(":") else host.rstrip(".").encode("idna").decode().lower()


@cache
def _context() -> ssl.SSLContext:
    return ssl.create_default_context()


def _forbidden(detail: str) -> ProblemError:
    return ProblemError("fetching", 403, detail)
