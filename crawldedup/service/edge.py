"""The edge of the service: who may ask, how much, and for how long; and a line of log and figures for each request."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import logging
import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from email.message import Message
from functools import lru_cache
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.types import Message as Event

from crawldedup.service import metrics
from crawldedup.service.problems import ProblemError, busy, problem_of
from crawldedup.service.settings import ServiceSettings

_log: Final = logging.getLogger(__name__)

_OPEN: Final = ("/health/live", "/health/ready", "/openapi.json")
_READING: Final = ("GET", "HEAD", "OPTIONS")
_MOST_HELD: Final = 256 << 20
"""Bytes of bodies that are dealt with at the same time."""
_LONGEST_TYPE: Final = 256
"""Letters of a content type: to read one takes quadratic time."""
_OWN_SITES: Final = ("same-origin", "none")


def reply(value: object, status: int = 200) -> Response:
    """Return an answer in JSON."""
    # ASCII: what comes from pages may hold halves of surrogate pairs.
    return Response(json.dumps(value), status, media_type="application/json")


def refusal(_: Request, error: Exception) -> Response:
    """Return the answer to a request that failed."""
    problem = problem_of(error)
    return Response(json.dumps(problem.as_dict()), problem.status, problem.all_headers())


class Edge:
    """ASGI middleware: asks for a token, keeps other sites' pages out, measures, and logs.

    `paths` are those for programs, and `pages` those for browsers.
    """

    def __init__(
        self, app: ASGIApp, settings: ServiceSettings, bodies: Bodies, paths: Collection[str], pages: Collection[str]
    ) -> None:
        self._app = app
        self._paths = {*paths, *pages}
        self._pages = pages
        self._host = settings.host
        self._tokens = [token.encode() for token in settings.tokens]
        self._bodies = bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 500

        async def sending(message: Event) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            if (problem := self._refusal(scope)) is None:
                await self._app(scope, receive, sending)
            else:
                answer = Response(json.dumps(problem.as_dict()), problem.status, problem.all_headers())
                await answer(scope, receive, sending)
        finally:
            self._bodies.release(scope)
            self._note(scope, status, time.perf_counter() - begun)

    def _refusal(self, scope: Scope) -> ProblemError | None:
        """Return the problem of a request that nobody may send, or not this client."""
        if scope["path"] in _OPEN:
            return None
        headers = dict(scope["headers"])
        try:
            if not self._tokens:
                require_own_host([value for name, value in scope["headers"] if name == b"host"], self._host)
            elif not self._is_allowed(headers):
                detail = "give the token of the service in a header: Authorization: Bearer TOKEN"
                kind = 'Basic realm="crawldedup"' if scope["path"] in self._pages else "Bearer"
                asked = {"www-authenticate": kind, "connection": "close"}
                return ProblemError("unauthorized", 401, detail, headers=asked)
            # A link may lead to a page, and to nothing else.
            if scope["method"] not in _READING or scope["path"] not in self._pages:
                require_own_page(headers)
        except ProblemError as problem:
            return problem
        return None

    def _is_allowed(self, headers: Mapping[bytes, bytes]) -> bool:
        kind, _, token = headers.get(b"authorization", b"").partition(b" ")
        if kind.lower() == b"basic":
            token = _password(token)
        # Each is compared, and whole: time tells nothing.
        fits = [hmac.compare_digest(token.strip(), each) for each in self._tokens]
        return kind.lower() in (b"bearer", b"basic") and any(fits)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        # Others are as many as clients like.
        endpoint = scope["path"] if scope["path"] in self._paths else "other"
        metrics.REQUESTS.labels(endpoint, status).inc()
        metrics.REQUEST_SECONDS.labels(endpoint).observe(seconds)
        level = logging.DEBUG if scope["path"] in _OPEN else logging.INFO if status < 500 else logging.WARNING
        if _log.isEnabledFor(level):
            client = scope.get("client")
            fields = {
                "method": scope["method"],
                "path": scope["path"],
                "status": status,
                "milliseconds": round(seconds * 1000, 2),
                "client": client[0] if client else None,
            }
            _log.log(level, "request", extra={"fields": fields})


def _password(credentials: bytes) -> bytes:
    """Return the password that a browser has asked for. The name beside it may be any."""
    try:
        return base64.b64decode(credentials.strip(), validate=True).partition(b":")[2]
    except ValueError:
        return b""


class Bodies:
    """Takes the bodies of requests: not too large, not too slow, and not too many at the same time."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._most = settings.max_body
        self._seconds = settings.client_seconds
        self._held = 0

    async def take(self, request: Request) -> bytes:
        """Return the body of a request. Raises ProblemError."""
        size = self._expected(request)
        if self._held + size > _MOST_HELD:
            raise busy("too many large requests are dealt with")
        self._held += size
        request.scope["crawldedup.held"] = size
        parts: list[bytes] = []
        taken = 0
        try:
            async with asyncio.timeout(self._seconds):
                async for part in request.stream():
                    taken += len(part)
                    if taken > self._most:
                        raise self._too_large()
                    parts.append(part)
        except TimeoutError:
            detail = f"the request was not there after {self._seconds:g} s: send faster, or smaller parts"
            raise ProblemError("too-slow", 408, detail, headers={"connection": "close"}) from None
        return b"".join(parts)

    def release(self, scope: Scope) -> None:
        """Note that a request is done with."""
        self._held -= scope.get("crawldedup.held", 0)

    def _too_large(self) -> ProblemError:
        detail = f"the body may have {self._most:,} bytes: send less, or set --max-body higher"
        return ProblemError("too-large", 413, detail, headers={"connection": "close"})

    def _expected(self, request: Request) -> int:
        declared = request.headers.get("content-length", "")
        size = int(declared) if declared.isdecimal() else self._most
        if size > self._most:
            raise self._too_large()
        return size


