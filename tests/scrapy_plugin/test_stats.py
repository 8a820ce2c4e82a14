"""What a crawl counts, and what its log says: whole sentences, that are true."""

from collections import Counter
from typing import Any

import pytest

from crawldedup.aio import Judged, Timings
from crawldedup.crawling.options import CrawlOptions
from crawldedup.crawling.outcomes import Fate, Outcome
from crawldedup.errors import StoreUnavailableError
from crawldedup.reading.reader import ReadPage
from crawldedup.scrapy_plugin import stats as stats_module
from crawldedup.scrapy_plugin.stats import SILENT_SECONDS, CrawlStats
from crawldedup.verdict import Kind, Verdict
from tests.scrapy_plugin.fakes import FINGERPRINT, FakeCrawler

PASSED = Outcome(Fate.DELIVERED)
DROPPED = Outcome(Fate.DROPPED, refused=True)
ITEMS_DROPPED = Outcome(Fate.ITEMS_DROPPED, refused=True)
UNCHANGED = Outcome(Fate.DROPPED, refused=True, unchanged=True)
NEW, REVISIT = Verdict(Kind.NEW, "u"), Verdict(Kind.REVISIT, "u")
MISSPELT = "pages have nothing that CRAWLDEDUP_CONTENT selects: is a selector misspelled?"
DOWN = StoreUnavailableError("redis://host cannot be used: Connection refused")


def near(original: str, copies: int) -> Verdict:
    return Verdict(Kind.NEAR_DUPLICATE, "https://e.com/x", original, 0.95, 3, copies=copies)


class Counting(CrawlStats):
    """Stats, and what they set in Scrapy's."""

    def __init__(self, noun: str = "page", **options: Any) -> None:
        crawler: Any = FakeCrawler()
        super().__init__(crawler, CrawlOptions(**{"workers": 1, **options}), noun)
        self.collected: dict[str, Any] = crawler.stats.get_stats()

    def check(
        self, verdict: Verdict, outcome: Outcome = PASSED, seconds: float = 0.0, **options: Any
    ) -> None:
        timings = Timings(seconds / 2, min(seconds, 0.0625), seconds)
        judged = Judged(verdict, ReadPage(FINGERPRINT), timings)
        self.checked(judged, outcome, **options)


def test_counts_go_into_stats_and_into_the_summary() -> None:
    stats = Counting()
    stats.check(NEW)
    stats.check(near("u", 1), DROPPED, size=100)
    stats.check(near("u", 2), ITEMS_DROPPED, size=1000)
    stats.check(
        Verdict(Kind.EXACT_DUPLICATE, "https://a.com/", "https://b.com/", copies=71), size=1000
    )
    stats.check(REVISIT)
    stats.check(Verdict(Kind.REVISIT, "u", changed=True))
    stats.check(REVISIT, UNCHANGED)
    stats.check(Verdict(Kind.THIN, "u"))
    for name in ("skipped/status", "skipped/content_type", "skipped/status", "error/worker"):
        stats.count(name)
    assert {name: value for name, value in stats.collected.items() if "seconds" not in name} == {
        "crawldedup/checked": 8,
        "crawldedup/new": 1,
        "crawldedup/duplicate/near": 2,
        "crawldedup/duplicate/exact": 1,
        "crawldedup/duplicate/across_sites": 3,
        "crawldedup/largest_cluster": 71,
        "crawldedup/revisit": 3,
        "crawldedup/changed": 1,
        "crawldedup/unchanged": 1,
        "crawldedup/thin": 1,
        "crawldedup/novelty": 0.2,
        "crawldedup/dropped": 2,
        "crawldedup/bytes_saved": 100,
        "crawldedup/skipped/status": 2,
        "crawldedup/skipped/content_type": 1,
        "crawldedup/error/worker": 1,
    }
    assert stats.summary().splitlines() == [
        "crawldedup checked 8 pages: 1 new, 2 near and 1 exact duplicates (1 dropped, items of 1 "
        "dropped), "
        "3 revisits, 1 thin; of known ones 1 changed, 1 unchanged, 1 dropped",
        "  3 duplicates of pages on other sites",
        "  3 not checked: content_type 1, status 2",
        "  1 passed unchecked after an error: worker 1",
    ]


def test_responses_without_a_callback_are_explained_in_the_summary() -> None:
    stats = Counting()
    stats.check(NEW)
    stats.count("skipped/no_callback")
    assert (
        "  1 not checked: no_callback (robots.txt, media and the like) 1"
        in stats.summary().splitlines()
    )


