"""The middleware's own decisions, with stand-ins for the reader and the store."""

import logging
import time
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response
from twisted.python.failure import Failure

from crawldedup.crawling.options import CrawlOptions
from crawldedup.errors import ProfileMismatchError, StoreUnavailableError
from crawldedup.page import Page
from crawldedup.scrapy_plugin import DuplicatePageError
from crawldedup.scrapy_plugin.middleware import DedupMiddleware
from crawldedup.verdict import Kind, Match, Verdict
from tests.scrapy_plugin.fakes import HandedIn

DOWN = StoreUnavailableError("The store at cache:6379 refuses the connection.")
OTHER_PROFILE = ProfileMismatchError("Namespace news", index_profile="old", own_profile="new")


class Crawl(HandedIn):
    """A crawl whose pages are handed in one by one."""

    def __init__(
        self, *, has_item_middleware: bool = False, is_interactive: bool = False, **options: Any
    ) -> None:
        super().__init__(has_item_middleware=has_item_middleware)
        values: dict[str, Any] = {"workers": 1, "action": "drop", "journal": False, **options}
        dedup: Any = self.dedup
        self.middleware = DedupMiddleware(
            self.crawler, CrawlOptions(**values), dedup, is_interactive=is_interactive
        )
        self.opened = partial(self.middleware.spider_opened, Spider("news"))
        self.closed = partial(self.middleware.spider_closed, "finished")

    def page(self, path: str, text: str, **request: Any) -> tuple[Request, Response | None]:
        """The request, and the response if it was not dropped."""
        asked = Request(f"https://e.com/{path}", **request)
        answer = HtmlResponse(
            asked.url, body=text.encode(), headers={"Content-Type": "text/html; charset=utf-8"}
        )
        try:
            return asked, self.wait(self.middleware.process_response(asked, answer))
        except DuplicatePageError:
            return asked, None

    def passes(self, path: str, text: str, override: object = None) -> bool:
        return self.page(path, text, meta={"crawldedup": override})[1] is not None


def test_the_error_of_a_dropped_page_says_why() -> None:
    copy = Verdict(Kind.EXACT_DUPLICATE, "https://e.com/b", "https://e.com/a")
    error = DuplicatePageError("a copy", copy)
    assert (str(error), error.verdict) == ("a copy", copy)


def test_a_verdict_in_meta_is_that_of_its_own_page() -> None:
    with Crawl() as crawl:
        request, _ = crawl.page("a", "text")
        assert request.meta["crawldedup_verdict"].kind is Kind.NEW
        # Spiders hand the meta of a page on.
        following, response = crawl.page("b", "TEXT", meta=request.meta)
        assert response is None
        assert following.meta["crawldedup_verdict"].original == "https://e.com/a"
        unchecked, response = crawl.page("c", "", meta=request.meta)
        assert response is not None
        assert "crawldedup_verdict" not in unchecked.meta
    assert crawl.counts == {
        "checked": 2,
        "new": 1,
        "duplicate/near": 1,
        "dropped": 1,
        "skipped/empty": 1,
    }
    assert crawl.dedup.calls == ["open", "judge", "judge", "close"]
    assert crawl.dedup.delivered == ["https://e.com/a"]


def test_the_browsers_tab_of_a_dropped_page_is_closed_unless_an_errback_does_it() -> None:
    class Tab(list[str]):
        async def close(self) -> None:
            self.append("closed")

    tabs = {name: Tab() for name in "abcd"}
    with Crawl() as crawl:
        for name, tab in tabs.items():
            meta = {
                "playwright_page": tab,
                "crawldedup": {"action": "mark" if name == "d" else "drop"},
            }
            crawl.page(name, "text", meta=meta, errback=print if name == "c" else None)
    assert [name for name, tab in tabs.items() if tab] == ["b"]


def test_options_of_a_request_reach_the_store_and_the_decision() -> None:
    with Crawl(prefer=["/a$"]) as crawl:
        assert crawl.passes("a", "text", {"similarity": 0.8, "scope": "spider"})
        _, response = crawl.page(
            "b", "text", meta={"crawldedup": {"action": "mark"}}, method="POST"
        )
        assert response is not None
        assert response.flags == ["crawldedup:near_duplicate"]
    first, second = crawl.dedup.pages_asked
    expected = Page(
        "https://e.com/a", html=b"text", encoding="utf-8", scope_key="news", similarity=0.8
    )
    assert first == replace(expected, delivered=False, rank=1)
    assert str(second.identity).startswith("POST https://e.com/b ")
    assert (second.scope_key, second.similarity, second.rank) == ("", 0.9, 3)


