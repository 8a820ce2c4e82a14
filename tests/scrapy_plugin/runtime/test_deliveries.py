from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import Request

from crawldedup.scrapy_plugin.runtime.deliveries import Deliveries
from tests.scrapy_plugin.fakes import FakeCrawler

if TYPE_CHECKING:
    from crawldedup.scrapy_plugin.reading.messages import Name


def name(path: str) -> Name:
    return (f"https://e.com/{path}", None, "")


def test_a_page_is_delivered_when_the_engine_is_done_with_its_request() -> None:
    crawler = FakeCrawler()
    deliveries = Deliveries(crawler)  # type: ignore[arg-type]
    requests = {path: Request(f"https://e.com/{path}") for path in "ab"}
    crawler.engine._slot.inprogress |= set(requests.values())
    for path, request in requests.items():
        deliveries.set_out(request, name(path))
    assert deliveries.take_delivered() == ()
    crawler.engine._slot.inprogress.remove(requests["b"])
    assert deliveries.take_delivered() == (name("b"),)
    assert deliveries.take_delivered() == ()
    crawler.engine._slot.inprogress.clear()
    assert deliveries.take_delivered() == (name("a"),)


def test_what_the_store_was_not_told_is_told_with_the_next_page() -> None:
    crawler = FakeCrawler()
    deliveries = Deliveries(crawler)  # type: ignore[arg-type]
    deliveries.set_out(Request("https://e.com/a"), name("a"))
    deliveries.put_back(deliveries.take_delivered())
    deliveries.set_out(Request("https://e.com/b"), name("b"))
    assert deliveries.take_delivered() == (name("a"), name("b"))


def test_without_scrapys_word_nothing_counts_as_delivered() -> None:
    crawler = FakeCrawler()
    del crawler.engine._slot
    deliveries = Deliveries(crawler)  # type: ignore[arg-type]
    deliveries.set_out(Request("https://e.com/a"), name("a"))
    assert deliveries.take_delivered() == ()


def test_a_page_that_was_asked_for_twice_is_delivered_with_the_last_answer() -> None:
    crawler = FakeCrawler()
    deliveries = Deliveries(crawler)  # type: ignore[arg-type]
    first, second = (Request("https://e.com/a") for _ in range(2))
    crawler.engine._slot.inprogress |= {first, second}
    for request in (first, second):
        deliveries.set_out(request, name("a"))
    crawler.engine._slot.inprogress.remove(first)
    assert deliveries.take_delivered() == ()
    crawler.engine._slot.inprogress.remove(second)
    assert set(deliveries.take_delivered()) == {name("a")}
    assert deliveries.take_delivered() == ()
