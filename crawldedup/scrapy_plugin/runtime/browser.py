"""scrapy-playwright's open pages: whoever drops a response must not leave its tab behind."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from scrapy import Request

logger = logging.getLogger(__name__)

PAGE_KEY: Final = "playwright_page"
_CLOSE_LIMIT_SECONDS: Final = 10.0


async def close_browser_page(request: Request, *, errback_is_told: bool = True) -> None:
    """Close the tab that `playwright_include_page` keeps open for a callback, which now is never called.

    The browser opens no further tab once it has as many as it may: a crawl would hang. A request's errback is told of
    the drop, and closing the tab is its business there, as after any other failure.
    """
    page = request.meta.get(PAGE_KEY)
    if page is None or (errback_is_told and request.errback is not None):
        return
    try:
        await asyncio.wait_for(page.close(), _CLOSE_LIMIT_SECONDS)
    except Exception as error:
        logger.warning("crawldedup: cannot close the browser's page of a dropped response: %s", type(error).__name__)
