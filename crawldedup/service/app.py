"""Put one process of the service together: what uvicorn calls for its application."""

import contextlib
import json
import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import AsyncIterator
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware

from crawldedup.aio import AsyncDeduplicator
from crawldedup.errors import CrawlDedupError
from crawldedup.scope import site_of
from crawldedup.service import watching
from crawldedup.service.command import VARIABLE, ServiceSettings
from crawldedup.service.console import PAGES
from crawldedup.service.edge import Edge
from crawldedup.service.endpoints import ROUTES
from crawldedup.service.problems import problem_of
from crawldedup.stores.base import CrawlSession

_GATHERING_SECONDS: Final = 0.015
"""Three pages of HTML that one reader gives back: clients go on meanwhile, as a crawl would not."""
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
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.dedup = dedup
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

    def measure(pages: int, seconds: float) -> None:
        watching.GROUP_PAGES.observe(pages)
        watching.GROUP_SECONDS.observe(seconds)
        watching.INDEX_PAGES.set(dedup.pages)

    dedup.on_batch = measure
    app = Starlette(
        routes=[*ROUTES, *PAGES],
        middleware=[Middleware(Edge, settings=settings)],
        exception_handlers={HTTPException: lambda _, error: problem_of(error).answer()},
        lifespan=lifespan,
    )
    # A redirection would name the host that the client names.
    app.router.redirect_slashes = False
    return app


def _end_with(parent: multiprocessing.process.BaseProcess) -> None:
    """End this worker as a signal does when its parent was killed, even while this one started: nobody else would."""
    parent.join()
    _log.warning("the parent process has gone: this worker ends")
    os.kill(os.getpid(), signal.SIGTERM)
