"""The web application that runs in each process of the service, on uvicorn.

It validates requests (token, host, method and size) before it passes them to their endpoints.
"""

import asyncio
import json
import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from pathlib import Path
from typing import Any, Final

from crawldedup.aio import AsyncDeduplicator
from crawldedup.errors import CrawlDedupError
from crawldedup.scope import site_of
from crawldedup.service.access import Doorkeeper
from crawldedup.service.bodies import coding_of, too_large, unpacked
from crawldedup.service.command import VARIABLE, ServiceSettings, log_to_stderr
from crawldedup.service.console import PAGES
from crawldedup.service.endpoints import ENDPOINTS, METRICS_ROUTE
from crawldedup.service.metrics import INDEX_PAGES, note_request
from crawldedup.service.openapi import DOCS_ROUTE, OPENAPI_ROUTE
from crawldedup.service.problems import CLOSE, ProblemError, problem_of
from crawldedup.service.routes import Answer, Route, Scope
from crawldedup.service.tokens import Tokens
from crawldedup.stores.contract import CrawlSession

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_MOST_HELD: Final = 256 << 20  # the most bytes of bodies that are processed at the same time
_MOST_WAITING: Final = 2_000  # the most pages that wait for their verdicts
_PACKED_HERE: Final = 4_096  # bodies of up to this many bytes are decompressed in the event loop
_NO_PATH: Final = "this path does not exist: /openapi.json lists all paths"
_log: Final = logging.getLogger(__name__)


def make_app() -> "Edge":
    """Make the application, with the settings and the session from the parent process."""
    shared = json.loads(Path(os.environ[VARIABLE]).read_text("utf-8"))
    settings = ServiceSettings(**shared["settings"])
    log_to_stderr(settings.log_level)
    if parent := multiprocessing.parent_process():
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    return Edge(settings, CrawlSession(*shared["session"]), Tokens(**shared["tokens"]))


def _end_with(parent: multiprocessing.process.BaseProcess) -> None:
    """End this worker as a signal would if its parent was killed, even while it's starting.

    Nothing else would end it.
    """
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


async def _nothing(*_: object) -> Answer:
    raise ProblemError("not-found", 404, _NO_PATH)


# No cache may keep an answer, and no browser may guess another type for it.
_ALWAYS: Final = {"x-content-type-options": "nosniff", "cache-control": "no-store"}

_ROUTES: Final = {
    route.path: route for route in (*ENDPOINTS, OPENAPI_ROUTE, DOCS_ROUTE, METRICS_ROUTE, *PAGES)
}


def routes() -> list[Route]:
    """Return all routes of the service: its paths and the functions that answer them."""
    return list(_ROUTES.values())


_ELSEWHERE: Final = Route("other", _nothing, methods=())


