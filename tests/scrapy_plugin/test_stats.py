from __future__ import annotations

from contextlib import suppress

import pytest

from crawldedup.scrapy_plugin import stats as stats_module
from crawldedup.scrapy_plugin.reading.messages import Judged
from crawldedup.scrapy_plugin.stats import CrawlStats, Figures
from crawldedup.verdict import Kind, Verdict
from tests.scrapy_plugin.fakes import Stats


def near(original: str, copies: int) -> Verdict:
    return Verdict(Kind.NEAR_DUPLICATE, "https://e.com/x", original, 0.95, 3, copies=copies)


def test_the_summary_tells_changed_pages_and_dropped_ones_that_are_no_duplicates() -> None:
    stats = CrawlStats(Stats())
    stats.checked(near("u", 1), dropped=True)
    stats.checked(Verdict(Kind.REVISIT, "u", changed=True), dropped=False)
    for _ in range(2):
        stats.checked(Verdict(Kind.REVISIT, "u"), dropped=True, unchanged=True)
    stats.checked(Verdict(Kind.REVISIT, "u"), dropped=False)
    summary = stats.summary()
    assert "0 exact duplicates (1 dropped), 4 revisits (1 changed, 2 unchanged, 2 dropped), 0 thin" in summary
    stats.checked(Verdict(Kind.REVISIT, "u"), dropped=False, itemless=True, unchanged=True)
    assert "5 revisits (1 changed, 3 unchanged, 2 dropped, items of 1 dropped)" in stats.summary()


def test_counts_go_into_stats_and_add_up() -> None:
    collector = Stats()
    stats = CrawlStats(collector)
    stats.checked(Verdict(Kind.NEW, "u"), dropped=False)
    stats.checked(near("u", 1), dropped=True)
    stats.checked(Verdict(Kind.EXACT_DUPLICATE, "u", "v", copies=1), dropped=False)
    stats.checked(Verdict(Kind.REVISIT, "u"), dropped=False)
    stats.checked(Verdict(Kind.THIN, "u"), dropped=False)
    stats.checked(Verdict(Kind.EXACT_DUPLICATE, "https://a.com/", "https://b.com/", copies=1), dropped=False)
    assert "\n  2 duplicates of pages on other sites" in stats.summary()
    stats.skipped("status")
    stats.error("unavailable")
    assert collector.get_stats() == {
        "crawldedup/checked": 6,
        "crawldedup/new": 1,
        "crawldedup/duplicate/near": 1,
        "crawldedup/duplicate/exact": 2,
        "crawldedup/duplicate/across_sites": 2,
        "crawldedup/clusters": 3,
        "crawldedup/largest_cluster": 1,
        "crawldedup/revisit": 1,
        "crawldedup/thin": 1,
        "crawldedup/novelty": 0.2,
        "crawldedup/dropped": 1,
        "crawldedup/skipped/status": 1,
        "crawldedup/error/unavailable": 1,
    }


def test_novelty_is_that_of_the_last_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stats_module, "NOVELTY_PAGES", 4)
    collector = Stats()
    stats = CrawlStats(collector)
    told = []
    for kind in (Kind.NEW, Kind.NEW, Kind.NEAR_DUPLICATE, Kind.REVISIT, Kind.THIN, Kind.EXACT_DUPLICATE, Kind.THIN):
        stats.checked(Verdict(kind, "u"), dropped=False)
        told.append(collector.get_value("crawldedup/novelty"))
    assert told == [1, 1, 0.667, 0.667, 0.5, 0.25, 0]


def test_the_summary_tells_what_happened() -> None:
    stats = CrawlStats(Stats())
    stats.checked(Verdict(Kind.NEW, "u"), dropped=False)
    for copies in range(1, 4):
        stats.checked(near("https://e.com/a\x1b[2J", copies), dropped=True)
    stats.skipped("status")
    stats.skipped("content_type")
    stats.skipped("status")
    stats.error("worker")
    assert stats.summary().splitlines() == [
        "crawldedup checked 4 pages: 1 new, 3 near and 0 exact duplicates (3 dropped), 0 revisits, 0 thin",
        "  3 not checked: content_type 1, status 2",
        "  1 passed unchecked after an error: worker 1",
        r"  3 copies of https://e.com/a\x1b[2J",
    ]


def test_the_summary_names_the_most_copied_originals_only() -> None:
    stats = CrawlStats(Stats())
    for rounds in range(1, 10):
        for original in range(rounds, 10):
            stats.checked(near(f"https://e.com/{original}", rounds), dropped=True)
    shown = [line.split("/")[-1] for line in stats.summary().splitlines() if "copies of" in line]
    assert shown == ["9", "8", "7", "6", "5"]