# What follows keeps web pages from using the service through the browser of somebody who may: nothing else would stop
# them. A page of any site can make the browser send a form to this machine. A name of its own that it has moved to this
# machine (DNS rebinding) even lets it read the answer.


def require_own_host(hosts: Iterable[bytes], own: str) -> None:
    """Raise ProblemError for a request to a name that anyone could have given this machine."""
    if not all(not each or _is_own(each.decode("latin-1"), own) for each in hosts):
        detail = (
            "the Host of the request is not this machine: ask for localhost or the address given as --host, or give "
            "the service a token (CRAWLDEDUP_TOKEN), with which it takes any name"
        )
        raise ProblemError("misdirected", 421, detail, headers={"connection": "close"})


def require_own_page(headers: Mapping[bytes, bytes]) -> None:
    """Raise ProblemError for a request that a page of another site has made a browser send."""
    site, origin = (headers.get(name, b"").decode("latin-1") for name in (b"sec-fetch-site", b"origin"))
    host = headers.get(b"host", b"").decode("latin-1")
    # Browsers send the first to this machine and over TLS only, and no page can forge it.
    if site in _OWN_SITES if site else not origin or origin.partition("://")[2].lower() == host.lower():
        return
    detail = (
        "a page of another site sent this request through a browser: send it from a page of the service, or from a "
        "program that sends neither Sec-Fetch-Site nor Origin; a proxy before the service must pass Host on"
    )
    raise ProblemError("cross-site", 403, detail, headers={"connection": "close"})


def _is_own(given: str, own: str) -> bool:
    host = None
    with suppress(ValueError):
        host = urlsplit(f"//{given}").hostname
    if host in ("localhost", own.lower()):
        return True
    with suppress(ValueError):
        return ip_address(host or "").is_loopback
    return False


def media_type(header: str) -> tuple[str, str | None]:
    """Return the media type that a header declares, and its charset, if any. Raises ProblemError."""
    if len(header) > _LONGEST_TYPE:
        raise ProblemError("media-type", 415, f"the content type has more than {_LONGEST_TYPE} letters")
    return _media_type(header)


@lru_cache(maxsize=64)
def _media_type(header: str) -> tuple[str, str | None]:
    declared = Message()
    declared["content-type"] = header
    return declared.get_content_type(), declared.get_content_charset()
