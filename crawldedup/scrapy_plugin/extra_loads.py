"""Use the responses to requests that the plugin itself made, and keep them from spiders.

The plugin loads some pages a second time to learn what changes with every load. It also loads
earlier pages again to find out whether a wall has replaced them.
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
    """Takes the responses to the plugin's own requests, so no spider sees them.

    Args:
        dedup: The deduplicator, which reads the pages.
        walls: The watch for walls, which knows which requests were made to check for one.
        page_of: Makes a page of a response. The index must not remember this page.
    """

    def __init__(self, dedup: AsyncDeduplicator, walls: WallWatch, page_of: PageOf) -> None:
        self._dedup = dedup
        self._walls = walls
        self._page_of = page_of

    async def take(self, request: Request, response: Response) -> None:
        """Use a response to one of the plugin's own requests, and raise IgnoreRequest.

        If a spider requested the response, do nothing.
        """
        if is_reload(request):
            await self._learn_from(request, response)
            raise IgnoreRequest("loaded a second time to learn what changes with every load")
        check = self._walls.check_of(request)
        if check is not None:
            await self._compare_with_wall(request, response, check)
            raise IgnoreRequest("loaded again to see whether a wall stands in its place")

    async def _learn_from(self, request: Request, response: Response) -> None:
        """Compare a page's second response with the first one, to learn which lines change.

        If that fails, nothing is learned.
        """
        with suppress(Exception):
            page = self._page_of(request, response)
            judged = await self._dedup.judge(page)
            self._dedup.hosts.learn(page, judged.read)

    async def _compare_with_wall(
        self, request: Request, response: Response, check: WallCheck
    ) -> None:
        """Count the response for an earlier page as the wall or as content, unless that fails."""
        with suppress(Exception):
            judged = await self._dedup.judge(self._page_of(request, response))
            check.add(judged.read.fingerprint)