class Edge:
    """The application of one process.

    It requires a token, keeps out pages of other sites, limits bodies, answers requests, and logs.
    """

    def __init__(
        self,
        settings: ServiceSettings,
        session: CrawlSession | None = None,
        tokens: Tokens | None = None,
    ) -> None:
        self._settings = settings
        self._session = session  # without a shared session, it works as a separate crawler
        self._doorkeeper = Doorkeeper(settings.tokens if tokens is None else tokens, settings.host)
        self._dedup = AsyncDeduplicator.from_options(settings, workers=settings.readers)
        # Wait for about three pages of HTML from one reader. Other clients continue meanwhile.
        self._dedup.gathering_seconds = 0.015
        # Clients who send the next request right after an answer share a batch.
        self._dedup.wait_for_returning(0.003)
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, as ASGI defines. This also starts and stops the application."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        begun = time.perf_counter()
        # Clients can make up any number of other paths.
        route = _ROUTES.get(scope["path"], _ELSEWHERE)
        problem = None
        body = bytearray()
        try:
            answer = await self._answer(route, scope, receive, body)
        except Exception as error:
            refusal = problem_of(error)
            problem = refusal.problem.detail
            answer = refusal.answer()
        finally:
            self._held -= len(body)
        sent = {"content-length": str(len(answer.body)), **_ALWAYS, **answer.headers}
        start = {
            "status": answer.status,
            "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
        }
        await send({"type": "http.response.start", **start})
        await send({"type": "http.response.body", "body": answer.body})
        seconds = time.perf_counter() - begun
        note_request(route.path, answer.status, seconds)
        INDEX_PAGES.set(self._dedup.pages)
        _log_request(scope, route, answer.status, seconds, problem)

    async def _answer(
        self, route: Route, scope: Scope, receive: Receive, body: bytearray
    ) -> Answer:
        """Check a request, receive its body, and have its endpoint answer it.

        Raises ProblemError for a request that is refused, and the errors of the endpoint.
        """
        headers = dict(scope["headers"])
        try:
            self._doorkeeper.check(scope, headers, route)
        except ProblemError as refusal:
            if _has_known_end(headers):
                # Most clients don't read an answer while they send, so the body is received and
                # discarded.
                refusal.headers.pop("connection", None)
            raise
        if route.methods and scope["method"] not in route.methods:
            detail = f"{route.path} takes another method: {' or '.join(route.methods)}"
            allowed = {"allow": ", ".join(route.methods)}
            raise ProblemError("method", 405, detail, headers=allowed)
        if scope["method"] == "POST":
            coding = coding_of(scope["headers"])
            await self._take(receive, headers.get(b"content-length", b""), body)
            if coding:
                await self._unpack(body, coding)
        return await route.respond(self._dedup, scope, bytes(body))

    async def _live(self, receive: Receive, send: Send) -> None:
        """Open the index when the server starts, and close it when all requests are answered."""
        await receive()
        try:
            await self._dedup.open(self._session)
            # Otherwise, the first page would have to wait for all imports and tables.
            await self._dedup.explain(
                site_of("https://www.example.com/"), text=" ".join(map(str, range(200)))
            )
        except CrawlDedupError as error:
            # Requests try again.
            _log.warning("the store cannot be opened yet", extra={"fields": {"error": str(error)}})
        await send({"type": "lifespan.startup.complete"})
        await receive()
        # With a shared session, the parent process leaves the crawl when all are done.
        await self._dedup.close(leave=self._session is None)
        await send({"type": "lifespan.shutdown.complete"})

    async def _take(self, receive: Receive, declared: bytes, body: bytearray) -> None:
        """Receive the body of a request.

        Raises ProblemError if it's too large or too slow, or if there are too many.
        """
        seconds = self._settings.client_seconds
        has_end = declared.isdigit()
        self._check_size(int(declared) if has_end else 0, ends=True)
        message: Message = {"more_body": True}
        try:
            async with asyncio.timeout(seconds):
                while message.get("more_body"):
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ProblemError("gone", 400, "the client left")
                    part = message.get("body", b"")
                    body += part
                    self._held += len(part)
                    self._check_size(len(body), ends=has_end)
        except TimeoutError:
            detail = (
                f"the request did not arrive within {seconds:g} s: send it faster, or in smaller "
                "parts"
            )
            raise ProblemError("too-slow", 408, detail, headers=CLOSE) from None

    async def _unpack(self, body: bytearray, coding: str) -> None:
        """Decompress the body of a request in place. Raises ProblemError."""
        packed = bytes(body)
        most = self._settings.max_body
        if len(packed) <= _PACKED_HERE:
            content = unpacked(packed, coding, most)
        else:
            # Otherwise, other requests would have to wait for a few milliseconds.
            content = await asyncio.to_thread(unpacked, packed, coding, most)
        self._held += len(content) - len(body)
        body[:] = content

    def _check_size(self, size: int, *, ends: bool) -> None:
        if size > self._settings.max_body:
            # Most clients don't read an answer while they send, so a body with a known end is still
            # received from them.
            raise too_large(self._settings.max_body, closes=not ends or size > _MOST_HELD)
        if self._held > _MOST_HELD or self._dedup.waiting >= _MOST_WAITING:
            detail = (
                "too many pages or large requests are waiting: try again later, or start more "
                "workers"
            )
            raise ProblemError("busy", 503, detail, retry_after=1)


def _has_known_end(headers: Mapping[bytes, bytes]) -> bool:
    """Return whether the rest of a request can be received and dropped.

    It can if the declared length of its body isn't too long.
    """
    length = headers.get(b"content-length", b"")
    if b"transfer-encoding" in headers or not length.isdigit():
        return False
    return int(length) <= _MOST_HELD


def _log_request(
    scope: Scope, route: Route, status: int, seconds: float, problem: str | None
) -> None:
    """Log a request after it was answered. Health checks are only logged at DEBUG."""
    level = logging.INFO
    if route.is_open:
        level = logging.DEBUG
    elif status >= 500:
        level = logging.WARNING
    if not _log.isEnabledFor(level):
        return
    entry: dict[str, Any] = {"method": scope["method"], "path": scope["path"][:500]}
    if problem is not None:
        entry["problem"] = problem
    entry |= {"status": status, "milliseconds": round(seconds * 1000, 2)}
    entry["client"] = (scope.get("client") or [None])[0]
    _log.log(level, "request", extra={"fields": entry})
