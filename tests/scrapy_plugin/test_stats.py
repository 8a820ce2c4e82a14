from __future__ import annotations

from crawldedup.scrapy_plugin.stats import CrawlStats
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
        "crawldedup/revisit": 1,
        "crawldedup/thin": 1,
        "crawldedup/dropped": 1,
        "crawldedup/skipped/status": 1,
        "crawldedup/error/unavailable": 1,
    }


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
    assert collector.get_stats() == {"crawldedup/item/checked": 2, "crawldedup/item/new": 2}
    assert stats.summary().startswith("crawldedup checked 2 items: 2 new")
