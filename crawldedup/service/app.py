"""One process of the service: what uvicorn calls, and the edge that each request passes."""

import asyncio
import base64
import contextlib
import hmac
import json
import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from prometheus_client import Gauge, Histogram

from crawldedup.aio import AsyncDeduplicator
from crawldedup.errors import CrawlDedupError
from crawldedup.scope import site_of
from crawldedup.service.command import VARIABLE, ServiceSettings, is_this_machine, log_to_stderr
from crawldedup.service.console import PAGES
from crawldedup.service.endpoints import ENDPOINTS, METRICS_ROUTE
from crawldedup.service.metrics import METRICS, counter
from crawldedup.service.openapi import OPENAPI_ROUTE
from crawldedup.service.problems import ProblemError, problem_of
from crawldedup.service.routes import Answer, Route, Scope
from crawldedup.stores.contract import CrawlSession

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_MOST_HELD: Final = 256 << 20  # bytes of bodies that are dealt with at the same time
_MOST_WAITING: Final = 2_000  # pages
_CLOSE: Final = {"connection": "close"}
_HINT: Final = (
    "there is no such path, or it takes another method: /openapi.json lists those there are"
)
_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_log: Final = logging.getLogger(__name__)

REQUESTS: Final = counter(
    "crawldedup_requests", "Requests answered, by endpoint and status.", ["endpoint", "status"]
)
REQUEST_SECONDS: Final = Histogram(
    "crawldedup_request_seconds",
    "From first bytes to the answer.",
    ["endpoint"],
    registry=METRICS,
    buckets=_BUCKETS,
)
INDEX_PAGES: Final = Gauge(
    "crawldedup_index_pages",
    "About how many pages the index holds.",
    registry=METRICS,
    multiprocess_mode="mostrecent",
)


def make_app() -> "Edge":
    """Return the application, with the settings and the session that the parent process left."""
    values, session, tokens = json.loads(Path(os.environ[VARIABLE]).read_text("utf-8"))
    settings = ServiceSettings(**values)
    log_to_stderr(settings.log_level)
    if parent := multiprocessing.parent_process():
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    return Edge(settings, CrawlSession(*session), tokens)


def _end_with(parent: multiprocessing.process.BaseProcess) -> None:
    """End this worker as a signal does when its parent was killed, even while this one started:
    nobody else would.
    """
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


async def _nothing(*_: object) -> Answer:
    raise ProblemError("not-found", 404, _HINT)


_ROUTES: Final = {route.path: route for route in (*ENDPOINTS, OPENAPI_ROUTE, METRICS_ROUTE, *PAGES)}
_ELSEWHERE: Final = Route("other", _nothing, methods=())


