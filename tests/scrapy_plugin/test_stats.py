from __future__ import annotations

from scrapy.statscollectors import StatsCollector

from crawldedup.scrapy_plugin.stats import Tally
from crawldedup.verdict import Kind, Verdict


class Stats(StatsCollector):
    def __init__(self) -> None:
        self._stats = {}


def near(original: str, copies: int) -> Verdict:
    return Verdict(Kind.NEAR_DUPLICATE, "https://e.com/x", original, 0.95, 3, copies=copies)


def test_the_summary_tells_changed_pages_and_dropped_ones_that_are_no_duplicates() -> None:
    tally = Tally(Stats())
    tally.checked(near("u", 1), dropped=True)
    tally.checked(Verdict(Kind.REVISIT, "u", changed=True), dropped=False)
    for _ in range(2):
        tally.checked(Verdict(Kind.REVISIT, "u"), dropped=True, unchanged=True)
    tally.checked(Verdict(Kind.REVISIT, "u"), dropped=False)
    summary = tally.summary()
    assert "0 exact duplicates (1 dropped), 4 revisits (1 changed, 2 unchanged, 2 dropped), 0 thin" in summary


def test_counts_go_into_stats_and_add_up() -> None:
    stats = Stats()
    tally = Tally(stats)
    tally.checked(Verdict(Kind.NEW, "u"), dropped=False)
    tally.checked(near("u", 1), dropped=True)
    tally.checked(Verdict(Kind.EXACT_DUPLICATE, "u", "v", copies=1), dropped=False)
    tally.checked(Verdict(Kind.REVISIT, "u"), dropped=False)
    tally.checked(Verdict(Kind.THIN, "u"), dropped=False)
    tally.skipped("status")
    tally.error("unavailable")
    assert stats.get_stats() == {
        "crawldedup/checked": 5,
        "crawldedup/new": 1,
        "crawldedup/duplicate/near": 1,
        "crawldedup/duplicate/exact": 1,
        "crawldedup/revisit": 1,
        "crawldedup/thin": 1,
        "crawldedup/dropped": 1,
        "crawldedup/skipped/status": 1,
        "crawldedup/error/unavailable": 1,
    }


def test_the_summary_tells_what_happened() -> None:
    tally = Tally(Stats())
    tally.checked(Verdict(Kind.NEW, "u"), dropped=False)
    for copies in range(1, 4):
        tally.checked(near("https://e.com/a\x1b[2J", copies), dropped=True)
    tally.skipped("status")
    tally.skipped("content_type")
    tally.skipped("status")
    tally.error("worker")
    assert tally.summary().splitlines() == [
        "crawldedup checked 4 pages: 1 new, 3 near and 0 exact duplicates (3 dropped), 0 revisits, 0 thin",
        "  3 not checked: content_type 1, status 2",
        "  1 passed unchecked after an error: worker 1",
        r"  3 copies of https://e.com/a\x1b[2J",
    ]


def test_the_summary_names_the_most_copied_originals_only() -> None:
    tally = Tally(Stats())
    for rounds in range(1, 10):
        for original in range(rounds, 10):
            tally.checked(near(f"https://e.com/{original}", rounds), dropped=True)
    shown = [line.split("/")[-1] for line in tally.summary().splitlines() if "copies of" in line]
    assert shown == ["9", "8", "7", "6", "5"]