def test_one_page_is_called_one_page() -> None:
    stats = CrawlStats(Stats())
    stats.checked(Verdict(Kind.REVISIT, "https://example.com/"), dropped=False)
    assert stats.summary().startswith("crawldedup checked 1 page: 0 new, ")
    assert "1 revisit, " in stats.summary()


def test_items_are_counted_apart_and_called_items() -> None:
    collector = Stats()
    stats = CrawlStats(collector, "item")
    for _ in range(2):
        stats.checked(Verdict(Kind.NEW, "u"), dropped=False)
    assert collector.get_stats() == {
        "crawldedup/item/checked": 2,
        "crawldedup/item/new": 2,
        "crawldedup/item/novelty": 1.0,
    }
    assert stats.summary().startswith("crawldedup checked 2 items: 2 new")


def test_clusters_are_those_of_this_crawl_whatever_the_index_has_seen() -> None:
    collector = Stats()
    stats = CrawlStats(collector)
    for original, copies in (("a", 70), ("a", 71), ("b", 1)):
        stats.checked(near(f"https://e.com/{original}", copies), dropped=False)
    assert collector.get_value("crawldedup/clusters") == 2
    assert collector.get_value("crawldedup/largest_cluster") == 2


def test_bytes_are_saved_by_pages_that_are_dropped() -> None:
    collector = Stats()
    stats = CrawlStats(collector)
    for dropped, size in ((True, 100), (False, 10), (True, 1000)):
        stats.checked(near("https://e.com/", 1), dropped=dropped, size=size)
    assert collector.get_value("crawldedup/bytes_saved") == 1100


def test_seconds_add_up_and_their_means_and_maxima_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    collector, now = Stats(), [0.0]
    monkeypatch.setattr(stats_module.time, "perf_counter", lambda: now[0])
    stats = CrawlStats(collector)
    for seconds in (0.25, 4, 1):
        with suppress(KeyError), stats.waiting():
            now[0] += seconds
            # Who gets an error has waited, too.
            raise KeyError
        stats.worked(Judged(Verdict(Kind.NEW, "u"), reading=seconds / 2, store=0.0625))
    assert {name.removeprefix("crawldedup/seconds/"): value for name, value in collector.get_stats().items()} == {
        "waiting": 5.25,
        "waiting_mean": 1.75,
        "waiting_max": 4,
        "reading": 2.625,
        "reading_mean": 0.875,
        "reading_max": 2,
        "store": 0.188,
        "store_mean": 0.0625,
        "store_max": 0.0625,
    }
    assert stats.figures() == Figures(waiting=5.25, reading=2.625, store=0.1875)


def test_figures_tell_how_far_the_crawl_is() -> None:
    collector = Stats()
    stats = CrawlStats(collector)
    for each in (near("u", 1), Verdict(Kind.EXACT_DUPLICATE, "u", "v", copies=1), Verdict(Kind.NEW, "u")):
        stats.checked(each, dropped=each.is_duplicate)
    stats.skipped("status")
    stats.error("worker")
    stats.error("full")
    collector.inc_value("crawldedup/items_dropped", 4)
    assert stats.figures() == Figures(checked=3, duplicates=2, dropped=2, items_dropped=4, unchecked=2)


def test_sites_are_counted_where_asked_for_and_not_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stats_module, "MOST_SITES", 2)
    collector = Stats()
    stats = CrawlStats(collector, by_site=True)
    for site in ("www.a.com", "b.com", "c.com", "a.com", "d.com"):
        stats.checked(Verdict(Kind.NEW, f"https://{site}/"), dropped=False)
    stats.checked(Verdict(Kind.EXACT_DUPLICATE, "https://b.com/x", "https://b.com/", copies=1), dropped=True)
    stats.checked(Verdict(Kind.NEW, "data:text/html,x"), dropped=False)
    of_sites = {name: value for name, value in collector.get_stats().items() if "/site/" in name}
    assert of_sites == {
        "crawldedup/site/a.com/checked": 2,
        "crawldedup/site/b.com/checked": 2,
        "crawldedup/site/b.com/duplicate": 1,
        "crawldedup/site/b.com/dropped": 1,
        "crawldedup/site/other/checked": 3,
    }


def test_no_site_is_counted_unasked() -> None:
    collector = Stats()
    CrawlStats(collector).checked(Verdict(Kind.NEW, "https://a.com/"), dropped=False)
    assert [name for name in collector.get_stats() if "site" in name] == []


def test_a_start_page_that_was_delivered_before_is_complained_of() -> None:
    stats = CrawlStats(Stats())
    stats.checked(near("u", 1), dropped=True)
    stats.started(lost=True)
    (complaint,) = stats.complaints()
    assert "all start pages (1) were duplicates" in complaint
    stats.checked(Verdict(Kind.NEW, "u"), dropped=False)
    stats.started(lost=False)
    assert stats.complaints() == []
