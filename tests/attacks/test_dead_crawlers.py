"""No crawler that dies takes a page with it, and none makes others deliver more than what it had not told."""

from __future__ import annotations

import contextlib
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from crawldedup import Deduplicator, Kind, Page
from tests.attacks.fleet import Fleet, Line, Queue, judge, text_of, url_of
from tests.scrapy_plugin.crawling import QUICK, crawl_apart, start
from tests.scrapy_plugin.website import Site, article
from tests.servers import RedisServer, wait_until
from tests.stores.backends import Backend

PAGES = range(20)
FELLOWS = "Words of a fellow that is at work all the time, in a page of its own."

# Joins, remembers pages when it is told to, and dies before it delivers one.
CRAWL_AND_DIE = """
import os, signal, sys
from crawldedup import Deduplicator
from tests.attacks.fleet import text_of, url_of
dedup = Deduplicator(sys.argv[1])
dedup.open()
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[2])):
    dedup.check(url_of((2 * number, 0)), text=text_of((2 * number, 0)), delivered=False)
dedup.heartbeat()
os.kill(os.getpid(), signal.SIGKILL)
"""


@contextlib.contextmanager
def crawler_that_dies(store: str) -> Iterator[None]:
    """A crawler that has joined, and goes on until it dies when the block ends."""
    command = [sys.executable, "-c", CRAWL_AND_DIE, store, str(len(PAGES))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as crawler:
        assert crawler.stdout is not None
        assert crawler.stdout.readline() == "ready\n"
        yield
        crawler.communicate("go on\n")
    assert crawler.returncode == -signal.SIGKILL


def kinds(dedup: Deduplicator, copy: int) -> set[tuple[Kind, bool]]:
    """The verdicts on one copy of each page, and whether they are abandoned."""
    places = [(2 * number, copy) for number in PAGES]
    verdicts = [dedup.check(url_of(place), text=text_of(place)) for place in places]
    return {(verdict.kind, verdict.abandoned) for verdict in verdicts}


def test_the_urls_of_a_dead_crawler_come_again_while_another_is_at_work(shared_backend: Backend) -> None:
    with Deduplicator(shared_backend.url) as fellow, Deduplicator(shared_backend.url) as successor:
        fellow.check("https://fellow.example/", text=FELLOWS)
        with crawler_that_dies(shared_backend.url):
            pass
        assert kinds(successor, 0) == {(Kind.REVISIT, True)}
        # Now the pages are its own, and delivered.
        assert kinds(fellow, 1) == {(Kind.EXACT_DUPLICATE, False)}


def test_they_come_again_in_one_batch(shared_backend: Backend) -> None:
    """The answer to the first ends the lease, and the others were computed before."""
    with Deduplicator(shared_backend.url) as successor:
        successor.check("https://fellow.example/", text=FELLOWS)
        with crawler_that_dies(shared_backend.url):
            pass
        places = [(2 * number, 0) for number in PAGES]
        pages = [Page(url_of(place), text=text_of(place), delivered=False) for place in places]
        assert {verdict.kind for verdict in successor.check_many(pages)} == {Kind.REVISIT}


@pytest.mark.nightly
def test_its_process_is_known_when_the_server_has_lost_everything(redis_server: RedisServer) -> None:
    with Deduplicator(redis_server.url) as fellow:
        fellow.open()
        with crawler_that_dies(redis_server.url):
            redis_server.client.flushall()
            fellow.check("https://fellow.example/", text=FELLOWS)
        assert kinds(fellow, 0) == {(Kind.REVISIT, True)}


@pytest.mark.nightly
def test_copies_take_the_places(shared_backend: Backend) -> None:
    with crawler_that_dies(shared_backend.url):
        pass
    with Deduplicator(shared_backend.url) as fellow, Deduplicator(shared_backend.url) as successor:
        fellow.open()
        assert kinds(fellow, 1) == {(Kind.NEW, False)}
        assert kinds(successor, 0) == {(Kind.EXACT_DUPLICATE, False)}
        assert fellow.info().pages == len(PAGES)


@pytest.mark.parametrize(("contents", "kills"), [(30, 4), pytest.param(120, 20, marks=pytest.mark.nightly)])
def test_a_fleet_whose_crawlers_are_killed_loses_nothing(
    shared_backend: Backend, tmp_path: Path, contents: int, kills: int
) -> None:
    outcome = Fleet(shared_backend.url, tmp_path, random.Random(1)).crawl(range(contents), kills=kills, every=0.04)
    assert outcome.kills > kills // 4
    assert (outcome.lost, outcome.unanswered, outcome.needless) == (0, 0, 0)
    assert outcome.twice <= outcome.kills * 20


def test_the_judge_sees_what_is_lost_and_what_comes_twice(tmp_path: Path) -> None:
    queues = [Queue("", [(content, copy) for content in (0, 2, 4)], tmp_path / str(copy), 1, 0) for copy in range(2)]

    def write(number: int, *lines: Line) -> None:
        texts = [
            f"{line.place[0]} {line.place[1]} {int(line.is_delivered)} {line.time} {line.process}" for line in lines
        ]
        queues[number].record.write_text("\n".join(texts))

    write(0, Line((0, 0), True, 1, "a"), Line((2, 0), True, 2, "a"), Line((4, 0), False, 3, "b"))
    write(1, Line((0, 1), True, 4, "c"), Line((2, 1), True, 5, "c"))
    # What was delivered last may not have been told, what was before has been.
    assert judge(queues, {"a"}, untold=1) == (3, 1, 1, 1, 2, 1)
    assert judge(queues, set(), untold=1) == (3, 0, 1, 1, 2, 2)


CONTENTS = range(100)
IN_PROGRESS = 8


def delivered_in(folder: Path) -> list[int]:
    """The contents of the pages that came through the pipelines of the crawls in a folder."""
    record = folder / "delivered"
    paths = record.read_text().split() if record.exists() else []
    return [int(path.rpartition("/")[2]) for path in paths if path != "/held"]


@pytest.mark.nightly
@pytest.mark.parametrize("keeps", ["a folder of the crawl", "redis"])
def test_a_crawl_that_is_killed_beside_another_and_begun_again_loses_nothing(
    keeps: str, tmp_path: Path, redis_server: RedisServer
) -> None:
    killed, beside = tmp_path / "killed", tmp_path / "beside"
    for folder in (killed, beside):
        folder.mkdir()
    store = redis_server.url if keeps == "redis" else f"sqlite:///{killed}/job/crawldedup.sqlite"
    settings: dict[str, Any] = {
        **QUICK,
        "spider_class": "recording_spider.RecordingSpider",
        "ITEM_PIPELINES": {"recording_spider.RecordingPipeline": 100},
        "CONCURRENT_REQUESTS": IN_PROGRESS,
        "CONCURRENT_REQUESTS_PER_DOMAIN": IN_PROGRESS,
        "CRAWLDEDUP_WORKERS": 1,
    }
    own = {"CRAWLDEDUP_STORE": store} if keeps == "redis" else {"JOBDIR": str(killed / "job")}
    pages = [f"/{number}" for number in CONTENTS]
    copies = ["/held", *(f"/copy/{number}" for number in reversed(CONTENTS))]
    answers = {f"{folder}/{number}": article(number) for number in CONTENTS for folder in ("", "/copy")}
    with Site({**answers, "/held": article(len(CONTENTS))}) as site, ThreadPoolExecutor(1) as thread:
        both_at_work, is_killed = threading.Event(), threading.Event()

        def hold_the_fellow() -> None:
            both_at_work.set()
            is_killed.wait()

        def hold_the_crawl() -> None:
            both_at_work.wait()

        site.actions["/held"] = hold_the_fellow
        site.actions |= dict.fromkeys(pages[20:], hold_the_crawl)
        crawl = start(site, killed, pages, **settings, **own)
        wait_until(lambda: len(delivered_in(killed)) > 5)
        slow = {"CONCURRENT_REQUESTS": 1, "DOWNLOAD_DELAY": 0.02, "CRAWLDEDUP_STORE": store}
        fellow = thread.submit(crawl_apart, site, beside, copies, **{**settings, **slow})
        wait_until(lambda: len(delivered_in(killed)) > len(CONTENTS) // 2)
        crawl.kill()
        crawl.wait()
        before = set(delivered_in(killed))
        is_killed.set()
        again = crawl_apart(site, killed, pages, **settings, **own)
        for ended in (again, fellow.result()):
            assert ended.exit_status == 0, ended.log
    assert before < set(CONTENTS), "the crawl was done before it could be killed"
    assert {*delivered_in(killed), *delivered_in(beside)} == set(CONTENTS)
    # What was in progress when the crawl died, and what it had not told yet.
    assert len(before & set(delivered_in(beside))) <= 2 * IN_PROGRESS
