"""One process of the service: what uvicorn calls, and the edge that each request passes.

The edge says who may ask, how much, and for how long. It answers errors, and leaves a line of log and figures.
"""

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
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from prometheus_client import generate_latest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crawldedup import wire
from crawldedup.aio import AsyncDeduplicator
from crawldedup.errors import CrawlDedupError
from crawldedup.names import site_of
from crawldedup.service import watching
from crawldedup.service.command import VARIABLE, ServiceSettings, is_this_machine
from crawldedup.service.console import PAGES
from crawldedup.service.endpoints import ENDPOINTS, JSON, OPEN, ProblemError, problem_of
from crawldedup.service.openapi import description
from crawldedup.stores.base import CrawlSession

_GATHERING_SECONDS: Final = 0.015
"""Three pages of HTML that one reader gives back: clients go on meanwhile, as a crawl would not."""
_MOST_HELD: Final = 256 << 20  # bytes of bodies that are dealt with at the same time
_MOST_WAITING: Final = 2_000  # pages
_LONGEST_PATH: Final = 500  # in the log
_CLOSE: Final = {"connection": "close"}
_log: Final = logging.getLogger(__name__)


def make_app() -> Starlette:
    """Return the application, with the settings and the session that the parent process has left."""
    values, session = json.loads(os.environ[VARIABLE])
    settings = ServiceSettings(**values)
    watching.log_to_stderr(settings.log_level)
    if parent := multiprocessing.parent_process():
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    return application(settings, CrawlSession(*session))


