"""The promises that only whole crawls can show: Scrapy in its own processes, a real site, a real Redis."""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest

from crawldedup.demo.site import DemoSite, Reply, serving, target_of
from crawldedup.literature.exact import jaccard
from crawldedup.options import Options
from crawldedup.page import Page, PageReader
from crawldedup.verdict import Kind
from tests.crawls import Judged, crawl_settings, run_crawl
from tests.scrapy_plugin.prepared import prepared_demo_crawls
from tests.servers import RedisServer

if TYPE_CHECKING:
    from collections.abc import Iterator

# Who reads the pages is no matter of these promises: the quickest will do.
EXTRACTOR = "blocks"


@pytest.fixture(autouse=True)
def _prepared() -> Iterator[None]:
    with prepared_demo_crawls():
        yield


def settings_for(store: str, **changes: Any) -> dict[str, Any]:
    return crawl_settings(store, "fleet", CRAWLDEDUP_EXTRACTOR=EXTRACTOR, **changes)


def is_duplicate(page: Judged) -> bool:
    return page.kind in (Kind.NEAR_DUPLICATE, Kind.EXACT_DUPLICATE)


class Rendezvous:
    """The demo site, which answers each of the first requests only when both crawlers have made it."""

    requests = 60
    patience_seconds = 0.5

    def __init__(self, site: DemoSite) -> None:
        self._site = site
        self._lock = threading.Lock()
        self._meetings: dict[str, threading.Barrier] = {}

    def reply(self, target: str) -> Reply:
        with self._lock:
            if target not in self._meetings and len(self._meetings) < self.requests:
                self._meetings[target] = threading.Barrier(2)
            meeting = self._meetings.get(target)
        # At the start page they wait for each other's Scrapy to come up; later on one may not follow the other.
        if meeting is not None:
            with contextlib.suppress(threading.BrokenBarrierError):
                meeting.wait(60 if target == "/" else self.patience_seconds)
        return self._site.reply(target)


@pytest.mark.nightly
@pytest.mark.parametrize("action", ["drop", "drop-items"])
def test_two_crawlers_at_once_admit_each_content_once(action: str) -> None:
    site = DemoSite()
    with RedisServer() as redis, serving(Rendezvous(site).reply) as base_url, ThreadPoolExecutor(2) as pool:
        settings = settings_for(redis.url, CRAWLDEDUP_ACTION=action)
        crawls = [pool.submit(run_crawl, [f"{base_url}/"], settings) for _ in range(2)]
        outcomes = [crawl.result() for crawl in crawls]

    admitted: dict[str, list[str]] = {}
    for outcome in outcomes:
        assert outcome.reason == "finished"
        for page in outcome.judged:
            entry = site.entry(page.url)
            # What a crawl that has ended delivered is a revisit to the one that goes on, and no race was lost.
            is_admitted = not is_duplicate(page) and page.kind != Kind.REVISIT
            if entry is not None and entry.judged and is_admitted:
                admitted.setdefault(entry.cluster, []).append(page.url)
    expected = {entry.cluster for entry in site.manifest().values() if entry.judged}
    assert set(admitted) == expected
    # Whoever comes first decides what the others are compared with: two edited copies of one original, each near
    # it, may be less near each other. What counts is that no two admitted pages are near.
    reader = PageReader(Options(extractor=EXTRACTOR))
    for urls in admitted.values():
        texts = [reader.content(Page(url, html=site.reply(target_of(url)).body)).text for url in urls]
        assert all(jaccard(one, other) < 0.9 for one, other in combinations(texts, 2)), urls
    # With `drop`, who loses a race has no link to follow there. With `drop-items` both go everywhere, so both must have
    # been first somewhere, or the race was none.
    if action == "drop-items":
        assert all(any(not is_duplicate(page) for page in outcome.judged) for outcome in outcomes)
        assert all(len(outcome.judged) > len(expected) for outcome in outcomes)


@pytest.mark.nightly
def test_a_redis_that_stops_in_mid_crawl_costs_no_page_and_is_used_again() -> None:
    site = DemoSite()
    with serving(site.reply) as base_url:
        undisturbed = run_crawl([f"{base_url}/"], settings_for("memory://", CRAWLDEDUP_ACTION="mark"))

        with RedisServer() as redis:
            seen = 0

            def disturb(_: Judged | str) -> None:
                nonlocal seen
                seen += 1
                if seen == 100:
                    redis.stop()
                elif seen == 160:
                    redis.start()

            # Marked, not dropped, so that both crawls follow the same links and can be compared page by page.
            settings = settings_for(redis.url, CRAWLDEDUP_ACTION="mark", DOWNLOAD_DELAY=0.02)
            disturbed = run_crawl([f"{base_url}/"], settings, on_event=disturb)

    assert set(disturbed.kept) == set(undisturbed.kept)
    stats = disturbed.stats
    unjudged = stats["crawldedup/error/unavailable"]
    assert unjudged > 0
    assert stats["crawldedup/checked"] + unjudged == undisturbed.stats["crawldedup/checked"]
    # After the restart the index begins anew, and pages are judged, and duplicates found, again.
    assert any(is_duplicate(page) for page in disturbed.judged[-50:])
