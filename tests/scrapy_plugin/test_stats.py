"""What a crawl counts, and what its log says."""

from collections import Counter
from typing import Any

import pytest

from crawldedup.aio import Judged
from crawldedup.deduplicator import Deduplicator
from crawldedup.page import ReadPage
from crawldedup.scrapy_plugin import stats as stats_module
from crawldedup.scrapy_plugin.policy import Fate, Outcome
from crawldedup.scrapy_plugin.settings import CrawlOptions
from crawldedup.scrapy_plugin.stats import CrawlStats
from crawldedup.verdict import Kind, Verdict
from tests.scrapy_plugin.fakes import FakeCrawler

PASSED = Outcome(Fate.DELIVERED)
DROPPED = Outcome(Fate.DROPPED, refused=True)
UNCHANGED = Outcome(Fate.DROPPED, refused=True, unchanged=True)
NEW = Verdict(Kind.NEW, "u")
READ = ReadPage(Deduplicator(key=0).fingerprint(text="some words"))


def near(original: str, copies: int) -> Verdict:
    return Verdict(Kind.NEAR_DUPLICATE, "https://e.com/x", original, 0.95, 3, copies=copies)


def counting(noun: str = "page", **settings: Any) -> tuple[CrawlStats, dict[str, Any]]:
    """Stats, and what they set in Scrapy's."""
    crawler = FakeCrawler(**settings)
    return CrawlStats(crawler, CrawlOptions(workers=1), noun), crawler.stats.get_stats()  # type: ignore[arg-type]


def checked(stats: CrawlStats, verdict: Verdict, outcome: Outcome, seconds: float = 0.0, **options: Any) -> None:
    stats.checked(Judged(verdict, READ, seconds / 2, min(seconds, 0.0625), seconds), outcome, **options)


def test_the_summary_tells_changed_pages_and_dropped_ones_that_are_no_duplicates() -> None:
    stats, _ = counting()
    checked(stats, near("u", 1), DROPPED)
    checked(stats, Verdict(Kind.REVISIT, "u", changed=True), PASSED)
    for _ in range(2):
        checked(stats, Verdict(Kind.REVISIT, "u"), UNCHANGED)
    checked(stats, Verdict(Kind.REVISIT, "u"), PASSED)
    summary = stats.summary()
    assert "0 exact duplicates (1 dropped), 4 revisits (1 changed, 2 unchanged, 2 dropped), 0 thin" in summary
    checked(stats, Verdict(Kind.REVISIT, "u"), Outcome(Fate.ITEMS_DROPPED, refused=True, unchanged=True))
    assert "5 revisits (1 changed, 3 unchanged, 2 dropped, items of 1 dropped)" in stats.summary()


def test_counts_go_into_stats_and_add_up() -> None:
    stats, collected = counting()
    checked(stats, NEW, PASSED)
    checked(stats, near("u", 1), DROPPED, size=100)
    checked(stats, Verdict(Kind.EXACT_DUPLICATE, "u", "v", copies=1), PASSED, size=1000)
    checked(stats, Verdict(Kind.REVISIT, "u"), PASSED)
    checked(stats, Verdict(Kind.THIN, "u"), PASSED)
    checked(stats, Verdict(Kind.EXACT_DUPLICATE, "https://a.com/", "https://b.com/", copies=71), PASSED)
    assert "\n  2 duplicates of pages on other sites" in stats.summary()
    stats.count("skipped/status")
    stats.count("error/unavailable")
    assert {name: value for name, value in collected.items() if "seconds" not in name} == {
        "crawldedup/checked": 6,
        "crawldedup/new": 1,
        "crawldedup/duplicate/near": 1,
        "crawldedup/duplicate/exact": 2,
        "crawldedup/duplicate/across_sites": 2,
        "crawldedup/largest_cluster": 71,
        "crawldedup/revisit": 1,
        "crawldedup/thin": 1,
        "crawldedup/novelty": 0.2,
        "crawldedup/dropped": 1,
        "crawldedup/bytes_saved": 100,
        "crawldedup/skipped/status": 1,
        "crawldedup/error/unavailable": 1,
    }


def test_novelty_is_that_of_the_last_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stats_module, "NOVELTY_PAGES", 4)
    stats, collected = counting()
    told = []
    for kind in (Kind.NEW, Kind.NEW, Kind.NEAR_DUPLICATE, Kind.REVISIT, Kind.THIN, Kind.EXACT_DUPLICATE, Kind.THIN):
        checked(stats, Verdict(kind, "u"), PASSED)
        told.append(collected["crawldedup/novelty"])
    assert told == [1, 1, 0.667, 0.667, 0.5, 0.25, 0]


def test_the_summary_tells_what_happened() -> None:
    stats, _ = counting()
    checked(stats, NEW, PASSED)
    for copies in range(1, 4):
        checked(stats, near("https://e.com/a", copies), DROPPED)
    for reason in ("status", "content_type", "status"):
        stats.count(f"skipped/{reason}")
    stats.count("error/worker")
    assert stats.summary().splitlines() == [
        "crawldedup checked 4 pages: 1 new, 3 near and 0 exact duplicates (3 dropped), 0 revisits, 0 thin",
        "  3 not checked: content_type 1, status 2",
        "  1 passed unchecked after an error: worker 1",
    ]