class Edge:
    """One process: asks for a token, keeps other sites' pages out, bounds bodies, answers requests,
    and logs.
    """

    def __init__(
        self,
        settings: ServiceSettings,
        session: CrawlSession | None = None,
        tokens: Sequence[str] | None = None,
    ) -> None:
        self._settings = settings
        self._session = session  # without one that is shared, it works as a crawler of its own
        tokens = settings.tokens if tokens is None else tokens
        self._tokens = [token.encode() for token in tokens]
        self._dedup = AsyncDeduplicator.from_options(settings, workers=settings.readers)
        # Three pages of HTML that one reader gives back: clients go on meanwhile.
        self._dedup.gathering_seconds = 0.015
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        begun, body = time.perf_counter(), bytearray()
        method, path, headers = scope["method"], scope["path"], dict(scope["headers"])
        # Other paths are as many as clients like.
        route = _ROUTES.get(path, _ELSEWHERE)
        entry: dict[str, Any] = {"method": method, "path": path[:500]}
        try:
            self._check_sender(scope, headers, route)
            if route.methods and method not in route.methods:
                raise ProblemError(
                    "method", 405, _HINT, headers={"allow": ", ".join(route.methods)}
                )
            if method == "POST":
                await self._take(receive, headers.get(b"content-length", b""), body)
            answer = await route.respond(self._dedup, scope, bytes(body))
        except Exception as error:
            refusal = problem_of(error)
            entry["problem"] = refusal.problem.detail
            answer = refusal.answer()
        finally:
            self._held -= len(body)
        sent = {"content-length": str(len(answer.body)), **answer.headers}
        start = {
            "status": answer.status,
            "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
        }
        await send({"type": "http.response.start", **start})
        await send({"type": "http.response.body", "body": answer.body})
        seconds = time.perf_counter() - begun
        REQUESTS.labels(route.path, answer.status).inc()
        REQUEST_SECONDS.labels(route.path).observe(seconds)
        INDEX_PAGES.set(self._dedup.pages)
        entry |= {"status": answer.status, "milliseconds": round(seconds * 1000, 2)}
        entry["client"] = (scope.get("client") or [None])[0]
        level = (
            logging.DEBUG
            if route.is_open
            else logging.INFO
            if answer.status < 500
            else logging.WARNING
        )
        _log.log(level, "request", extra={"fields": entry})

    async def _live(self, receive: Receive, send: Send) -> None:
        """Open the index when the server starts, and close it when all requests are answered."""
        await receive()
        try:
            await self._dedup.open(self._session)
            # The first page would wait for all that is imported and read once.
            await self._dedup.explain(
                site_of("https://www.example.com/"), text=" ".join(map(str, range(200)))
            )
        except CrawlDedupError as error:
            # Requests try again.
            _log.warning("the store cannot be opened yet", extra={"fields": {"error": str(error)}})
        await send({"type": "lifespan.startup.complete"})
        await receive()
        # The process that shares a session leaves when all are done.
        await self._dedup.close(leave=self._session is None)
        await send({"type": "lifespan.shutdown.complete"})

    def _check_sender(self, scope: Scope, headers: Mapping[bytes, bytes], route: Route) -> None:
        """Raise ProblemError for a request that nobody may send, or not this client."""
        if b"content-length" in headers and b"transfer-encoding" in headers:
            # A proxy that goes by the length would take the rest for the next request.
            detail = "give either Content-Length or Transfer-Encoding, not both"
            raise ProblemError("invalid", 400, detail, headers=_CLOSE)
        if route.is_open:
            return
        if not self._tokens:
            require_own_host(headers.get(b"host", b""), self._settings.host)
        elif not self._is_allowed(headers.get(b"authorization", b"")):
            detail = "give the token of the service in a header: Authorization: Bearer TOKEN"
            kind = 'Basic realm="crawldedup"' if route.is_page else "Bearer"
            raise ProblemError(
                "unauthorized", 401, detail, headers={"www-authenticate": kind, **_CLOSE}
            )
        # A link may lead to a page, and to nothing else.
        if not route.is_page or scope["method"] not in ("GET", "HEAD", "OPTIONS"):
            require_own_page(headers)

    def _is_allowed(self, authorization: bytes) -> bool:
        kind, _, token = authorization.partition(b" ")
        if kind.lower() == b"basic":
            # A browser has asked for it as a password. The name beside it may be any.
            credentials, token = token, b""
            with contextlib.suppress(ValueError):
                token = base64.b64decode(credentials.strip(), validate=True).partition(b":")[2]
        # Each is compared, and whole: time tells nothing.
        fits = [hmac.compare_digest(token.strip(), each) for each in self._tokens]
        return kind.lower() in (b"bearer", b"basic") and any(fits)

    async def _take(self, receive: Receive, declared: bytes, body: bytearray) -> None:
        """Take the body of a request as it comes.

        Raises ProblemError for one too large, too slow or too many.
        """
        seconds, has_end = self._settings.client_seconds, declared.isdigit()
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
            detail = f"the request was not there after {seconds:g} s: send faster, or smaller parts"
            raise ProblemError("too-slow", 408, detail, headers=_CLOSE) from None

    def _check_size(self, size: int, *, ends: bool) -> None:
        if size > self._settings.max_body:
            detail = (
                f"the body may have {self._settings.max_body:,} bytes: send less, or set "
                "--max-body higher"
            )
            # Most clients look for no answer while they send, so what has an end is still taken
            # from them.
            raise ProblemError(
                "too-large", 413, detail, headers={} if ends and size <= _MOST_HELD else _CLOSE
            )
        if self._held > _MOST_HELD or self._dedup.waiting >= _MOST_WAITING:
            detail = "too many pages or large requests wait: try again later, or start more workers"
            raise ProblemError("busy", 503, detail, retry_after=1)


# What follows keeps web pages from using the service through the browser of somebody who may:
# nothing else would stop them. A page of any site can make the browser send a form to this machine.
# A name of its own that it has moved to this machine (DNS rebinding) even lets it read the answer.


def require_own_host(host: bytes, own: str) -> None:
    """Raise ProblemError for a request to a name that anyone could have given this machine."""
    with contextlib.suppress(ValueError):
        name = urlsplit(f"//{host.decode('latin-1')}").hostname or ""
        if not host or name == own.lower() or is_this_machine(name):
            return
    detail = (
        "the Host of the request is not this machine: ask for localhost or the address given as "
        "--host, or give the service a token (CRAWLDEDUP_TOKEN), with which it takes any name"
    )
    raise ProblemError("misdirected", 421, detail, headers=_CLOSE)


def require_own_page(headers: Mapping[bytes, bytes]) -> None:
    """Raise ProblemError for a request that a page of another site has made a browser send."""
    site, origin, host = (
        headers.get(name, b"").decode("latin-1") for name in (b"sec-fetch-site", b"origin", b"host")
    )
    # Browsers send the first to this machine and over TLS only, and no page can forge it.
    if (
        site in ("same-origin", "none")
        if site
        else not origin or origin.partition("://")[2].lower() == host.lower()
    ):
        return
    detail = (
        "a page of another site sent this request through a browser: send it from a page of the "
        "service, or from a program that sends neither Sec-Fetch-Site nor Origin; a proxy before "
        "the service must pass Host on"
    )
    raise ProblemError("cross-site", 403, detail, headers=_CLOSE)
