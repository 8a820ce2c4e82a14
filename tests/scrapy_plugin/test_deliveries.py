"""When a page counts as delivered."""

from typing import Any

import pytest
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


def parse(_: object) -> None:
    """A callback."""


def parse_other(_: object) -> None:
    """Another callback."""


START: dict[str, Any] = {"url": "https://e.com/", "dont_filter": True, "callback": parse}


@pytest.mark.parametrize(
    ("first", "again", "is_known"),
    [
        (START, {"dont_filter": False}, True),
        (START, {"url": "https://e.com/other", "dont_filter": False}, False),
        # Somebody wants it again, or something else of it.
        (START, {}, False),
        (START, {"dont_filter": False, "callback": parse_other}, False),
        (START, {"dont_filter": False, "cb_kwargs": {"day": 2}}, False),
        (START, {"dont_filter": False, "meta": {"rule": 1}}, False),
        (START, {"dont_filter": False, "meta": {"redirect_urls": ["https://e.com/in"]}}, False),
        ({**START, "cb_kwargs": {"day": 1}}, {"dont_filter": False, "cb_kwargs": {}}, False),
        # Scrapy's filter has noted the first request, so whoever asks again has a filter of its own.
        ({**START, "dont_filter": False}, {"dont_filter": False}, False),
    ],
)
def test_a_page_comes_again_by_the_link_to_a_page_that_no_filter_had_noted(
    first: dict[str, Any], again: dict[str, Any], is_known: bool
) -> None:
    crawler: Any = FakeCrawler()
    deliveries = Deliveries(crawler)
    request, later = Request(**first), Request(**{**first, **again})
    page = Page(later.url, text="text")
    deliveries.passed(request, Page(request.url, text="text"))
    crawler.engine._slot.inprogress = {request}
    assert [*deliveries.pop_delivered()] == []
    assert not deliveries.has_delivered(later, page)  # its items are on their way
    crawler.engine._slot.inprogress = set()
    assert len([*deliveries.pop_delivered()]) == 1
    assert deliveries.has_delivered(later, page) is is_known


def test_a_page_that_failed_is_wanted_when_it_comes_again() -> None:
    deliveries = Deliveries(FakeCrawler())  # type: ignore[arg-type]
    request = Request(**START)
    deliveries.passed(request, Page(request.url, text="text"))
    deliveries.failed(request)
    assert [*deliveries.pop_delivered()] == []
    again = Request(**{**START, "dont_filter": False})
    assert not deliveries.has_delivered(again, Page(again.url, text="text"))
