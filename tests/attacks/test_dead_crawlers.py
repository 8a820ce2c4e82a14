"""No crawler that dies takes a page with it, and none makes others deliver more than what it had
not told.
"""

import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest

from crawldedup import Deduplicator, Kind, Page
from tests.attacks.fleet import Fleet, Queue, judge, text_of
from tests.scrapy_plugin.crawling import QUICK, crawl_apart, start
from tests.scrapy_plugin.prepared import CONTEXT
from tests.scrapy_plugin.website import Site, article
from tests.servers import wait_until
from tests.stores.backends import Backend


def crawl_and_die(store: str) -> None:
    """Remember pages, and die before one is delivered."""
    dedup = Deduplicator(store)
    for page in pages("dead"):
        dedup.check(page.url, text=page.text, delivered=False)
    dedup.heartbeat()
    os.kill(os.getpid(), signal.SIGKILL)


def let_a_crawler_die(store: str) -> None:
    crawler = CONTEXT.Process(target=crawl_and_die, args=(store,))
    crawler.start()
    crawler.join(30)
    assert crawler.exitcode == -signal.SIGKILL


def pages(host: str) -> list[Page]:
    return [
        Page(f"https://{host}.example/{at}", text=text_of((at, 0)), delivered=False)
        for at in range(20)
    ]


def kinds(dedup: Deduplicator, host: str) -> set[tuple[Kind, bool]]:
    """The verdicts on the pages, and whether they are abandoned."""
    verdicts = [dedup.check(page.url, text=page.text) for page in pages(host)]
    return {(verdict.kind, verdict.abandoned) for verdict in verdicts}


def test_the_urls_of_a_dead_crawler_come_again_while_another_is_at_work(
    shared_backend: Backend,
) -> None:
    with Deduplicator(shared_backend.url) as fellow, Deduplicator(shared_backend.url) as successor:
        fellow.check(
            "https://fellow.example/", text="Words of a fellow that is at work all the time."
        )
        let_a_crawler_die(shared_backend.url)
        assert kinds(successor, "dead") == {(Kind.REVISIT, True)}
        # Now the pages are its own, and delivered.
        assert kinds(fellow, "copies") == {(Kind.EXACT_DUPLICATE, False)}
        # In one batch the answer to the first ends the lease, and the others were computed before.
        fellow.clear()
        let_a_crawler_die(shared_backend.url)
        assert {verdict.kind for verdict in successor.check_many(pages("dead"))} == {Kind.REVISIT}


@pytest.mark.parametrize(
    ("contents", "kills"), [(30, 4), pytest.param(120, 20, marks=pytest.mark.nightly)]
)
def test_a_fleet_whose_crawlers_are_killed_loses_nothing(
    shared_backend: Backend, tmp_path: Path, contents: int, kills: int
) -> None:
    outcome = Fleet(shared_backend.url, tmp_path, random.Random(1)).crawl(
        range(contents), kills=kills, every=0.04
    )
    assert outcome.kills > kills // 4
    assert (outcome.lost, outcome.unanswered, outcome.needless) == (0, 0, 0)
    assert outcome.twice <= outcome.kills * 20


def test_the_judge_sees_what_is_lost_and_what_comes_twice(tmp_path: Path) -> None:
    queues = [
        Queue("", [(content, copy) for content in (0, 2, 4)], tmp_path / str(copy), 1, 0)
        for copy in range(2)
    ]
    queues[0].record.write_text("0 0 1 1 1\n2 0 1 2 1\n4 0 0 3 2\n")
    queues[1].record.write_text("0 1 1 4 3\n2 1 1 5 3\n")
    # What was delivered last may not have been told, what was before has been.
    assert judge(queues, {1}, untold=1) == (3, 1, 1, 1, 2, 1)
    assert judge(queues, set(), untold=1) == (3, 0, 1, 1, 2, 2)


@pytest.mark.nightly
def test_a_crawl_that_is_killed_and_begun_again_loses_nothing(
    shared_backend: Backend, tmp_path: Path
) -> None:
    """And it delivers little twice: what was in progress, and what it had not told yet."""
    record = tmp_path / "delivered"
    settings: dict[str, Any] = QUICK | {
        "spider_class": "recording_spider.RecordingSpider",
        "ITEM_PIPELINES": {"recording_spider.RecordingPipeline": 100},
        "CRAWLDEDUP_STORE": shared_backend.url,
    }
    answers = {f"/{number}": article(number) for number in range(100)}
    with Site(answers) as site:
        crawl = start(site, tmp_path, list(answers), **settings)
        wait_until(lambda: record.exists() and len(record.read_text().split()) > len(answers) // 2)
        crawl.kill()
        crawl.wait()
        assert {*record.read_text().split()} < {*answers}, (
            "the crawl was done before it could be killed"
        )
        again = crawl_apart(site, tmp_path, list(answers), CRAWLDEDUP_REVISIT="drop", **settings)
    assert again.exit_status == 0, again.log
    delivered = record.read_text().split()
    assert {*delivered} == {*answers}, again.log
    assert len(delivered) - len(answers) <= 2 * 8  # requests in progress
