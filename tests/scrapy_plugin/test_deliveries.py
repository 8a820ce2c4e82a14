"""When a page counts as delivered."""

from typing import Any

from scrapy import Request

from crawldedup.page import Page
from crawldedup.scrapy_plugin.deliveries import Deliveries
from tests.scrapy_plugin.fakes import FakeCrawler


def test_a_page_is_delivered_when_the_engine_is_done_with_all_its_requests() -> None:
    crawler: Any = FakeCrawler()
    deliveries = Deliveries(crawler)
    requests = [Request(f"https://e.com/{path}") for path in "aab"]
    in_progress = crawler.engine._slot.inprogress
    in_progress |= set(requests)
    for request in requests:
        deliveries.passed(request, Page(request.url, text="text"))
    delivered = []
    for done in (0, 2, 1):
        in_progress.discard(requests[done])
        delivered.append([page.url[-1] for page in deliveries.pop_delivered()])
    assert delivered == [[], ["b"], ["a"]]
