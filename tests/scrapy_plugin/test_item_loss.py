"""No item is lost by mistake: the whole item pipeline with its worker, items handed in one by one."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.exceptions import DropItem

from crawldedup.scrapy_plugin.items import DedupItemPipeline
from tests.scrapy_plugin.crawling import counts_in
from tests.scrapy_plugin.fakes import FakeCrawler
from tests.scrapy_plugin.website import article

if TYPE_CHECKING:
    from collections.abc import Iterable

TEASER = "<p>Every evening of the summer the ferry leaves the island at seven and comes back long after dark.</p>" * 3


def body(seed: int) -> str:
    """Some 300 words, other ones for every seed."""
    return article(seed).body.decode().split("<article>", 1)[1].split("</article>")[0]


def passed(items: Iterable[Any], **settings: Any) -> tuple[list[Any], dict[str, Any]]:
    """The items that a crawl with these settings keeps, and what it counts."""
    crawler = FakeCrawler(**{f"CRAWLDEDUP_{name}": value for name, value in settings.items()})

    async def crawl() -> list[Any]:
        pipeline = DedupItemPipeline.from_crawler(crawler)  # type: ignore[arg-type]
        await pipeline.open_spider()
        kept = []
        for item in items:
            try:
                kept.append(await pipeline.process_item(item))
            except DropItem:
                continue
        await pipeline.close_spider()
        return kept

    kept = asyncio.run(crawl())
    return kept, {name.removeprefix("item/"): count for name, count in counts_in(crawler.stats.get_stats()).items()}


@dataclasses.dataclass(frozen=True)
class Frozen:
    body: str
    dedup_kind: str | None = None
    dedup_original: str | None = None
    dedup_similarity: float | None = None


class Hostile(dict[str, Any]):
    def __setitem__(self, key: str, value: object) -> None:
        raise KeyError(f"{key} \x1b[31m")


@pytest.mark.parametrize("cls", [Frozen, Hostile])
def test_an_item_that_does_not_take_its_verdict_passes_as_it_was(cls: Any, caplog: pytest.LogCaptureFixture) -> None:
    items = [cls(body=body(seed)) for seed in (1, 2)]
    kept, counts = passed(items, ITEM_FIELDS=["body"], ITEM_ACTION="mark")
    assert kept == [cls(body=body(seed)) for seed in (1, 2)]
    assert counts == {"checked": 2, "new": 2, "error/mark": 2}
    (said,) = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert "does not take its verdict" in said
    assert "\x1b" not in said


@pytest.mark.parametrize("unclosed", ["<!-- advertisement", "<script>", "<style>", "<iframe>", "<p class='lead"])
def test_what_a_field_leaves_open_makes_no_copies_of_items_with_other_texts(unclosed: str) -> None:
    items = [{"url": f"https://e.com/{seed}", "teaser": TEASER + unclosed, "body": body(seed)} for seed in (1, 2)]
    kept, counts = passed(items, ITEM_FIELDS=["teaser", "body"])
    assert kept == items
    assert counts == {"checked": 2, "new": 2}


def test_an_item_whose_field_holds_nothing_but_markup_is_not_judged_by_the_rest() -> None:
    items = [{"url": f"https://e.com/{number}", "teaser": TEASER, "body": "<p></p>"} for number in (1, 2)]
    kept, counts = passed(items, ITEM_FIELDS=["teaser", "body"])
    assert kept == items
    assert counts == {"skipped/empty": 2}


def test_items_of_two_sites_are_apart() -> None:
    urls = [
        "https://www.one.com/a",
        "https://two.org/b",
        "https://shop.one.com/c",
        None,
        "sku:5",
        "https://www.one.com/a",
    ]
    items = [{"url": url, "body": body(1)} for url in urls]
    kept, counts = passed(items, ITEM_FIELDS=["body"], SCOPE="site")
    assert [item["url"] for item in kept] == [*urls[:2], *urls[3:]]
    assert counts == {
        "checked": 4,
        "new": 2,
        "duplicate/exact": 1,
        "dropped": 1,
        "revisit": 1,
        "skipped/no_site": 2,
    }


def test_names_that_differ_in_case_are_two_items() -> None:
    items = [{"url": url, "body": body(1)} for url in ("SKU:1", "sku:1")]
    kept, counts = passed(items, ITEM_FIELDS=["body"])
    assert kept == items[:1]
    assert counts == {"checked": 2, "new": 1, "duplicate/exact": 1, "dropped": 1}
