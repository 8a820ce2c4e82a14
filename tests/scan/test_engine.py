"""The batch engine finds what a crawl finds that meets the pages in their order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from crawldedup import Deduplicator, Kind
from crawldedup.scan.engine import (
    find_duplicates,
)
from tests.scan.pages import (
    GOAL,
    collection,
    columns,
    edited,
    shingles,
    text,
)
from tests.stories import jaccard


def online(texts: list[str]) -> list[tuple[int, bool, float]]:
    """Return the original, whether it is equal, and the similarity of each page, as a Deduplicator
    tells them.
    """
    found = []
    with Deduplicator(key=0) as dedup:
        for number, each in enumerate(texts):
            verdict = dedup.check(str(number), text=each, identity=str(number))
            original = (
                int(verdict.original) if verdict.is_duplicate and verdict.original else number
            )
            found.append(
                (original, verdict.kind is Kind.EXACT_DUPLICATE, verdict.similarity or 1.0)
            )
    return found


def test_its_verdicts_are_those_of_a_crawl() -> None:
    texts = collection()
    found = find_duplicates(columns(texts), GOAL)
    expected = online(texts)
    assert found.original.tolist() == [original for original, _, _ in expected]
    assert found.exact.tolist() == [exact for _, exact, _ in expected]
    near = [
        number
        for number, (original, exact, _) in enumerate(expected)
        if original != number and not exact
    ]
    assert len(near) > 50
    assert found.similarity[near] == pytest.approx(
        [expected[number][2] for number in near], abs=1e-3
    )
    others = np.setdiff1d(np.arange(len(texts)), near)
    assert set(found.similarity[others]) == {1.0}


def test_the_page_of_the_lowest_rank_is_kept() -> None:
    random = Random(1)
    one, other = text(random), text(random)
    texts = [one, edited(one, random, 1), other, one]
    urls = [f"https://a.example/{name}" for name in ("1?sid=7", "1", "2", "1?print=1")]
    assert find_duplicates(columns(texts, urls), GOAL).original.tolist() == [1, 1, 2, 1]


def test_exact_similarities_decide_if_they_are_there() -> None:
    """Whatever the estimates are: all pages from .9 on are dropped, none below, and each for the
    nearest kept one.
    """
    texts = collection(originals=600)
    similarities = {
        (later, earlier): jaccard(texts[later], texts[earlier]) for later, earlier in alike(texts)
    }
    original = list(range(len(texts)))
    for page in range(len(texts)):
        kept = [
            (similarities[page, other], -other)
            for other in range(page)
            if (page, other) in similarities
        ]
        nearest = max(
            [(value, other) for value, other in kept if original[-other] == -other],
            default=(0.0, 0),
        )
        if nearest[0] >= GOAL.similarity:
            original[page] = -nearest[1]
    found = find_duplicates(replace(columns(texts), shingles=shingles(texts)), GOAL)
    assert found.original.tolist() == original
    near = [page for page in range(len(texts)) if original[page] != page and not found.exact[page]]
    assert len(near) > 100
    assert found.similarity[near] == pytest.approx(
        [similarities[page, original[page]] for page in near]
    )
    assert found.original.tolist() != find_duplicates(columns(texts), GOAL).original.tolist()


def alike(texts: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the later and the earlier number of texts that begin or end alike."""
    for later, one in enumerate(texts):
        for earlier, other in enumerate(texts[:later]):
            if one[:20] == other[:20] or one[-20:] == other[-20:]:
                yield later, earlier


def test_an_exact_copy_of_a_dropped_page_shares_its_verdict() -> None:
    random = Random(2)
    one = text(random)
    near = edited(one, random, 1)
    found = find_duplicates(columns([one, near, near]), GOAL)
    assert found.original.tolist() == [0, 0, 0]
    assert found.exact.tolist() == [False, False, False]
    assert found.similarity[1] == found.similarity[2] < 1


def test_copies_without_number_of_one_page_are_found_at_once() -> None:
    """Each meets the first of them, however many others share its keys."""
    random = Random(4)
    one = text(random, 400)
    texts = [text(random), *(edited(one, random, 1) for _ in range(600)), text(random)]
    found = find_duplicates(columns(texts), GOAL)
    assert found.kept.nonzero()[0].tolist() == [0, 1, 601]


def test_a_template_on_all_pages_hides_no_near_duplicate() -> None:
    random = Random(5)
    template = text(random, 200)
    texts = [f"{template} {text(random, 160)}" for _ in range(1000)]
    copies = [edited(texts[place], random, 2) for place in range(0, 1000, 10)]
    found = find_duplicates(columns([*texts, *copies]), GOAL)
    assert (found.original[1000:] == np.arange(0, 1000, 10)).mean() > 0.97
    assert found.kept[:1000].mean() > 0.99


def test_chains_and_crowds_end_where_they_do_in_a_crawl() -> None:
    random = Random(3)
    chain = [text(random, 400)]
    for edits in [4] * 30 + [10] * 30:
        chain.append(edited(chain[-1], random, edits))
    words = [f"word{number}" for number in range(300)]
    crowd = [
        " ".join(
            f"other{page}" if (place - page) % 38 == 4 else word for place, word in enumerate(words)
        )
        for page in range(8)
    ]
    texts = [*chain, *crowd, " ".join(words)]
    expected = [original for original, _, _ in online(texts)]
    assert expected[-1] == len(texts) - 1
    assert find_duplicates(columns(texts), GOAL).original.tolist() == expected
