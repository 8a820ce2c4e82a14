"""The middleware's own decisions, with stand-ins for the reader and the store."""

from __future__ import annotations

import asyncio
import gc
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response, TextResponse
from scrapy.http.request import NO_CALLBACK

from crawldedup.errors import (
    ConfigurationError,
    ForeignStoreError,
    ProfileMismatchError,
    StoreUnavailableError,
)
from crawldedup.page import Page
from crawldedup.scrapy_plugin import DuplicatePageError, signals
from crawldedup.scrapy_plugin.middleware import DedupMiddleware
from crawldedup.scrapy_plugin.settings import CrawlOptions
from crawldedup.verdict import Kind
from tests.scrapy_plugin.fakes import HandedIn

DOWN = StoreUnavailableError("The store at cache:6379 refuses the connection.")


class Crawl(HandedIn):
    """A crawl whose pages are handed in one by one."""

    def __init__(
        self,
        *,
        has_item_middleware: bool = False,
        is_interactive: bool = False,
        dedup: Any = None,
        **options: Any,
    ) -> None:
        super().__init__(has_item_middleware=has_item_middleware, dedup=dedup)
        self.middleware = DedupMiddleware(
            self.crawler,  # type: ignore[arg-type]
            CrawlOptions(**{"workers": 1, "action": "drop", "journal": False, **options}),
            self.dedup,  # type: ignore[arg-type]
            is_interactive=is_interactive,
        )

    async def opened(self) -> None:
        await self.middleware.spider_opened(Spider("news"))

    async def closed(self) -> None:
        await self.middleware.spider_closed("finished")

    async def page(self, path: str, text: str, **request: Any) -> tuple[Request, Response | None]:
        """The request, and the response if it was not dropped."""
        asked = Request(f"https://e.com/{path}", **request)
        answer = HtmlResponse(asked.url, body=text.encode(), headers={"Content-Type": "text/html; charset=utf-8"})
        try:
            return asked, await self.middleware.process_response(asked, answer)
        except DuplicatePageError:
            return asked, None

    async def plain_page(self, path: object, text: str) -> Response:
        """A page of plain text, which needs no worker to be read. Raises DuplicatePageError."""
        request = Request(f"https://e.com/{path}")
        answer = TextResponse(request.url, body=text.encode(), headers={"Content-Type": "text/plain"})
        return await self.middleware.process_response(request, answer)


def test_a_near_duplicate_is_dropped_and_says_of_what() -> None:
    async def work(crawl: Crawl) -> None:
        request, response = await crawl.page("a", "text")
        assert response is not None
        assert request.meta["crawldedup_verdict"].kind is Kind.NEW
        request, response = await crawl.page("b", "TEXT")
        assert response is None
        assert request.meta["crawldedup_verdict"].original == "https://e.com/a"
        with pytest.raises(DuplicatePageError, match=r"^near duplicate \(0\.970\) of https://e\.com/a$") as dropped:
            await crawl.middleware.process_response(
                request.replace(url="https://e.com/c"), HtmlResponse("https://e.com/c", body=b"Text")
            )
        assert dropped.value.verdict.original == "https://e.com/a"
        _, response = await crawl.page("a", "text")
        assert response is not None

    crawl = Crawl().run(work)
    assert crawl.counts == {"checked": 4, "new": 1, "duplicate/near": 2, "dropped": 2, "revisit": 1}
    assert crawl.dedup.calls == ["open", *["judge"] * 4, "close"]
    assert {*crawl.dedup.delivered} == {"https://e.com/a"}


def test_a_verdict_handed_on_in_meta_does_not_stick_to_a_page_that_is_not_judged() -> None:
    async def work(crawl: Crawl) -> None:
        request, _ = await crawl.page("a", "text")
        next_request, response = await crawl.page("b", "", meta=request.meta)
        assert response is not None
        assert "crawldedup_verdict" not in next_request.meta

    assert Crawl().run(work).counts == {"checked": 1, "new": 1, "skipped/empty": 1}


