from __future__ import annotations

import pytest

from crawldedup.scrapy_plugin.runtime.complaints import complaints


@pytest.mark.parametrize(
    "counts",
    [
        {},
        {"checked": 1, "skipped/status": 500},
        {"checked": 1, "error/unavailable": 9},
        {"checked": 1000, "error/unavailable": 52},
        {"skipped/disabled": 50},
        {"skipped/disabled": 50, "skipped/url": 3, "skipped/no_callback": 1, "skipped/robots_txt": 1},
        {"skipped/content_type": 50, "skipped/method": 3},
        {"checked": 40, "error/mark": 40},
    ],
    ids=str,
)
def test_nothing_is_wrong(counts: dict[str, int]) -> None:
    assert complaints(counts, "page") == []


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({"skipped/status": 1}, "nothing was checked, although 1 page came: status 1."),
        (
            {"skipped/disabled": 50, "skipped/content_type": 2, "error/full": 1},
            "nothing was checked, although 53 pages came: full 1, content_type 2, disabled 50.",
        ),
        (
            {"checked": 90, "error/unavailable": 8, "error/full": 2},
            "10 of 100 pages passed unchecked after an error: full 2, unavailable 8.",
        ),
        (
            {"checked": 1000, "error/worker": 53},
            "53 of 1,053 pages passed unchecked after an error: worker 53.",
        ),
    ],
    ids=str,
)
def test_what_is_wrong_is_said_with_its_reasons(counts: dict[str, int], said: str) -> None:
    assert complaints(counts, "page") == [said]


def test_items_are_called_items() -> None:
    assert complaints({"skipped/no_field": 2}, "item") == ["nothing was checked, although 2 items came: no_field 2."]


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
    said = complaints(counts, "page", starts=starts, lost_starts=lost)
    start = f"nothing new was found: all start pages ({starts}) were duplicates"
    assert [sentence.startswith(start) for sentence in said] == [True] * is_said
