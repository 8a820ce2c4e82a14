"""A spider whose pages take their time behind the middleware, and a pipeline that records at once
what it has got.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Any

from page_spider import PageSpider
from scrapy.http import Response

RECORD = "delivered"
"""A file of the folder where the crawl works: the paths of the pages whose items came through."""


class RecordingSpider(PageSpider):
    async def parse(self, response: Response) -> AsyncIterator[Any]:
        await asyncio.sleep(0.03)
        yield {"url": self.shown(response.url)}


class RecordingPipeline:
    async def process_item(self, item: Any) -> Any:
        await asyncio.sleep(0.03)
        record = os.open(RECORD, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(record, f"{item['url']}\n".encode())
        os.close(record)
        return item