def test_a_wrong_option_of_a_request_is_counted_and_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with Crawl() as crawl:
        for override in ({"treshold": 1}, {"treshold": 1}, {"action": "delete"}):
            assert crawl.passes("a", "text", override)
    assert crawl.counts == {"error/meta": 3}
    assert caplog.text.count("unknown key 'treshold'") == 1


def test_pages_that_are_only_looked_at_are_checked_and_dropped_alike() -> None:
    with Crawl() as crawl:
        assert crawl.passes("list", "text", {"remember": False})
        assert crawl.passes("a", "text")
        assert not crawl.passes("list", "text", {"remember": False})
    assert [page.remember for page in crawl.dedup.pages_asked] == [False, True, False]


@pytest.mark.parametrize("wall", ["warn", "ignore", "close"])
def test_a_wall_is_told_once_and_closes_its_site_alone(
    wall: str, caplog: pytest.LogCaptureFixture
) -> None:
    with Crawl(wall=wall) as crawl:
        for number in range(80):
            crawl.page(str(number), f"text {number}" if number < 10 else "login")
        # Earlier pages are asked for again, and show the wall, too.
        again = crawl.crawler.engine.crawled
        assert len(again) == (3 if wall == "close" else 0)
        for request in again:
            answer = HtmlResponse(request.url, body=b"login", encoding="utf-8")
            with pytest.raises(IgnoreRequest) as ignored:
                crawl.wait(crawl.middleware.process_response(request, answer))
            request.errback(Failure(ignored.value))
        with pytest.raises(IgnoreRequest) if wall == "close" else nullcontext():
            crawl.middleware.process_request(Request("https://www.e.com/99"))
        other = Request("https://other.com/")
        crawl.middleware.process_request(other)
        crawl.wait(
            crawl.middleware.process_response(
                other, HtmlResponse(other.url, body=b"words of the other site")
            )
        )
    assert crawl.counts.get("walls/suspected", 0) == (wall != "ignore")
    assert crawl.counts.get("walls/ignored", 0) == (wall == "close")
    said = "60 of the last 70 pages read like https://e.com/10. Is it a login form"
    assert (
        caplog.text.count(said)
        == caplog.text.count(f"CRAWLDEDUP_WALL is '{wall}'")
        == (wall != "ignore")
    )


def test_a_known_page_that_came_again_is_dropped_until_its_text_is_another() -> None:
    with Crawl(revisit="drop") as crawl:
        crawl.dedup.seen = {
            "text": ["https://e.com/a"],
            "changed text": [f"https://e.com/{path}" for path in "bdefg"],
        }
        assert not crawl.passes("a", "text")
        assert crawl.passes("a", "text", {"revisit": "keep"})
        # What this crawl has delivered may be asked for again.
        assert [crawl.passes("c", "new text") for _ in range(2)] == [True, True]
        # Of pages that have a new text, that of one which this crawl, or another at work, has
        # delivered is a copy, unless the two are siblings.
        for path, original, age, sibling in (
            ("d", "x", 99, None),
            ("g", "c", 99, "text"),
            ("e", "x", -99, None),
            ("f", "c", 99, None),
        ):
            match = Match(
                f"https://e.com/{original}",
                1.0,
                0,
                True,
                0,
                added_at=int(time.time()) - age,
                copies=1,
                sibling=sibling,
            )
            crawl.dedup.matches = [match]
            request, response = crawl.page(path, "changed text")
            assert (response is not None) is (path in "dg")
        assert request.meta["crawldedup_verdict"].original == "https://e.com/c"
    counts = {"unchanged": 1, "changed": 4, "duplicate/exact": 2, "dropped": 3}
    assert counts.items() <= crawl.counts.items()


def test_a_page_that_is_hardly_changed_is_dropped_unless_this_crawl_has_delivered_it() -> None:
    with Crawl(revisit="drop", revisit_similarity=0.95) as crawl:
        crawl.dedup.seen["hardly other text"] = ["https://e.com/a", "https://e.com/c"]
        assert not crawl.passes("a", "hardly other text")
        assert crawl.passes("c", "hardly other text", {"revisit": "keep"})
        assert crawl.passes("c", "hardly other text")
    assert [page.revisit_similarity for page in crawl.dedup.pages_asked] == [0.95, None, None]


