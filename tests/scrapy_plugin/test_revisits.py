"""What a crawl has let pass."""

from scrapy import Request

from crawldedup.page import Page
from crawldedup.scrapy_plugin.policy import Deliveries, key_of
from tests.scrapy_plugin.fakes import FakeCrawler


def page(path: str, identity: str | None = None, scope_key: str = "") -> Page:
    return Page(f"https://e.com/{path}", text="text", identity=identity, scope_key=scope_key)


class Crawl:
    """Some requests, all of them in progress."""

    def __init__(self, *paths: str) -> None:
        self.crawler = FakeCrawler()
        self.deliveries = Deliveries(self.crawler)  # type: ignore[arg-type]
        self.requests = [Request(f"https://e.com/{path}") for path in paths]
        self.crawler.engine._slot.inprogress |= set(self.requests)
        for request, path in zip(self.requests, paths, strict=True):
            self.deliveries.passed(request, page(path))

    def delivered(self, *done: int) -> list[str]:
        self.crawler.engine._slot.inprogress -= {self.requests[number] for number in done}
        return [url[-1] for url, _, _ in self.deliveries.pop_delivered()]


def test_a_page_is_delivered_when_the_engine_is_done_with_its_request() -> None:
    crawl = Crawl("a", "b")
    assert [crawl.delivered(*done) for done in ((), (1,), (), (0,))] == [[], ["b"], [], ["a"]]


def test_a_page_that_was_asked_for_twice_is_delivered_with_the_last_answer() -> None:
    crawl = Crawl("a", "a")
    assert [crawl.delivered(*done) for done in ((0,), (1,), ())] == [[], ["a"], []]


def test_a_page_that_failed_is_never_delivered() -> None:
    crawl = Crawl("a", "b", "c")
    for request in (crawl.requests[1], Request("https://e.com/c"), None):
        crawl.deliveries.failed(request)
    assert crawl.delivered(0, 1, 2) == ["a", "c"]


def test_a_page_is_known_by_url_request_and_scope() -> None:
    key = key_of(page("?a=1&b=2"))
    assert key_of(page("?b=2&a=1#top")) == key
    others = [page("?a=1"), page("?a=1&b=2", "POST"), page("?a=1&b=2", scope_key="news")]
    assert key not in map(key_of, others)
