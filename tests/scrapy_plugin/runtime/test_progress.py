from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from crawldedup.scrapy_plugin.reading.messages import Judged
from crawldedup.scrapy_plugin.runtime.progress import Progress, bottleneck, place_of, progress_line, start_line
from crawldedup.scrapy_plugin.settings import CrawlOptions
from crawldedup.scrapy_plugin.stats import CrawlStats, Figures
from crawldedup.verdict import Kind, Verdict
from tests.scrapy_plugin.fakes import FakeCrawler


@pytest.mark.parametrize(
    ("store", "place"),
    [
        ("memory://", "memory, which ends with the crawl"),
        ("sqlite:///seen.sqlite", f"{Path.cwd()}/seen.sqlite"),
        ("SQLite:////var/a%20b.sqlite", "/var/a b.sqlite"),
        ("redis://user:secret@cache:6379/0", "redis://user:***@cache:6379/0"),
        ("unix:///run/redis.sock?password=secret", "unix:///run/redis.sock?password=***"),
        ("redis+cluster://:secret@one,two:7000", "redis+cluster://:***@one,two:7000"),
    ],
)
def test_the_place_of_a_store_is_shown_whole_but_for_its_password(store: str, place: str) -> None:
    assert place_of(store) == place


def test_the_start_line_tells_what_pages_are_compared_with() -> None:
    options = CrawlOptions(store="redis://:secret@cache/0", namespace="news", workers=3, action="mark", similarity=0.85)
    assert start_line(options, 1204) == (
        "checks pages: store redis://:***@cache/0, namespace 'news', 1,204 pages known, action mark, similarity 0.85, "
        "extractor blocks, 3 workers"
    )
    assert " an unknown number of pages known, " in start_line(options, None)


def test_the_start_line_of_items_has_their_action() -> None:
    options = CrawlOptions(item_action="mark", workers=3)
    assert start_line(options, 1, "item") == (
        "checks items: store memory, which ends with the crawl, namespace 'default', 1 item known, action mark, "
        "similarity 0.9"
    )


def test_the_line_while_a_crawl_runs_has_sums_and_rates() -> None:
    before = Figures(checked=1000, duplicates=100, waiting=10, reading=5, store=2)
    now = Figures(1300, 130, 450, 0, 2, 70.04, 30.06, 6.5)
    assert progress_line(now, before, seconds=30) == (
        "1,300 pages checked (at 600/min), 450 dropped, 2 passed unchecked, duplicates at 60/min; pages waited 60.0 s: "
        "reading 25.1 s, store 4.5 s"
    )
    assert ", 450 dropped, 7 items of duplicates dropped, " in progress_line(now._replace(items_dropped=7), before, 30)


def test_a_crawl_whose_workers_only_read_is_told_what_helps() -> None:
    before, now = Figures(reading=10), Figures(reading=67)
    quick, slow = (CrawlOptions(workers=1, extractor=name) for name in ("blocks", "trafilatura"))
    assert bottleneck(now, before, 60, quick) == (
        "reading pages holds the crawl up: 1 worker worked for 95% of the last 60 s; more CRAWLDEDUP_WORKERS do more, "
        "where there are cores for them"
    )
    assert 'CRAWLDEDUP_EXTRACTOR = "blocks" reads faster' in (bottleneck(now, before, 60, slow) or "")
    assert bottleneck(now, before, 60, CrawlOptions(workers=2)) is None
    assert bottleneck(Figures(reading=62), before, 60, quick) is None


class Told:
    """A crawl that says how far it is."""

    def __init__(self, interval: float = 60) -> None:
        self.crawler = FakeCrawler(LOGSTATS_INTERVAL=interval)
        self.stats = CrawlStats(self.crawler.stats)
        self.progress = Progress(self.crawler, self.stats)  # type: ignore[arg-type]


def test_nothing_is_said_while_nothing_happens(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    told = Told()
    told.progress.tell()
    told.stats.skipped("status")
    told.progress.tell()
    assert caplog.messages == []
    told.stats.checked(Verdict(Kind.NEW, "u"), dropped=False)
    for _ in range(2):
        told.progress.tell()
    told.stats.error("unavailable")
    told.progress.tell()
    assert [message.partition(", ")[0] for message in caplog.messages] == [
        "crawldedup: 1 page checked (at 1/min)",
        "crawldedup: 1 page checked (at 0/min)",
    ]
    assert "1 passed unchecked" in caplog.messages[1]


def test_the_bottleneck_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def crawl() -> None:
        told = Told(interval=60)
        told.progress.begin(CrawlOptions(workers=1), 0)
        for _ in range(2):
            told.stats.checked(Verdict(Kind.NEW, "u"), dropped=False)
            told.stats.worked(Judged(Verdict(Kind.NEW, "u"), reading=30, store=29))
            told.progress.tell()
        told.progress.end()

    asyncio.run(crawl())
    assert sum("holds the crawl up" in message for message in caplog.messages) == 1


@pytest.mark.parametrize(("interval", "lines"), [(0.01, True), (0, False)])
def test_it_is_said_again_and_again_until_the_end(
    caplog: pytest.LogCaptureFixture, interval: float, lines: bool
) -> None:
    caplog.set_level(logging.INFO)

    async def crawl() -> None:
        told = Told(interval)
        told.progress.begin(CrawlOptions(workers=1), 0)
        for _ in range(3):
            told.stats.checked(Verdict(Kind.NEW, "u"), dropped=False)
            await asyncio.sleep(0.1)
        told.progress.end()
        told.stats.checked(Verdict(Kind.NEW, "u"), dropped=False)
        await asyncio.sleep(0.1)

    asyncio.run(crawl())
    said = [message for message in caplog.messages if "waited" in message]
    assert [line.partition(" checked")[0] for line in said] == [
        "crawldedup: 1 page", "crawldedup: 2 pages", "crawldedup: 3 pages"
    ] * lines  # fmt: skip


def test_a_crawl_that_waits_for_its_store_is_told_so() -> None:
    told = bottleneck(Figures(reading=20, store=36), Figures(), 60, CrawlOptions(workers=1, extractor="trafilatura"))
    assert told is not None
    assert told.startswith("asking the store holds the crawl up: 1 worker worked for 93% of the last 60 s; more CRAWL")