def test_a_page_whose_callback_or_item_failed_is_never_delivered() -> None:
    with Crawl() as crawl:
        for path in "ab":
            request, response = crawl.page(path, f"text of {path}")
            assert response is not None
            response.request = request
            crawl.crawler.engine._slot.inprogress.add(request)
        # The spider's start, and pages that nobody asked for, fail too.
        for failed in (response, None, HtmlResponse("u://")):
            crawl.middleware.page_failed(failed)
        crawl.crawler.engine._slot.inprogress.clear()
    assert crawl.dedup.delivered == ["https://e.com/a"]


@pytest.mark.parametrize("has_middleware", [True, False])
def test_a_start_page_loses_its_items_at_most(has_middleware: bool) -> None:
    with Crawl(has_item_middleware=has_middleware) as crawl:
        crawl.page("a", "text")
        request, response = crawl.page("b", "text", meta={"is_start_request": True})
        assert response is not None
        assert response.flags == ([] if has_middleware else ["crawldedup:near_duplicate"])
        assert request.meta.get("_crawldedup_drop_items", False) is has_middleware


def test_under_inspection_nothing_is_remembered_dropped_or_closed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    crawl = Crawl(is_interactive=True, remember=False, on_error="fail")
    crawl.crawler.work_for("fetch")
    with crawl:
        crawl.dedup.seen["text"] = ["https://e.com/a"]
        assert crawl.passes("b", "text", {"action": "drop", "remember": True})
        crawl.dedup.errors = [OTHER_PROFILE]
        assert crawl.passes("e", "other text")
    assert [page.remember for page in crawl.dedup.pages_asked] == [False]
    assert crawl.crawler.engine.closed == []
    assert "https://e.com/b is near duplicate (0.970) of https://e.com/a" in caplog.text
    assert "Namespace news" in caplog.text


def test_an_unexpected_error_costs_no_page_and_is_explained_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with Crawl() as crawl:
        assert [crawl.passes(path, "unexpected") for path in "ab"] == [True, True]
        crawl.dedup.errors = [KeyError("x"), KeyError("y"), None]
        assert [crawl.passes(path, "text") for path in "abc"] == [True, True, True]
    assert crawl.counts == {"error/internal": 4, "checked": 1, "new": 1}
    said = [
        caplog.text.count(error)
        for error in ("ZeroDivisionError: bad", "KeyError: 'x'", "KeyError: 'y'", "\x1b")
    ]
    assert said == [1, 1, 0, 0]


def test_a_journal_that_cannot_be_written_costs_no_page(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    with Crawl(journal=f"{tmp_path}/file/journal") as crawl:
        assert [crawl.passes(path, f"text of {path}") for path in "ab"] == [True, True]
    assert caplog.text.count("cannot write the journal") == 1


@pytest.mark.parametrize(
    ("error", "on_error", "level"),
    [
        (OTHER_PROFILE, "pass", logging.ERROR),
        (DOWN, "fail", logging.ERROR),
        # A store that is down is tried again.
        (DOWN, "pass", logging.WARNING),
    ],
)
@pytest.mark.parametrize("at_start", [True, False])
def test_what_cannot_be_mended_closes_the_spider(
    error: Exception, on_error: str, level: int, at_start: bool, caplog: pytest.LogCaptureFixture
) -> None:
    crawl, closed = Crawl(on_error=on_error), level == logging.ERROR
    crawl.dedup.errors = [error] * at_start
    with crawl:
        if not at_start:
            crawl.dedup.errors = [error, error]
        # A spider that is closed at its start has no pages.
        assert (at_start and closed) or [
            crawl.passes(path, f"text of {path}") for path in "ab"
        ] == [True, True]
    assert crawl.crawler.engine.closed == ["crawldedup_error"] * closed
    (problem,) = (record for record in caplog.records if str(error) in record.getMessage())
    assert problem.levelno == level


def test_drop_items_without_its_middleware_ends_the_crawl_at_its_start(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with Crawl(action="drop-items") as crawl:
        assert crawl.crawler.engine.closed == ["crawldedup_error"]
    assert "needs a spider middleware" in caplog.text
