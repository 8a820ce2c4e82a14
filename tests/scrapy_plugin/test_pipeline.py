"""The item pipeline: its decisions with stand-ins for the store, and real crawls on every kind of store."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from scrapy.exceptions import DropItem, NotConfigured

from crawldedup import Deduplicator
from crawldedup.errors import MissingDependencyError, ProfileMismatchError, StoreFullError, StoreUnavailableError
from crawldedup.page import Page
from crawldedup.scrapy_plugin.items import DedupItemPipeline, DuplicateItemError
from crawldedup.scrapy_plugin.settings import CrawlOptions
from tests.scrapy_plugin.conftest import Crawler
from tests.scrapy_plugin.fakes import FakeCrawler, HandedIn
from tests.scrapy_plugin.website import Site, article

DOWN = StoreUnavailableError("The store at cache:6379 refuses the connection.")
PROSE = article(1).body.decode().split("<p>", 1)[1].split("</p></article>")[0].replace("</p><p>", "\n")
NEAR = article(1, changed_words=2).body.decode().split("<p>", 1)[1].split("</p></article>")[0].replace("</p><p>", "\n")
OTHER = article(2).body.decode().split("<p>", 1)[1].split("</p></article>")[0].replace("</p><p>", "\n")


class Crawl(HandedIn):
    """A crawl whose items are handed in one by one."""

    def __init__(self, action: str = "drop", **options: Any) -> None:
        super().__init__()
        self.pipeline = DedupItemPipeline(
            self.crawler,  # type: ignore[arg-type]
            CrawlOptions(item_fields=["body"], item_action=action, **options),  # type: ignore[arg-type]
            self.dedup,  # type: ignore[arg-type]
        )

    async def opened(self) -> None:
        await self.pipeline.open_spider()

    async def closed(self) -> None:
        await self.pipeline.close_spider()

    async def item(self, name: str, body: Any) -> dict[str, Any] | None:
        """The item if it is kept."""
        try:
            kept: dict[str, Any] = await self.pipeline.process_item({"url": f"https://e.com/{name}", "body": body})
        except DropItem:
            return None
        return kept

    @property
    def counts(self) -> dict[str, int]:
        return {name.removeprefix("item/"): value for name, value in super().counts.items()}


def test_a_near_duplicate_is_dropped_and_says_of_what() -> None:
    async def work(crawl: Crawl) -> None:
        assert await crawl.item("a", "text") == {"url": "https://e.com/a", "body": "text"}
        with pytest.raises(DuplicateItemError, match=r"^near duplicate \(0\.970\) of https://e\.com/a$") as dropped:
            await crawl.pipeline.process_item({"url": "https://e.com/b", "body": "TEXT"})
        assert dropped.value.verdict.original == "https://e.com/a"
        assert dropped.value.log_level == "DEBUG"
        assert await crawl.item("a", "text") is not None
        await crawl.item("\x1b[2Ja", "other text")
        with pytest.raises(DuplicateItemError, match=r"of https://e\.com/\\x1b\[2Ja$"):
            await crawl.pipeline.process_item({"url": "https://e.com/b", "body": "OTHER text"})

    crawl = Crawl().run(work)
    assert crawl.counts == {"checked": 5, "new": 2, "duplicate/near": 2, "dropped": 2, "revisit": 1}
    assert crawl.dedup.calls == ["info", *["judge"] * 5, "close"]


def test_the_scope_and_whether_to_remember_are_handed_on() -> None:
    async def work(crawl: Crawl) -> None:
        await crawl.item("a", "text")

    (page,) = Crawl(scope="spider", remember=False).run(work).dedup.pages_asked
    assert (page.scope_key, page.remember) == ("news", False)
    (page,) = Crawl(scope="site").run(work).dedup.pages_asked
    assert page == Page("https://e.com/a", text="text", identity="item https://e.com/a", scope_key="e.com")


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://shop.e.co.uk/a", "e.co.uk"),
        (["https://shop.e.co.uk/a"], "e.co.uk"),
        ("//shop.e.co.uk/7", "e.co.uk"),
        ("ftp://e.com/a", "e.com"),
        *((unknown, None) for unknown in (None, "", "/a", "7", "https://", "http://[broken", True, object())),
    ],
)
def test_the_site_of_an_item_is_that_of_its_url(url: object, site: str | None) -> None:
    async def work(crawl: Crawl) -> None:
        await crawl.pipeline.process_item({"url": url, "body": "text"})

    crawl = Crawl(scope="site").run(work)
    assert [page.scope_key for page in crawl.dedup.pages_asked] == ([site] if site else [])
    assert crawl.counts.get("skipped/no_site", 0) == (site is None)


def test_one_field_with_markup_is_a_page_and_several_are_one_text() -> None:
    async def work(crawl: Crawl) -> None:
        await crawl.item("a", "<table><tr><td>text")
        await crawl.item("b", "<p>text</p>")

    pages = Crawl().run(work).dedup.pages_asked
    assert [(page.html, page.text) for page in pages] == [(None, "<table><tr><td>text"), ("<p>text</p>", None)]


def test_marked_items_all_pass_with_their_verdicts() -> None:
    async def work(crawl: Crawl) -> None:
        items = [await crawl.item(name, text) for name, text in (("a", "text"), ("b", "Text"), ("c", None))]
        assert [item and item["dedup_kind"] for item in items] == ["new", "near_duplicate", None]
        assert [item and item["dedup_original"] for item in items] == [None, "https://e.com/a", None]

    counts = Crawl(action="mark").run(work).counts
    assert counts == {"checked": 2, "new": 1, "duplicate/near": 1, "skipped/no_field": 1}


def test_the_log_names_a_duplicate_that_is_kept(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    async def work(crawl: Crawl) -> None:
        for name in "ab":
            assert await crawl.item(name, "text") is not None

    Crawl(keep_per_cluster=2).run(work)
    assert "delivers https://e.com/b: near duplicate (0.970) of https://e.com/a" in caplog.text


@dataclass
class Closed:
    body: str = "text"
    url: str = "https://e.com/a"


class Hostile(dict[str, Any]):
    def __setitem__(self, key: str, value: object) -> None:
        raise KeyError(f"{key} \x1b[31m")


@pytest.mark.parametrize("item", [Closed(), Hostile(body="text")])
def test_an_item_that_has_no_room_for_its_verdict_passes_and_is_said_once(
    caplog: pytest.LogCaptureFixture, item: Any
) -> None:
    async def work(crawl: Crawl) -> None:
        for _ in range(2):
            assert await crawl.pipeline.process_item(item) == item

    counts = Crawl(action="mark").run(work).counts
    assert (counts["checked"], counts["error/mark"]) == (2, 2)
    assert [message.count("does not take its verdict") for message in caplog.messages].count(1) == 1
    assert "\x1b" not in caplog.text


@pytest.mark.parametrize(
    ("item", "reason"),
    [({"url": "u"}, "no_field"), ({"body": {"a": 1}}, "field_type"), ("no item", "not_an_item"), (None, "not_an_item")],
)
@pytest.mark.parametrize("action", ["drop", "mark"])
def test_what_has_no_text_passes_and_is_counted(item: Any, reason: str, action: str) -> None:
    async def work(crawl: Crawl) -> None:
        assert await crawl.pipeline.process_item(item) is item

    assert Crawl(action=action).run(work).counts == {f"skipped/{reason}": 1}


@pytest.mark.parametrize(
    ("body", "reason"),
    [("page error: x", "skipped/too_deep"), ("unexpected: x", "error/internal")],
)
def test_a_text_that_cannot_be_read_passes_and_is_counted(body: str, reason: str) -> None:
    async def work(crawl: Crawl) -> None:
        assert await crawl.item("a", body) is not None
        assert await crawl.item("b", "text") is not None

    assert Crawl().run(work).counts == {reason: 1, "checked": 1, "new": 1}


@pytest.mark.parametrize(
    ("error", "count"), [(DOWN, "unavailable"), (StoreFullError("full"), "full"), (ZeroDivisionError(), "internal")]
)
def test_a_store_that_fails_costs_no_item(error: Exception, count: str) -> None:
    async def work(crawl: Crawl) -> None:
        crawl.dedup.errors = [error]
        assert await crawl.item("a", "text") is not None
        assert await crawl.item("b", "text") is not None
        assert await crawl.item("c", "text") is None

    crawl = Crawl().run(work)
    assert crawl.counts == {f"error/{count}": 1, "checked": 2, "new": 1, "duplicate/near": 1, "dropped": 1}
    assert crawl.crawler.engine.closed == []


def test_an_index_that_can_never_be_used_ends_the_crawl_at_its_start() -> None:
    async def work(crawl: Crawl) -> None:
        assert crawl.crawler.engine.closed == ["crawldedup_error"]

    crawl = Crawl()
    crawl.dedup.errors = [ProfileMismatchError("x", index_profile="a", own_profile="b")]
    crawl.run(work)


@pytest.mark.parametrize("settings", [{"CRAWLDEDUP_ENABLED": False}, {}, {"CRAWLDEDUP_ITEM_FIELDS": 5}])
def test_it_is_not_there_where_it_is_off_or_set_wrongly(settings: dict[str, object]) -> None:
    async def build() -> None:
        with pytest.raises(NotConfigured):
            DedupItemPipeline.from_crawler(FakeCrawler(**settings))  # type: ignore[arg-type]

    asyncio.run(build())


def test_a_store_whose_package_is_missing_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise MissingDependencyError("install crawldedup[redis]")

    monkeypatch.setattr("crawldedup.scrapy_plugin.items.AsyncDeduplicator.from_options", missing)

    async def build() -> None:
        with pytest.raises(NotConfigured):
            DedupItemPipeline.from_crawler(FakeCrawler(CRAWLDEDUP_ITEM_FIELDS="body"))  # type: ignore[arg-type]

    asyncio.run(build())


def test_it_is_not_there_where_a_person_looks_at_items() -> None:
    crawler = FakeCrawler(CRAWLDEDUP_ITEM_FIELDS="body")

    async def start() -> None:
        """What `scrapy parse` puts into the spider's class."""

    start.__module__ = "scrapy.commands.parse"
    crawler.spider.start = start  # type: ignore[method-assign,assignment]
    with pytest.raises(NotConfigured):
        DedupItemPipeline.from_crawler(crawler)  # type: ignore[arg-type]