def application(settings: ServiceSettings, session: CrawlSession | None = None) -> Starlette:
    """Return the application of one process, which works as a crawler of its own unless it shares a session."""
    dedup = AsyncDeduplicator.from_options(settings, workers=settings.readers)
    dedup.gathering_seconds = _GATHERING_SECONDS

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        try:
            await dedup.open(session)
            # The first page would wait for all that is imported and read once.
            await dedup.explain(site_of("https://www.example.com/"), text=" ".join(map(str, range(200))))
        except CrawlDedupError as error:
            # Requests try again.
            _log.warning("the store cannot be opened yet", extra={"fields": {"error": str(error)}})
        yield
        # The process that shares a session leaves when all are done.
        await dedup.close(leave=session is None)
        _log.info("has stopped")

    app = Starlette(
        routes=ROUTES,
        middleware=[Middleware(Edge, settings=settings, dedup=dedup)],
        exception_handlers={HTTPException: lambda _, error: problem_of(error).answer()},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # a redirection would name the host that the client names
    app.state.dedup = dedup
    return app


def _end_with(parent: multiprocessing.process.BaseProcess) -> None:
    """End this worker as a signal does when its parent was killed, even while this one started: nobody else would."""
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


async def _metrics(_: Request) -> Response:
    return Response(generate_latest(watching.everyone()), media_type="text/plain; version=0.0.4")


async def _openapi(_: Request) -> Response:
    return Response(wire.encode(description()), media_type=JSON)


ROUTES: Final = [*ENDPOINTS, *PAGES, Route("/metrics", _metrics), Route("/openapi.json", _openapi)]
_PATHS: Final = {route.path for route in ROUTES}
_SHOWN: Final = {route.path for route in PAGES}


class Edge:
    """ASGI middleware: asks for a token, keeps other sites' pages out, bounds bodies, answers errors, and logs."""

    def __init__(self, app: ASGIApp, settings: ServiceSettings, dedup: AsyncDeduplicator) -> None:
        self._app = app
        self._settings = settings
        self._dedup = dedup
        self._tokens = [token.encode() for token in settings.tokens]
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, taken = time.perf_counter(), 0
        entry: dict[str, Any] = {"method": scope["method"], "path": scope["path"][:_LONGEST_PATH], "status": 500}
        headers = dict(scope["headers"])
        declared = headers.get(b"content-length", b"")

        async def receiving() -> Message:
            nonlocal taken
            self._check_size(int(declared) if declared.isdigit() else 0, ends=True)
            seconds = self._settings.client_seconds
            try:
                async with asyncio.timeout(begun + seconds - time.perf_counter()):
                    message = await receive()
            except TimeoutError:
                detail = f"the request was not there after {seconds:g} s: send faster, or smaller parts"
                raise ProblemError("too-slow", 408, detail, headers=_CLOSE) from None
            part = len(message.get("body", b""))
            taken, self._held = taken + part, self._held + part
            self._check_size(taken, ends=declared.isdigit())
            return message

        async def sending(message: Message) -> None:
            entry["status"] = message.get("status", entry["status"])
            await send(message)

        try:
            self._check_sender(scope, headers)
            await self._app(scope, receiving, sending)
        except Exception as error:
            refusal = problem_of(error)
            entry["problem"] = refusal.problem.detail
            await refusal.answer()(scope, receive, sending)
        finally:
            self._held -= taken
            self._note(scope, entry, time.perf_counter() - begun)

    def _check_sender(self, scope: Scope, headers: Mapping[bytes, bytes]) -> None:
        """Raise ProblemError for a request that nobody may send, or not this client."""
        if scope["path"] in OPEN:
            return
        if not self._tokens:
            require_own_host((value for name, value in scope["headers"] if name == b"host"), self._settings.host)
        elif not self._is_allowed(headers.get(b"authorization", b"")):
            detail = "give the token of the service in a header: Authorization: Bearer TOKEN"
            kind = 'Basic realm="crawldedup"' if scope["path"] in _SHOWN else "Bearer"
            raise ProblemError("unauthorized", 401, detail, headers={"www-authenticate": kind, **_CLOSE})
        # A link may lead to a page, and to nothing else.
        if scope["method"] not in ("GET", "HEAD", "OPTIONS") or scope["path"] not in _SHOWN:
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

    def _check_size(self, size: int, *, ends: bool) -> None:
        if size > self._settings.max_body:
            detail = f"the body may have {self._settings.max_body:,} bytes: send less, or set --max-body higher"
            # Most clients look for no answer while they send, so what has an end is still taken from them.
            raise ProblemError("too-large", 413, detail, headers={} if ends and size <= _MOST_HELD else _CLOSE)
        if self._held > _MOST_HELD or self._dedup.waiting >= _MOST_WAITING:
            detail = "too many pages or large requests wait: try again later, or start more workers"
            raise ProblemError("busy", 503, detail, retry_after=1)

    def _note(self, scope: Scope, entry: dict[str, Any], seconds: float) -> None:
        # Other paths are as many as clients like.
        endpoint = scope["path"] if scope["path"] in _PATHS else "other"
        watching.REQUESTS.labels(endpoint, entry["status"]).inc()
        watching.REQUEST_SECONDS.labels(endpoint).observe(seconds)
        watching.INDEX_PAGES.set(self._dedup.pages)
        level = logging.DEBUG if scope["path"] in OPEN else logging.INFO if entry["status"] < 500 else logging.WARNING
        fields = {**entry, "milliseconds": round(seconds * 1000, 2), "client": (scope.get("client") or [None])[0]}
        _log.log(level, "request", extra={"fields": fields})


# What follows keeps web pages from using the service through the browser of somebody who may: nothing else would stop
# them. A page of any site can make the browser send a form to this machine. A name of its own that it has moved to this
# machine (DNS rebinding) even lets it read the answer.


def require_own_host(hosts: Iterable[bytes], own: str) -> None:
    """Raise ProblemError for a request to a name that anyone could have given this machine."""
    for host in filter(None, hosts):
        with contextlib.suppress(ValueError):
            name = urlsplit(f"//{host.decode('latin-1')}").hostname or ""
            if name == own.lower() or is_this_machine(name):
                continue
        detail = (
            "the Host of the request is not this machine: ask for localhost or the address given as --host, or give "
            "the service a token (CRAWLDEDUP_TOKEN), with which it takes any name"
        )
        raise ProblemError("misdirected", 421, detail, headers=_CLOSE)


def require_own_page(headers: Mapping[bytes, bytes]) -> None:
    """Raise ProblemError for a request that a page of another site has made a browser send."""
    site, origin, host = (headers.get(name, b"").decode("latin-1") for name in (b"sec-fetch-site", b"origin", b"host"))
    # Browsers send the first to this machine and over TLS only, and no page can forge it.
    if site in ("same-origin", "none") if site else not origin or origin.partition("://")[2].lower() == host.lower():
        return
    detail = (
        "a page of another site sent this request through a browser: send it from a page of the service, or from a "
        "program that sends neither Sec-Fetch-Site nor Origin; a proxy before the service must pass Host on"
    )
    raise ProblemError("cross-site", 403, detail, headers=_CLOSE)