def test_the_browsers_tab_of_a_dropped_page_is_closed_and_that_of_a_kept_one_is_not() -> None:
    closed = []

    class Tab:
        def __init__(self, name: str) -> None:
            self.name = name

        async def close(self) -> None:
            closed.append(self.name)

    async def work(crawl: Crawl) -> None:
        for name in "abc":
            # An errback closes it itself.
            errback = print if name == "c" else None
            await crawl.page(name, "text", meta={"playwright_page": Tab(name)}, errback=errback)

    Crawl().run(work)
    assert closed == ["b"]
    closed.clear()
    Crawl(action="mark").run(work)
    assert closed == []


def test_startup_objects_are_frozen_while_the_crawl_runs() -> None:
    # Python 3.12 freezes some objects itself when it starts.
    gc.unfreeze()

    async def work(_: Crawl) -> None:
        assert gc.get_freeze_count() > 0

    Crawl().run(work)
    assert gc.get_freeze_count() == 0


def test_drop_items_without_its_middleware_ends_the_crawl_at_its_start(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def nothing(crawl: Crawl) -> None:
        pass

    crawl = Crawl(action="drop-items").run(nothing)
    assert crawl.crawler.engine.closed == ["crawldedup_error"]
    assert "needs a spider middleware" in caplog.text


def test_overrides_reach_the_store_and_the_decision() -> None:
    async def work(crawl: Crawl) -> None:
        await crawl.page("a", "text", meta={"crawldedup": {"similarity": 0.8, "scope": "spider"}})
        _, response = await crawl.page("b", "text", meta={"crawldedup": {"action": "mark"}}, method="POST")
        assert response is not None
        assert response.flags == ["crawldedup:near_duplicate"]

    first, second = Crawl().run(work).dedup.pages_asked
    expected = Page("https://e.com/a", html=b"text", encoding="utf-8", scope_key="news", similarity=0.8)
    assert first == replace(expected, delivered=False, rank=1)
    assert str(second.identity).startswith("POST https://e.com/b ")
    assert (second.scope_key, second.similarity) == ("", 0.9)


def test_a_wrong_override_is_counted_and_said_once_and_the_page_passes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def work(crawl: Crawl) -> None:
        for override in ({"treshold": 1}, {"treshold": 1}, {"action": "delete"}):
            assert (await crawl.page("a", "text", meta={"crawldedup": override}))[1] is not None

    assert Crawl().run(work).counts == {"error/meta": 3}
    assert caplog.text.count("unknown key 'treshold'") == 1


def test_a_signal_reports_every_judged_page() -> None:
    seen: list[tuple[str, str, bool]] = []

    async def listen(request: Request, response: Response, verdict: Any, dropped: bool, spider: Spider) -> None:
        await asyncio.sleep(0)
        seen.append((response.url, verdict.kind, dropped))

    async def work(crawl: Crawl) -> None:
        crawl.crawler.signals.connect(listen, signal=signals.page_judged)
        for path in "ab":
            await crawl.page(path, "text")
        await crawl.page("robots.txt", "text", callback=NO_CALLBACK)

    assert Crawl().run(work).counts["skipped/no_callback"] == 1
    assert seen == [("https://e.com/a", "new", False), ("https://e.com/b", "near_duplicate", True)]


def test_a_signal_of_their_own_reports_duplicates() -> None:
    seen: list[tuple[str, str | None, bool]] = []

    def listen(request: Request, response: Response, verdict: Any, dropped: bool, spider: Spider) -> None:
        assert request.meta["crawldedup_verdict"] is verdict
        seen.append((response.url, verdict.original, dropped))

    async def work(crawl: Crawl) -> None:
        crawl.crawler.signals.connect(listen, signal=signals.page_deduplicated)
        for path, action in (("a", "drop"), ("b", "drop"), ("a", "drop"), ("c", "mark")):
            await crawl.page(path, "text", meta={"crawldedup": {"action": action}})

    Crawl().run(work)
    assert seen == [("https://e.com/b", "https://e.com/a", True), ("https://e.com/c", "https://e.com/a", False)]


def test_pages_that_are_only_looked_at_are_checked_and_dropped_alike() -> None:
    async def work(crawl: Crawl) -> None:
        look = {"meta": {"crawldedup": {"remember": False}}}
        assert (await crawl.page("list", "text", **look))[1] is not None
        assert (await crawl.page("a", "text"))[1] is not None
        assert (await crawl.page("list", "text", **look))[1] is None

    assert [page.remember for page in Crawl().run(work).dedup.pages_asked] == [False, True, False]


@pytest.mark.parametrize(("prefer", "ranks"), [(None, [1, 1]), ([], [0, 0]), (["/b"], [3, 1])])
def test_pages_are_ranked_by_the_users_preferences(prefer: list[str] | None, ranks: list[int]) -> None:
    async def work(crawl: Crawl) -> None:
        for path in "ab":
            await crawl.page(path, f"text of {path}")

    assert [page.rank for page in Crawl(prefer=prefer).run(work).dedup.pages_asked] == ranks


async def meet_a_wall(crawl: Crawl) -> None:
    for number in range(10):
        await crawl.page(str(number), f"text {number}")
    for number in range(10, 80):
        await crawl.page(str(number), "login")


@pytest.mark.parametrize(("wall", "warned"), [("warn", "the crawl goes on."), ("ignore", None), ("close", "e.com.")])
def test_a_wall_before_many_pages_is_told_once(wall: str, warned: str | None, caplog: pytest.LogCaptureFixture) -> None:
    told: list[tuple[str, float, int]] = []

    def listen(original: str, share: float, window: int) -> None:
        told.append((original, share, window))

    crawl = Crawl(wall=wall)
    crawl.crawler.signals.connect(listen, signal=signals.wall_suspected)
    crawl.run(meet_a_wall)
    assert crawl.counts.get("walls/suspected", 0) == len(told) == (warned is not None)
    if warned:
        assert told == [("https://e.com/10", 60 / 71, 71)]
        assert "60 of the last 71 pages are copies of https://e.com/10. Is it a login form" in caplog.text
        assert warned in caplog.text


def test_of_a_site_behind_a_wall_no_more_is_asked_for_and_others_go_on() -> None:
    async def work(crawl: Crawl) -> None:
        await meet_a_wall(crawl)
        crawl.middleware.process_request(Request("https://other.com/"))
        with pytest.raises(IgnoreRequest):
            crawl.middleware.process_request(Request("https://www.e.com/99"))
        other = HtmlResponse("https://other.com/", body=b"words of the other site")
        await crawl.middleware.process_response(Request(other.url), other)
        # What is left of the crawl is no wall.
        crawl.middleware._walls.spider_idle()

    assert Crawl(wall="close").run(work).counts["walls/ignored"] == 1


def test_known_pages_that_all_have_one_new_text_are_a_wall() -> None:
    async def work(crawl: Crawl) -> None:
        crawl.dedup.seen["changed text"] = [f"https://e.com/{number}" for number in range(70)]
        for number in range(70):
            await crawl.page(str(number), "changed text")

    assert Crawl().run(work).counts["walls/suspected"] == 1


class Recrawl:
    """Pages of earlier crawls, and a crawl that drops what is unchanged since then."""

    def __init__(self, **options: Any) -> None:
        self.crawl = Crawl(revisit="drop", **options)
        self.crawl.dedup.seen["text"] = ["https://e.com/a"]
        self.crawl.dedup.seen["changed text"] = ["https://e.com/b"]


def test_what_is_unchanged_since_earlier_crawls_is_dropped() -> None:
    async def work(crawl: Crawl) -> None:
        request, response = await crawl.page("a", "text")
        assert response is None
        assert request.meta["crawldedup_verdict"].kind is Kind.REVISIT
        with pytest.raises(DuplicatePageError, match=r"^known and unchanged$"):
            await crawl.middleware.process_response(request, HtmlResponse(request.url, body=b"text"))
        for path, text in (("b", "changed text"), ("c", "new text")):
            assert (await crawl.page(path, text))[1] is not None
        _, response = await crawl.page("a", "text", meta={"crawldedup": {"revisit": "keep"}})
        assert response is not None

    counts = Recrawl().crawl.run(work).counts
    assert counts == {"checked": 5, "revisit": 4, "changed": 1, "unchanged": 2, "dropped": 2, "new": 1}


def test_what_this_crawl_let_pass_may_be_asked_for_again() -> None:
    async def first(crawl: Crawl) -> None:
        for _ in range(2):
            assert (await crawl.page("c", "new text"))[1] is not None
            assert (await crawl.page("b", "changed text"))[1] is not None

    async def next_crawl(crawl: Crawl) -> None:
        crawl.dedup.seen["new text"] = ["https://e.com/c"]
        assert (await crawl.page("c", "new text"))[1] is None

    Recrawl().crawl.run(first)
    Recrawl().crawl.run(next_crawl)


def test_what_is_hardly_changed_is_dropped_unless_this_crawl_has_delivered_it() -> None:
    async def work(crawl: Crawl) -> None:
        crawl.dedup.seen["hardly other text"] = ["https://e.com/a", "https://e.com/c"]
        assert (await crawl.page("a", "hardly other text"))[1] is None
        kept = {"crawldedup": {"revisit": "keep"}}
        for meta in (kept, {}):
            request, response = await crawl.page("c", "hardly other text", meta=meta)
            assert response is not None
            assert request.meta["crawldedup_verdict"].changed
        assert [page.revisit_similarity for page in crawl.dedup.pages_asked] == [0.95, None, None]

    counts = Recrawl(revisit_similarity=0.95).crawl.run(work).counts
    assert counts == {"checked": 3, "revisit": 3, "changed": 2, "unchanged": 1, "dropped": 1}


def test_a_page_whose_callback_or_item_failed_is_never_delivered() -> None:
    async def work(crawl: Crawl) -> None:
        in_progress = crawl.crawler.engine._slot.inprogress
        for path in "abc":
            request, response = await crawl.page(path, f"text of {path}")
            assert response is not None
            response.request = request
            in_progress.add(request)
            if path != "b":
                # Whatever the callback has left in the meta that it handed on.
                request.meta["crawldedup"] = {"action": "nonsense"}
                crawl.middleware.page_failed(response)
        in_progress.clear()
        # The spider's start or an item of no page, a page that was not checked, and one that nobody asked for.
        crawl.middleware.page_failed(None)
        crawl.middleware.page_failed(HtmlResponse("https://e.com/d", request=Request("https://e.com/d")))
        crawl.middleware.page_failed(HtmlResponse("https://e.com/d"))

    assert Crawl().run(work).dedup.delivered == ["https://e.com/b"]


def test_what_was_delivered_is_told_although_the_next_page_cannot_be_made() -> None:
    class BrokenPages(set[int]):
        def __contains__(self, key: object) -> bool:
            raise ValueError

    async def work(crawl: Crawl) -> None:
        await crawl.page("a", "text")
        broken = {"crawldedup": {"revisit": "drop", "revisit_similarity": 0.9}}
        assert (await crawl.page("b", "other text", meta=broken))[1] is not None
        await crawl.page("c", "third text")

    crawl = Crawl()
    crawl.middleware._seen = BrokenPages()
    crawl.run(work)
    assert crawl.counts == {"checked": 2, "new": 2, "error/internal": 1}
    assert crawl.dedup.delivered == ["https://e.com/a", "https://e.com/c"]


START = {"is_start_request": True}


@pytest.mark.parametrize(("has_middleware", "flags"), [(True, []), (False, ["crawldedup:near_duplicate"])])
def test_a_start_page_is_not_dropped_and_loses_its_items_only_where_that_can_be(
    caplog: pytest.LogCaptureFixture, has_middleware: bool, flags: list[str]
) -> None:
    caplog.set_level(logging.DEBUG)

    async def work(crawl: Crawl) -> None:
        await crawl.page("a", "text")
        request, response = await crawl.page("b", "text", meta=dict(START))
        assert response is not None
        assert response.flags == flags
        assert request.meta.get("_crawldedup_drop_items", False) is has_middleware

    assert "dropped" not in Crawl(has_item_middleware=has_middleware).run(work).counts
    assert ("drops the items of https://e.com/b" in caplog.text) is has_middleware
    assert ("marks https://e.com/b" in caplog.text) is not has_middleware


def test_under_inspection_nothing_is_remembered_dropped_or_closed(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def work(crawl: Crawl) -> None:
        crawl.dedup.seen["text"] = ["https://e.com/a"]
        drop = {"meta": {"crawldedup": {"action": "drop", "remember": True}}}
        for path in ("b", "c"):
            _, response = await crawl.page(path, "text", **drop)
            assert response is not None
            assert response.flags == ["crawldedup:near_duplicate"]
        await crawl.page("d", "new text")
        crawl.dedup.errors = [ProfileMismatchError("Namespace news", index_profile="old", own_profile="new")]
        assert (await crawl.page("e", "other text"))[1] is not None

    async def start() -> None:
        """Stand for what commands put into the class of the spider."""

    start.__module__ = "scrapy.commands.fetch"
    crawl = Crawl(is_interactive=True, remember=False, on_error="fail")
    crawl.crawler.spider.start = start  # type: ignore[union-attr, method-assign, assignment]
    crawl.run(work)
    assert not any(page.remember for page in crawl.dedup.pages_asked)
    assert crawl.crawler.engine.closed == []
    # The store is not opened before there is a page to look at.
    assert crawl.dedup.calls == [*["judge"] * 4, "close"]
    assert "https://e.com/b is near duplicate (0.970) of https://e.com/a" in caplog.text
    assert "https://e.com/d is new" in caplog.text
    assert "Namespace news" in caplog.text


def test_an_unexpected_error_costs_no_page_and_is_explained_once(caplog: pytest.LogCaptureFixture) -> None:
    async def work(crawl: Crawl) -> None:
        for path in "ab":
            assert (await crawl.page(path, "unexpected"))[1] is not None
        crawl.dedup.errors = [KeyError("x"), KeyError("y"), None]
        for path in "abc":
            assert (await crawl.page(path, "text"))[1] is not None

    assert Crawl().run(work).counts == {"error/internal": 4, "checked": 1, "new": 1}
    assert caplog.text.count("ZeroDivisionError: bad") == 1
    assert caplog.text.count("KeyError: 'x'") == 1
    assert "KeyError: 'y'" not in caplog.text
    assert "\x1b" not in caplog.text


def test_a_journal_that_cannot_be_written_costs_no_page(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def work(crawl: Crawl) -> None:
        for path in "ab":
            assert (await crawl.page(path, f"text of {path}"))[1] is not None

    (tmp_path / "file").touch()
    assert Crawl(journal=f"{tmp_path}/file/journal").run(work).counts == {"checked": 2, "new": 2}
    assert caplog.text.count("cannot write the journal in") == 1


def test_a_crawl_that_remembers_nothing_joins_no_index() -> None:
    async def work(crawl: Crawl) -> None:
        await crawl.page("a", "text")

    assert Crawl(remember=False).run(work).dedup.calls == ["info", "judge", "close"]


def test_a_store_that_is_down_at_the_start_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    async def work(crawl: Crawl) -> None:
        await crawl.page("a", "text")

    crawl = Crawl()
    crawl.dedup.errors = [DOWN]
    assert crawl.run(work).counts == {"checked": 1, "new": 1}
    assert crawl.crawler.engine.closed == []
    assert "refuses the connection" in caplog.text


@pytest.mark.parametrize(
    ("error", "on_error"),
    [
        (ProfileMismatchError("Namespace news", index_profile="old", own_profile="new"), "pass"),
        (ConfigurationError("No such index."), "pass"),
        (ForeignStoreError("seen.sqlite is a SQLite file of another program"), "pass"),
        (DOWN, "fail"),
    ],
)
@pytest.mark.parametrize("at_start", [True, False])
def test_what_cannot_be_mended_closes_the_spider(
    error: Exception, on_error: str, at_start: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(crawl: Crawl) -> None:
        if not at_start:
            crawl.dedup.errors = [error, error]
            for path in "ab":
                assert (await crawl.page(path, "text"))[1] is not None

    crawl = Crawl(on_error=on_error)
    if at_start:
        crawl.dedup.errors = [error]
    assert crawl.run(work).crawler.engine.closed == ["crawldedup_error"]
    problems = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(problems) == 1
    assert str(error) in problems[0].getMessage()
    assert problems[0].exc_info is None


def test_log_lines_cannot_be_forged_by_a_stored_url(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def work(crawl: Crawl) -> None:
        crawl.dedup.seen["text"] = ["https://e.com/\n2026-01-01 [root] ERROR: \x1b[31mforged"]
        await crawl.page("b", "text")

    Crawl().run(work)
    assert r"of https://e.com/\n2026-01-01 [root] ERROR: \x1b[31mforged" in caplog.text
    assert "\x1b" not in caplog.text
