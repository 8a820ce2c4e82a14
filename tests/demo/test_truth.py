"""The exact comparison, against doing it the long way."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawldedup.demo.truth import LOWEST, JudgedPage, assess, best_earlier, jaccard, shingles, words


def pages_of(texts: list[tuple[str, bool]]) -> list[JudgedPage]:
    return [JudgedPage(f"/{number}", text, kept) for number, (text, kept) in enumerate(texts)]


def by_brute_force(pages: list[JudgedPage]) -> list[float]:
    best = []
    for position, page in enumerate(pages):
        found = [jaccard(page.text, other.text) for other in pages[:position] if other.kept]
        best.append(max([value for value in found if value >= LOWEST], default=0.0))
    return best


@given(st.lists(st.tuples(st.lists(st.sampled_from("abcde"), max_size=14).map(" ".join), st.booleans()), max_size=14))
@settings(max_examples=150, deadline=None)
def test_best_earlier_page_is_exact(texts: list[tuple[str, bool]]) -> None:
    pages = pages_of(texts)
    assert best_earlier(pages).tolist() == pytest.approx(by_brute_force(pages))


@pytest.mark.parametrize("seed", range(5))
def test_best_earlier_page_is_exact_for_edited_copies(seed: int) -> None:
    generator = random.Random(seed)
    vocabulary = [f"w{n}" for n in range(400)]
    texts: list[tuple[str, bool]] = []
    for _ in range(60):
        if texts and generator.random() < 0.7:
            copy = generator.choice(texts)[0].split()
            for _ in range(generator.randrange(8)):
                copy[generator.randrange(len(copy))] = generator.choice(vocabulary)
            start = generator.randrange(10)
            texts.append((" ".join(copy[start:]), generator.random() < 0.6))
        else:
            texts.append((" ".join(generator.choices(vocabulary, k=generator.randrange(20, 120))), True))
    pages = pages_of(texts)
    assert best_earlier(pages).tolist() == pytest.approx(by_brute_force(pages))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Straße Café", ["strasse", "café"]),
        ("ｆｕｌｌ width", ["full", "width"]),
        ("漢字かなカナ abc", ["漢", "字", "か", "な", "カ", "ナ", "abc"]),
        ("don't", ["don", "t"]),
        ("… — !", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("a b c d", "a b c d", 1.0),
        ("a b c d", "b c d e", 1 / 3),
        ("one two", "one two", 1.0),
        ("one two", "one two three", 0.0),
        ("", "", 0.0),
    ],
)
def test_jaccard(one: str, other: str, expected: float) -> None:
    assert jaccard(one, other) == pytest.approx(expected)


def test_a_short_text_is_one_shingle() -> None:
    assert shingles("Two words") == {("two", "words")}
    assert shingles("") == set()


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


def test_only_kept_pages_count_as_earlier_pages() -> None:
    assert best_earlier(pages_of([("a b c", False), ("a b c", True), ("a b c", True)])).tolist() == [0, 0, 1]


def test_without_pages_there_is_nothing_to_divide() -> None:
    truth = assess([], similarity=0.9)
    assert truth.recall is None
    assert truth.precision is None


def test_four_thousand_pages_take_seconds() -> None:
    generator = random.Random(1)
    vocabulary = [f"w{n}" for n in range(5000)]
    template = " ".join(generator.choices(vocabulary, k=60))
    texts = [
        (template + " " + " ".join(generator.choices(vocabulary, k=200)), generator.random() < 0.8) for _ in range(4000)
    ]
    started = time.monotonic()
    best_earlier(pages_of(texts))
    assert time.monotonic() - started < 10
