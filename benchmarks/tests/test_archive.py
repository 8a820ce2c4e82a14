"""The texts of `archive.py`, and how a method that left some out is judged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks.archive_parts.texts import Archive, jaccard, number_of, shingle_set
from benchmarks.archive_parts.truth import DUPLICATE, EDGES, judge, similarities
from crawldedup.fingerprinting.shingles import jaccard as of_texts

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

PAGES = 1200


@pytest.fixture(scope="module")
def archive() -> Archive:
    return Archive(PAGES)


@pytest.fixture(scope="module")
def truth(archive: Archive) -> NDArray[np.float64]:
    return similarities(archive)


@pytest.fixture(scope="module")
def original(archive: Archive) -> NDArray[np.intp]:
    """The original of every page."""
    return archive.by_family[archive.starts[:-1]][archive.family]


def test_similarities_are_those_of_the_texts(
    archive: Archive, truth: NDArray[np.float64], original: NDArray[np.intp]
) -> None:
    copies = np.flatnonzero(archive.member)
    assert len(copies) == PAGES * 0.3
    for number in copies.tolist():
        assert original[number] < number
        exact = of_texts(archive.text(number), archive.text(int(original[number])))
        assert truth[number] == pytest.approx(exact)


def test_copies_have_every_similarity(archive: Archive, truth: NDArray[np.float64]) -> None:
    counts = np.histogram(truth[archive.member > 0], [0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 2])[0]
    assert counts[0] == 0
    assert (counts[2:7] > PAGES * 0.02).all()
    assert counts[7] > PAGES * 0.07


def test_pages_of_other_families_are_no_duplicates(archive: Archive) -> None:
    sets = [shingle_set(archive.tokens(family, 0)) for family in range(200)]
    framed = [archive.in_template(family) for family in range(200)]
    alike = [jaccard(first, second) for place, first in enumerate(sets) for second in sets[:place]]
    assert 0.1 < sum(framed) / 200 < 0.3
    assert 0.2 < max(alike) < 0.45


def test_an_archive_is_written_alike_every_time(archive: Archive, tmp_path: Path) -> None:
    archive.write(tmp_path / "first.jsonl")
    Archive(PAGES).write(tmp_path / "second.jsonl")
    lines = (tmp_path / "first.jsonl").read_text().splitlines()
    assert lines == (tmp_path / "second.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    assert [number_of(row["url"]) for row in rows] == list(range(PAGES))
    # The shortest text may lose half of its shingles.
    assert min(len(row["text"].split()) for row in rows) >= 50
    assert Archive(PAGES, seed=2).text(0) != rows[0]["text"]


def test_leaving_out_all_duplicates_is_perfect(
    archive: Archive, truth: NDArray[np.float64]
) -> None:
    left_out = (archive.member > 0) & (truth >= DUPLICATE)
    judged = judge(archive, truth, ~left_out)
    first = EDGES.index(DUPLICATE)
    assert judged.recall == [0.0] * first + [1.0] * (len(EDGES) - 1 - first)
    assert (judged.left_out, judged.false) == (left_out.sum(), 0)
    nothing = judge(archive, truth, np.ones(PAGES, np.bool_))
    assert sum(nothing.found) == nothing.left_out == nothing.false_share == 0
    assert sum(nothing.copies) == (archive.member > 0).sum()


def test_keeping_one_copy_instead_of_the_original_finds_the_copies(
    archive: Archive, truth: NDArray[np.float64]
) -> None:
    """All of a family but its last page, where all its pages are the same."""
    kept = np.ones(PAGES, np.bool_)
    families = [
        archive.by_family[start:stop]
        for start, stop in zip(archive.starts, archive.starts[1:], strict=False)
    ]
    same = [numbers for numbers in families if len(numbers) > 1 and (truth[numbers] == 1).all()]
    for numbers in same:
        kept[numbers[:-1]] = False
    judged = judge(archive, truth, kept)
    assert judged.false == 0
    assert (
        sum(judged.found)
        == judged.found[-1]
        == judged.left_out
        == sum(len(numbers) - 1 for numbers in same)
        > 0
    )


def test_pages_left_out_for_a_template_are_false(
    archive: Archive, truth: NDArray[np.float64]
) -> None:
    originals = np.flatnonzero(archive.member == 0)
    alone = [
        number
        for number in originals.tolist()
        if (archive.family == archive.family[number]).sum() == 1
    ]
    kept = np.ones(PAGES, np.bool_)
    kept[[number for number in alone if archive.in_template(int(archive.family[number]))]] = False
    judged = judge(archive, truth, kept)
    assert judged.false == judged.false_in_template == judged.left_out > 0
    assert judged.false_share == 1
