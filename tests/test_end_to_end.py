"""The promises that only whole crawls can show: real Scrapy processes, a real site, a real Redis."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from crawldedup.demo.crawl import CrawlOutcome, Judged, Kept, run_crawl
from crawldedup.demo.run import DemoOptions, crawl_settings
from crawldedup.demo.server import serving
from crawldedup.demo.site import DemoSite
from crawldedup.verdict import Kind
from tests.servers import RedisServer


def settings_for(store: str, **changes: Any) -> dict[str, Any]:
    return {**crawl_settings(DemoOptions(store=store, namespace="fleet")), **changes}


def urls_of(site: DemoSite, base_url: str) -> list[str]:
    return [base_url + path for path in site.start_paths]


def is_duplicate(page: Judged) -> bool:
    return page.kind in (Kind.NEAR_DUPLICATE, Kind.EXACT_DUPLICATE)


@pytest.mark.parametrize("action", ["drop", "drop-items"])
def test_two_crawlers_at_once_admit_each_content_once(action: str) -> None:
    site = DemoSite()
    with RedisServer() as redis, serving(site) as base_url, ThreadPoolExecutor(2) as pool:
        # Neither crawler may be done before the other has begun, or the second would be a later crawl.
        both_at_work = threading.Barrier(2)

        def crawl() -> CrawlOutcome:
            started = False

            def wait_once(_: Judged | Kept) -> None:
                nonlocal started
                if not started:
                    started = True
                    both_at_work.wait(timeout=60)

            settings = settings_for(redis.url, CRAWLDEDUP_ACTION=action)
            return run_crawl(urls_of(site, base_url), settings, on_event=wait_once)

        outcomes = [future.result() for future in [pool.submit(crawl), pool.submit(crawl)]]

    admitted: dict[str, list[str]] = {}
    for outcome in outcomes:
        assert outcome.reason == "finished"
        for page in outcome.judged:
            entry = site.entry(page.url)
            if entry is not None and entry.judged and not is_duplicate(page):
                admitted.setdefault(entry.cluster, []).append(page.url)
    expected = {entry.cluster for entry in site.manifest().values() if entry.judged}
    assert {cluster: urls for cluster, urls in admitted.items() if len(urls) > 1} == {}
    assert set(admitted) == expected
    # With `drop`, who loses the race for the start page has no link to follow. With `drop-items` both go everywhere,
    # so both must have been first somewhere, or the race was none.
    if action == "drop-items":
        assert all(any(not is_duplicate(page) for page in outcome.judged) for outcome in outcomes)
        assert all(len(outcome.judged) > len(expected) for outcome in outcomes)


def test_a_redis_that_stops_in_mid_crawl_costs_no_page_and_is_used_again() -> None:
    site = DemoSite()
    with serving(site) as base_url:
        undisturbed = run_crawl(urls_of(site, base_url), settings_for("memory://", CRAWLDEDUP_ACTION="mark"))

        with RedisServer() as redis:
            seen = 0

            def disturb(_: Judged | Kept) -> None:
                nonlocal seen
                seen += 1
                if seen == 100:
                    redis.stop()
                elif seen == 160:
                    redis.start()

            # Marked, not dropped, so that both crawls follow the same links and can be compared page by page.
            settings = settings_for(redis.url, CRAWLDEDUP_ACTION="mark", DOWNLOAD_DELAY=0.02)
            disturbed = run_crawl(urls_of(site, base_url), settings, on_event=disturb)

    assert {page.url for page in disturbed.kept} == {page.url for page in undisturbed.kept}
    stats = disturbed.stats
    unjudged = stats["crawldedup/error/unavailable"]
    assert unjudged > 0
    assert stats["crawldedup/checked"] + unjudged == undisturbed.stats["crawldedup/checked"]
    # After the restart the index begins anew, and pages are judged, and duplicates found, again.
    assert any(is_duplicate(page) for page in disturbed.judged[-50:])