def test_items_are_counted_apart_and_called_items() -> None:
    stats, collected = counting("item")
    checked(stats, NEW, PASSED)
    counted = {name: value for name, value in collected.items() if "seconds" not in name}
    assert counted == {"crawldedup/item/checked": 1, "crawldedup/item/new": 1, "crawldedup/item/novelty": 1.0}
    assert stats.summary().startswith("crawldedup checked 1 item: 1 new")


def seconds_in(collected: dict[str, Any]) -> dict[str, float]:
    prefix = "crawldedup/seconds/"
    return {name.removeprefix(prefix): value for name, value in collected.items() if name.startswith(prefix)}


def test_seconds_add_up_and_their_maxima_are_kept() -> None:
    stats, collected = counting()
    for seconds in (0.25, 4, 1):
        checked(stats, NEW, PASSED, seconds)
    assert seconds_in(collected) == {
        "waiting": 5.25,
        "waiting_max": 4,
        "reading": 2.625,
        "reading_max": 2,
        "store": 0.1875,
        "store_max": 0.0625,
    }


def with_counts(noun: str = "page", *, starts: int = 0, lost_starts: int = 0, **counts: int) -> list[str]:
    """What is complained of where so much was counted."""
    stats, _ = counting(noun)
    stats._counts = Counter(counts)
    stats._fates = Counter({"starts": starts, "lost starts": lost_starts})
    return stats.complaints()


@pytest.mark.parametrize(
    "counts",
    [
        {},
        {"checked": 1, "skipped/http_404": 500},
        {"checked": 1, "error/unavailable": 9},
        {"checked": 1000, "error/unavailable": 52},
        {"skipped/disabled": 50, "skipped/url": 3, "skipped/no_callback": 1, "skipped/robots_txt": 1},
        {"skipped/content_type": 50, "skipped/method": 3},
        {"checked": 40, "error/mark": 40},
        {"skipped/status": 1, "error/full": 1},
    ],
    ids=str,
)
def test_nothing_is_wrong(counts: dict[str, int]) -> None:
    assert with_counts(**counts) == []


@pytest.mark.parametrize(
    ("noun", "counts", "said"),
    [
        (
            "page",
            {"checked": 90, "error/unavailable": 8, "error/full": 2},
            "10 of 100 pages passed unchecked after an error: full 2, unavailable 8.",
        ),
        (
            "page",
            {"checked": 1000, "error/worker": 53},
            "53 of 1,053 pages passed unchecked after an error: worker 53.",
        ),
        ("item", {"error/full": 10}, "10 of 10 items passed unchecked after an error: full 10."),
    ],
    ids=str,
)
def test_what_is_wrong_is_said_with_its_reasons(noun: str, counts: dict[str, int], said: str) -> None:
    assert with_counts(noun, **counts) == [said]


@pytest.mark.parametrize(
    ("starts", "lost", "counts", "is_said"),
    [
        (1, 1, {"checked": 1, "duplicate/near": 1}, True),
        (2, 2, {"checked": 9, "duplicate/exact": 8, "unchanged": 1, "revisit": 1}, True),
        (2, 1, {"checked": 2, "duplicate/near": 2}, False),
        (2, 2, {"checked": 9, "duplicate/exact": 8, "new": 1}, False),
        (0, 0, {"checked": 9, "duplicate/exact": 9}, False),
    ],
)
def test_a_crawl_that_found_only_what_was_delivered_before(
    starts: int, lost: int, counts: dict[str, int], is_said: bool
) -> None:
    said = with_counts(starts=starts, lost_starts=lost, **counts)
    start = f"nothing new was found: all start pages ({starts}) were duplicates"
    assert [sentence.startswith(start) for sentence in said] == [True] * is_said


def test_start_pages_are_counted_for_that() -> None:
    stats, _ = counting()
    checked(stats, near("u", 1), Outcome(Fate.ITEMS_DROPPED, refused=True), is_start=True)
    assert "all start pages (1) were duplicates" in stats.complaints()[0]
    checked(stats, NEW, PASSED, is_start=True)
    assert stats.complaints() == []


@pytest.mark.parametrize(
    ("noun", "options", "known", "line"),
    [
        (
            "page",
            {"store": "redis://:secret@cache/0", "namespace": "news", "action": "mark", "similarity": 0.85},
            1204,
            "store redis://:***@cache/0, namespace 'news', 1,204 pages known, action mark, similarity 0.85, "
            "extractor blocks, 3 workers",
        ),
        (
            "page",
            {"action": "drop"},
            None,
            "store memory://, namespace 'default', an unknown number of pages known, action drop, similarity 0.9, "
            "extractor blocks, 3 workers",
        ),
        (
            "item",
            {"item_action": "mark"},
            1,
            "store memory://, namespace 'default', 1 item known, action mark, similarity 0.9",
        ),
    ],
)
def test_the_start_line_tells_what_is_compared_with_what(
    caplog: pytest.LogCaptureFixture, noun: str, options: dict[str, Any], known: int | None, line: str
) -> None:
    caplog.set_level("INFO")
    CrawlStats(FakeCrawler(), CrawlOptions(workers=3, **options), noun).begin(known)  # type: ignore[arg-type]
    assert caplog.messages == [f"crawldedup: checks {noun}s: {line}"]
