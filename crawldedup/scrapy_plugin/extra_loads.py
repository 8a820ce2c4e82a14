"""Handle responses to requests that no spider made: second loads of a page, which show what changes
with every load, and new loads of earlier pages, which show whether a wall has replaced them.
"""

from collections.abc import Callable
from contextlib import suppress

from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response

from crawldedup.aio import AsyncDeduplicator
from crawldedup.page import Page
from crawldedup.scrapy_plugin.reloads import is_reload
from crawldedup.scrapy_plugin.wall_checks import WallCheck
from crawldedup.scrapy_plugin.walls import WallWatch

PageOf = Callable[[Request, Response], Page]


class ExtraLoads:
    """Uses the responses to requests that the plugin made, and keeps them from spiders.

    Args:
        dedup: The deduplicator, which reads the pages.
        walls: The watch for walls, which knows which requests were made to check one.
        page_of: Makes a page of a response. The index must not remember this page.
    """

    def __init__(self, dedup: AsyncDeduplicator, walls: WallWatch, page_of: PageOf) -> None:
        self._dedup = dedup
        self._walls = walls
        self._page_of = page_of

    async def take(self, request: Request, response: Response) -> None:
        """Use a response if no spider requested it, and raise IgnoreRequest.

        For responses that a spider requested, do nothing.
        """
        if is_reload(request):
            await self._learn_from(request, response)
            raise IgnoreRequest("loaded a second time to learn what changes with every load")
        check = self._walls.check_of(request)
        if check is not None:
            await self._compare_with_wall(request, response, check)
            raise IgnoreRequest("loaded again to see whether a wall stands in its place")

    async def _learn_from(self, request: Request, response: Response) -> None:
        """Compare the second response for a page with the first one to find changing lines."""
        with suppress(Exception):
            page = self._page_of(request, response)
            judged = await self._dedup.judge(page)
            self._dedup.hosts.learn(page, judged.read)

    async def _compare_with_wall(
        self, request: Request, response: Response, check: WallCheck
    ) -> None:
        """Compare the new response for an earlier page with the wall."""
        with suppress(Exception):
            judged = await self._dedup.judge(self._page_of(request, response))
            check.add(judged.read.fingerprint)
