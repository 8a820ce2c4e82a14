"""The crawl against the exact similarities."""

from __future__ import annotations

import pytest

from crawldedup.demo.truth import JudgedPage, assess


def pages_of(texts: list[tuple[str, bool]]) -> list[JudgedPage]:
    return [JudgedPage(f"/{number}", text, kept) for number, (text, kept) in enumerate(texts)]


def test_assessment_counts_by_band() -> None:
    text = " ".join(f"w{n}" for n in range(102))
    shorter = " ".join(f"w{n}" for n in range(98))  # .96
    half = " ".join(f"w{n}" for n in range(77))  # .75
    pages = pages_of(
        [(text, True), (text, False), (shorter, True), (half, False), ("nothing alike here", False), ("", True)]
    )
    truth = assess(pages, similarity=0.9)
    assert (truth.pages, truth.pages_without_text) == (5, 1)
    assert {(band.low, band.high): (band.pages, band.dropped) for band in truth.bands if band.pages} == {
        (0.0, 0.5): (2, 1),
        (0.7, 0.8): (1, 1),
        (0.95, 0.98): (1, 0),
        (1.0, 1.0): (1, 1),
    }
    assert (truth.recall, truth.precision) == (1 / 2, 1 / 3)
    assert truth.missed == ("/2",)
    assert truth.wrong == ("/3", "/4")
    assert truth.as_dict()["precision_with_tolerance"] == pytest.approx(1 / 3)


def test_without_pages_there_is_nothing_to_divide() -> None:
    truth = assess([], similarity=0.9)
    assert truth.recall is None
    assert truth.precision is None