def test_siblings_are_counted_by_the_mark_that_tells() -> None:
    stats = Counting()
    for reason in ("picture", "picture", "name", "similarity", "crowd"):
        stats.check(Verdict(Kind.NEW, "u", rejected="v", rejected_by=reason))
    counted = {name: value for name, value in stats.collected.items() if "siblings" in name}
    assert counted == {"crawldedup/siblings/picture": 2, "crawldedup/siblings/name": 1}
    assert "3 new pages kept apart from a sibling: name 1, picture 2" in stats.summary()


@pytest.mark.parametrize(("number", "noun"), [(1, "better copy"), (2, "better copies")])
def test_the_summary_says_that_better_copies_were_delivered(number: int, noun: str) -> None:
    stats = Counting()
    for place in range(number):
        stats.check(Verdict(Kind.EXACT_DUPLICATE, f"u{place}", "v?print", replaces=True))
    line = f"  {number} {noun} delivered as well (CRAWLDEDUP_PREFER)"
    assert line in stats.summary().splitlines()
    stats = Counting()
    stats.check(near("u", 1), DROPPED)
    assert "better" not in stats.summary()


def test_items_are_counted_apart_and_called_items() -> None:
    stats = Counting("item")
    stats.check(NEW)
    counted = {name: value for name, value in stats.collected.items() if "seconds" not in name}
    assert counted == {
        "crawldedup/item/checked": 1,
        "crawldedup/item/new": 1,
        "crawldedup/item/novelty": 1.0,
    }
    assert stats.summary().startswith("crawldedup checked 1 item: 1 new")


def test_novelty_is_that_of_the_last_pages_without_revisits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stats_module, "NOVELTY_PAGES", 4)
    stats, novelty = Counting(), []
    for kind in (
        Kind.NEW,
        Kind.NEW,
        Kind.NEAR_DUPLICATE,
        Kind.REVISIT,
        Kind.THIN,
        Kind.EXACT_DUPLICATE,
        Kind.THIN,
    ):
        stats.check(Verdict(kind, "u"))
        novelty.append(stats.collected["crawldedup/novelty"])
    assert novelty == [1, 1, 0.667, 0.667, 0.5, 0.25, 0]


def test_seconds_add_up_and_their_maxima_are_kept() -> None:
    stats = Counting()
    for seconds in (0.25, 4, 1):
        stats.check(NEW, seconds=seconds)
    sums, most = (
        {"waiting": 5.25, "reading": 2.625, "store": 0.1875},
        {"waiting": 4, "reading": 2, "store": 0.0625},
    )
    assert {name: value for name, value in stats.collected.items() if "seconds" in name} == {
        **{f"crawldedup/seconds/{name}": value for name, value in sums.items()},
        **{f"crawldedup/seconds/{name}_max": value for name, value in most.items()},
    }


@pytest.mark.parametrize(
    ("noun", "counts", "sentence"),
    [
        ("page", {"checked": 1000, "error/unavailable": 52}, None),
        (
            "page",
            {"checked": 1000, "error/io": 53},
            "53 of 1,053 pages passed unchecked after an error: io 53.",
        ),
        (
            "item",
            {"error/io": 8, "error/full": 2},
            "10 of 10 items passed unchecked after an error: full 2, io 8.",
        ),
        ("page", {"checked": 30, "unselected": 15}, None),
        ("page", {"checked": 30, "unselected": 16}, f"16 {MISSPELT}"),
    ],
    ids=str,
)
def test_too_many_errors_are_a_warning(
    noun: str, counts: dict[str, int], sentence: str | None
) -> None:
    stats = Counting(noun)
    stats._counts = Counter(counts)
    assert stats.complaints() == ([sentence] if sentence else [])


def test_the_start_line_tells_what_is_compared_with_what(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    options = {
        "store": "redis://:secret@cache/0",
        "namespace": "news",
        "similarity": 0.85,
        "reloads": 2,
        "workers": 3,
    }
    Counting(action="mark", **options).begin(1204)
    assert caplog.messages == [
        "crawldedup: checks pages: store redis://:***@cache/0, namespace 'news', 1,204 pages "
        "known, action mark, "
        "similarity 0.85, 2 pages of each host loaded twice, extractor blocks, 3 workers",
    ]


def test_a_store_that_fails_again_and_again_is_mentioned_now_and_then(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    down = f"crawldedup: {DOWN}. Pages pass unchecked until the store answers"
    again = "crawldedup: the store answers again, so pages are checked"
    stats = Counting()
    for seconds, said in ((0, [down, again]), (1, []), (SILENT_SECONDS, [down, again])):
        monkeypatch.setattr(stats_module.time, "monotonic", lambda seconds=seconds: seconds)
        caplog.clear()
        for _ in range(3):
            stats.failed("http://a/", DOWN)
            stats.failed("http://a/", DOWN)
            stats.check(NEW)
            stats.check(NEW)
        assert caplog.messages == said
