"""The edge of the service: who may ask, how much, and for how long; and a line of log and figures for each request."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import logging
import time
from email.message import Message
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from starlette.responses import Response

from crawldedup.service import metrics
from crawldedup.service.console.guards import require_own_host, require_own_page
from crawldedup.service.problems import ProblemError, busy, problem_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send
    from starlette.types import Message as Event

    from crawldedup.service.settings import ServiceSettings

_log: Final = logging.getLogger(__name__)

_OPEN: Final = ("/health/live", "/health/ready", "/openapi.json")
_READING: Final = ("GET", "HEAD", "OPTIONS")
_MOST_HELD: Final = 256 << 20
"""Bytes of bodies that are dealt with at the same time."""
_MOST_CLIENTS: Final = 10_000


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
        self.most = settings.max_body
        self.seconds = settings.client_seconds
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
            async with asyncio.timeout(self.seconds):
                async for part in request.stream():
                    taken += len(part)
                    if taken > self.most:
                        raise self.too_large()
                    parts.append(part)
        except TimeoutError:
            raise too_slow(self.seconds) from None
        return b"".join(parts)

    def release(self, scope: Scope) -> None:
        """Note that a request is done with."""
        self._held -= scope.get("crawldedup.held", 0)

    def too_large(self) -> ProblemError:
        """Return the problem of a body, or a line of a stream, that is too large."""
        detail = f"the body, or a line of a stream, may have {self.most:,} bytes: send less, or set --max-body higher"
        return ProblemError("too-large", 413, detail, headers={"connection": "close"})

    def _expected(self, request: Request) -> int:
        declared = request.headers.get("content-length", "")
        size = int(declared) if declared.isdecimal() else self.most
        if size > self.most:
            raise self.too_large()
        return size


def too_slow(seconds: float) -> ProblemError:
    """Return the problem of a client that does not send."""
    detail = f"the request was not there after {seconds:g} s: send faster, or smaller parts"
    return ProblemError("too-slow", 408, detail, headers={"connection": "close"})


class RateLimit:
    """Counts the pages of each client: so many a second, with a second's worth at once, and debts for large requests.

    Each worker process counts for itself.
    """

    def __init__(self, pages_per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = pages_per_second
        self._clock = clock
        self._paid_until: dict[str, float] = {}

    def seconds_to_wait(self, scope: Scope, pages: int) -> float:
        """Count pages, and return 0; or count nothing, and return in how many seconds to ask again."""
        if not self._rate:
            return 0
        now, client = self._clock(), (scope.get("client") or ("",))[0]
        paid_until = max(self._paid_until.pop(client, 0), now - 1)
        wait = max(0.0, paid_until - now)
        # The one that asked last stands last, so the first have asked for nothing for the longest.
        self._paid_until[client] = paid_until if wait else paid_until + pages / self._rate
        if len(self._paid_until) > _MOST_CLIENTS:
            del self._paid_until[next(iter(self._paid_until))]
        return wait

    async def wait(self, scope: Scope, pages: int) -> None:
        """Count pages as soon as the client may check them."""
        while seconds := self.seconds_to_wait(scope, pages):
            await asyncio.sleep(seconds)

    def require(self, scope: Scope, pages: int = 1) -> None:
        """Count pages. Raises ProblemError if the client must wait."""
        if wait := self.seconds_to_wait(scope, pages):
            detail = f"this client may check {self._rate:g} pages a second"
            raise ProblemError("too-many", 429, detail, retry_after=max(1, round(wait + 0.5)))


@lru_cache(maxsize=64)
def media_type(header: str) -> tuple[str, str | None]:
    """Return the media type that a header declares, and its charset, if any."""
    declared = Message()
    declared["content-type"] = header
    return declared.get_content_type(), declared.get_content_charset()