def item(name: str, body: str | None = PROSE) -> dict[str, Any]:
    return {"url": f"https://e.com/{name}", "body": body}


ITEMS = [
    item("empty", None),  # passes without waiting for the others
    item("a"),
    item("near", NEAR),
    item("other", OTHER),
    item("copy", f"<div><p>{PROSE}</p></div>"),
    item("a"),
]


WITH_ITEMS: dict[str, Any] = {"CRAWLDEDUP_ITEM_FIELDS": ["body"]}


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    # Pages that differ by far more than their articles do.
    head = "<meta name=description content='{}'>"
    with Site(
        {
            "/a": article(1, head=head.format("one")),
            "/b": article(1, head=head.format("other"), changed_words=2),
            "/c": article(3),
        }
    ) as running:
        yield running


def test_a_crawl_drops_repeated_items(site: Site, crawl: Crawler, lasting_store: str) -> None:
    # Without the add-on, which judges pages.
    pipelines = {"crawldedup.scrapy_plugin.items.DedupItemPipeline": 100}
    outcome = crawl(
        site,
        [],
        items=ITEMS,
        ADDONS={},
        ITEM_PIPELINES=pipelines,
        CRAWLDEDUP_STORE=lasting_store,
        CRAWLDEDUP_NAMESPACE="news",
        CRAWLDEDUP_TTL="1d",
        **WITH_ITEMS,
    )
    kept, dropped = outcome.report["kept"], outcome.report["refused"]
    assert [item["url"].rpartition("/")[2] for item in kept] == ["empty", "a", "other", "a"]
    assert [url.rpartition("/")[2] for url, _ in dropped] == ["near", "copy"]
    assert all(reason.endswith("of https://e.com/a") for _, reason in dropped)
    assert outcome.counts == {
        "item/checked": 5,
        "item/new": 2,
        "item/duplicate/near": 1,
        "item/duplicate/exact": 1,
        "item/revisit": 1,
        "item/dropped": 2,
        "item/skipped/no_field": 1,
    }
    assert outcome.report["stats"]["item_dropped_count"] == 2
    assert outcome.errors == []
    with Deduplicator(lasting_store, namespace="news.items", extractor="text") as index:
        assert index.info().pages == 2
    with Deduplicator(lasting_store, namespace="news") as pages:
        assert pages.info().pages == 0


def test_pages_and_items_are_judged_beside_each_other_and_never_meet(site: Site, crawl: Crawler) -> None:
    outcome = crawl(
        site,
        ["/a", "/b", "/c"],
        items=[item("c", OTHER)],
        CRAWLDEDUP_ACTION="mark",
        **WITH_ITEMS,
    )
    # The page passes, its item does not.
    assert [kept["url"] for kept in outcome.report["kept"]] == ["https://e.com/c", "/a", "/c"]
    assert [url for url, _ in outcome.report["refused"]] == ["/b"]
    assert outcome.counts == {
        "skipped/content_type": 1,
        "checked": 3,
        "new": 2,
        "duplicate/near": 1,
        "item/checked": 4,
        "item/new": 3,
        "item/duplicate/near": 1,
        "item/dropped": 1,
    }
