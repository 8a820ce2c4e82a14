"""Downloads go on while pages wait for their verdicts, but not without bounds."""

import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from crawldedup.scrapy_plugin.slots import MOST_BYTES, DownloadSlots
from tests.scrapy_plugin.crawling import MODES, crawl_apart, finish, start
from tests.scrapy_plugin.fakes import FakeCrawler
from tests.scrapy_plugin.website import Site, article
from tests.servers import wait_until


def slots_of(concurrent: int) -> tuple[DownloadSlots, Any]:
    """Slots of a crawl, and its downloader."""
    crawler: Any = FakeCrawler(CONCURRENT_REQUESTS=concurrent)
    crawler.engine.downloader = SimpleNamespace(total_concurrency=concurrent)
    return DownloadSlots(crawler), crawler.engine.downloader


def test_a_page_that_waits_lends_its_slot() -> None:
    slots, downloader = slots_of(4)
    with slots.lent(10):
        assert downloader.total_concurrency == 5
        with slots.lent(10):
            assert downloader.total_concurrency == 6
        with pytest.raises(ZeroDivisionError), slots.lent(10):
            raise ZeroDivisionError
        assert downloader.total_concurrency == 5
    assert downloader.total_concurrency == 4


def test_as_many_slots_are_lent_as_there_are() -> None:
    slots, downloader = slots_of(2)
    with slots.lent(1), slots.lent(1), slots.lent(1):
        assert downloader.total_concurrency == 4
    assert downloader.total_concurrency == 2


def test_large_pages_lend_nothing() -> None:
    slots, downloader = slots_of(4)
    with slots.lent(MOST_BYTES - 1):
        assert downloader.total_concurrency == 5
        with slots.lent(1):
            assert downloader.total_concurrency == 4
        assert downloader.total_concurrency == 5


def test_a_limit_that_a_user_changes_meanwhile_holds() -> None:
    slots, downloader = slots_of(4)
    with slots.lent(1):
        downloader.total_concurrency += 10
    assert downloader.total_concurrency == 14


@pytest.mark.parametrize("concurrent", [0, 1])
def test_nothing_is_lent_where_there_is_no_limit_or_an_order(concurrent: int) -> None:
    slots, downloader = slots_of(concurrent)
    with slots.lent(1), slots.lent(1):
        assert downloader.total_concurrency == concurrent


def test_another_downloader_is_left_alone() -> None:
    crawler: Any = FakeCrawler(CONCURRENT_REQUESTS=4)
    with DownloadSlots(crawler).lent(1):
        pass  # before the engine has a downloader
    crawler.engine.downloader = SimpleNamespace()
    with DownloadSlots(crawler).lent(1):
        assert vars(crawler.engine.downloader) == {}


def test_a_crawl_downloads_on_while_its_reader_is_busy(site: Site, tmp_path: Path) -> None:
    paths = [f"/page/{number}" for number in range(12)]
    site.pages |= {path: article(number) for number, path in enumerate(paths)}
    # Its worker waits in the middle of the first page for the file "go on".
    own = {"CRAWLDEDUP_EXTRACTOR": "deadly_extractor.waiting", "CRAWLDEDUP_WORKERS": 1}
    process = start(site, tmp_path, list(paths), CONCURRENT_REQUESTS=3, **own)
    wait_until(lambda: sum(site.asked[path] for path in paths) >= 6)
    time.sleep(0.5)
    assert sum(site.asked[path] for path in paths) == 6
    (tmp_path / "go on").touch()
    result = finish(process, tmp_path)
    assert sorted(result.passed) == sorted(paths)


# With Twisted's reactor, Scrapy 2.19 itself exceeds the limit of a site.
LIMITED = {"CONCURRENT_REQUESTS_PER_DOMAIN": 2}


@pytest.mark.parametrize(
    ("most", "settings"),
    [(4, {}), *((2, LIMITED | mode) for name, mode in MODES.items() if name == "no reactor")],
)
def test_no_more_requests_are_under_way_than_before(
    site: Site, tmp_path: Path, most: int, settings: dict[str, Any]
) -> None:
    paths = [f"/page/{number}" for number in range(20)]
    site.pages |= {path: article(number) for number, path in enumerate(paths)}
    lock = threading.Lock()
    under_way = [0]
    highest = [0]

    def take_time() -> None:
        with lock:
            under_way[0] += 1
            highest[0] = max(highest[0], under_way[0])
        time.sleep(0.03)
        with lock:
            under_way[0] -= 1

    site.actions = dict.fromkeys(paths, take_time)
    result = crawl_apart(site, tmp_path, list(paths), CONCURRENT_REQUESTS=4, **settings)
    assert sorted(result.passed) == sorted(paths)
    assert highest == [most]
