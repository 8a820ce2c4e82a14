"""What a crawl has let pass."""

from pathlib import Path

from scrapy import Request

from crawldedup.page import Page
from crawldedup.scrapy_plugin.revisits import Deliveries, SeenPages
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


def test_without_scrapys_word_nothing_counts_as_delivered() -> None:
    crawl = Crawl("a")
    del crawl.crawler.engine._slot
    assert [*crawl.deliveries.pop_delivered()] == []


def test_a_page_that_was_asked_for_twice_is_delivered_with_the_last_answer() -> None:
    crawl = Crawl("a", "a")
    assert [crawl.delivered(*done) for done in ((0,), (1,), ())] == [[], ["a"], []]


def test_a_page_that_failed_is_never_delivered() -> None:
    crawl = Crawl("a", "b", "c")
    for request in (crawl.requests[1], Request("https://e.com/c"), None):
        crawl.deliveries.failed(request)
    assert crawl.delivered(0, 1, 2) == ["a", "c"]


def test_a_page_is_known_by_url_request_and_scope() -> None:
    seen = SeenPages()
    seen.add(page("?a=1&b=2"))
    assert page("?b=2&a=1#top") in seen
    others = [page("?a=1"), page("?a=1&b=2", "POST"), page("?a=1&b=2", scope_key="news")]
    assert [other in seen for other in others] == [False] * 3
    seen.close(finished=True)


def test_the_file_is_there_for_a_crawl_that_was_paused(tmp_path: Path) -> None:
    file = tmp_path / "visits"
    paused = SeenPages(file)
    for path in "aab":
        paused.add(page(path))
    paused.close(finished=False)
    assert file.stat().st_size == 16
    with file.open("ab") as cut_short:
        cut_short.write(b"abc")
    resumed = SeenPages(file)
    assert page("b") in resumed
    resumed.add(page("c"))
    resumed.close(finished=False)
    again = SeenPages(file)
    assert [page(path) in again for path in "abcd"] == [True, True, True, False]
    again.close(finished=True)
    assert not file.exists()


def test_a_crawl_that_never_asks_makes_no_file(tmp_path: Path) -> None:
    SeenPages(tmp_path / "visits").close(finished=False)
    SeenPages(tmp_path / "visits").close(finished=True)
    assert list(tmp_path.iterdir()) == []
