"""A scan keeps the siblings of a template, and finds their copies."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from crawldedup import Options, Page
from crawldedup.marks.learning import learned
from crawldedup.marks.packing import unpacked
from crawldedup.marks.relation import conflict
from crawldedup.scan.engine import Columns, exact_similarities, find_duplicates
from tests.scan.pages import (
    GOAL,
    collection,
    columns_in,
    edited,
    html,
    in_order,
    of_texts,
    packed,
    shingles_in,
    shop,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.commands.conftest import Run

RANDOM = Random(7)
STORY = text(RANDOM, 200)
EDITED = edited(STORY, RANDOM, 1)


def both(pages: Sequence[Page]) -> list[Columns]:
    """Return what is compared by estimates, and what is compared exactly."""
    answer = packed(pages)
    columns = in_order(columns_in(answer))
    return [columns, replace(columns, shingles=shingles_in(answer))]


def originals(pages: Sequence[Page]) -> list[int]:
    """Return what each page is a copy of, by estimates and exactly alike."""
    by_estimates, exactly = (find_duplicates(each, GOAL).original.tolist() for each in both(pages))
    assert by_estimates == exactly
    return list(by_estimates)


def lamp(path: str, name: str, story: str = STORY, host: str = "a.example", **shown: str) -> Page:
    return Page(f"https://{host}/{path}", html=html(name, story, **shown))


def test_siblings_are_kept_and_their_copies_found() -> None:
    names = [lamp(f"{number}", f"Lamp {number}") for number in range(20)]
    pictures = [
        lamp(f"view/{number}", "Lamp", host="b.example", picture=f"red{number}", story=text_of_b)
        for number, text_of_b in enumerate([text(Random(1))] * 20)
    ]
    copies = [
        lamp(f"print/{number}", f"Lamp {number}", EDITED if number % 2 else STORY)
        for number in range(20)
    ]
    again = [replace(page, url=page.url.replace("view", "old/view")) for page in pictures]
    expected = [*range(40), *range(20), *range(20, 40)]
    assert originals([*names, *pictures, *copies, *again]) == expected


def test_siblings_of_equal_text_are_no_exact_copies() -> None:
    pages = [lamp("1", "One"), lamp("2", "Two"), lamp("3", "One"), lamp("4/x", "Two")]
    found = find_duplicates(both(pages)[0], GOAL)
    assert found.original.tolist() == [0, 1, 0, 1]
    assert found.exact.tolist() == [False, False, True, True]


def test_thin_siblings_are_kept_and_their_exact_copies_found() -> None:
    pages = [lamp("1", "", "Sold", data="1"), lamp("2", "", "Sold", data="2")]
    assert originals([*pages, lamp("old/1", "", "Sold", data="1")]) == [0, 1, 0]


def test_pages_are_not_joined_through_a_third_one() -> None:
    """The page without a name is a copy of the first. What resembles it has to agree with that."""
    unnamed = lamp("x/1", "", EDITED)
    pages = [lamp("1", "One"), unnamed, lamp("y/2", "Two", EDITED), lamp("y/3", "One", EDITED)]
    assert originals(pages) == [0, 0, 2, 0]


def test_a_kept_page_learns_marks_from_its_copies_in_their_order() -> None:
    plain = lamp("1", "Lamp")
    red, blue = (lamp(f"x/{color}", "Lamp", picture=color) for color in ("red", "blue"))
    assert originals([plain, red, blue]) == [0, 0, 2]
    assert originals([plain, blue, red]) == [0, 0, 2]
    assert originals([red, plain, blue]) == [0, 0, 2]


def test_pages_of_other_sites_are_copies_whatever_their_marks() -> None:
    assert originals([lamp("1", "One"), lamp("1", "Two", EDITED, host="b.example")]) == [0, 0]


def test_without_the_rule_similarity_decides() -> None:
    pages = [lamp(f"{number}", f"Lamp {number}") for number in range(3)]
    columns = columns_in(packed(pages, Options(distinguish="nothing")))
    assert find_duplicates(columns, GOAL).original.tolist() == [0, 0, 0]


def test_texts_have_no_marks_and_the_same_results_as_ever() -> None:
    answer = of_texts(collection(3))
    assert answer["marks"] == b""
    columns = columns_in(answer)
    assert np.array_equal(columns.twin, columns.digest)
    assert not columns.identity.any()
    assert not columns.address.any()


def test_a_crowd_of_siblings_hides_no_copy() -> None:
    random = Random(2)
    pages = [lamp(f"{number}", f"Lamp {number}") for number in range(600)]
    copied = random.sample(range(600), 60)
    copies = [
        lamp(f"x/{number}", f"Lamp {number}", edited(STORY, random, 1) if number % 2 else STORY)
        for number in copied
    ]
    found = find_duplicates(both([*pages, *copies])[0], GOAL)
    assert found.kept[:600].all()
    assert found.original[600:].tolist() == copied


def feed(name: str, pages: Sequence[Page]) -> None:
    items = [json.dumps({"url": page.url, "html": page.html}) for page in pages]
    Path(name).write_text("".join(f"{item}\n" for item in items))


def urls(name: str) -> list[str]:
    return [json.loads(line)["url"] for line in Path(name).read_text().splitlines()]


def test_a_filter_writes_siblings_and_leaves_out_copies(run: Run) -> None:
    pages = [lamp("1", "One"), lamp("2", "Two"), lamp("x/1", "One", EDITED), lamp("3", "Three")]
    feed("feed.jsonl", pages)
    assert run("filter feed.jsonl -o out.jsonl").status == 0
    assert urls("out.jsonl") == [pages[place].url for place in (0, 1, 3)]


@pytest.mark.usefixtures("own_keys")
def test_a_filter_keeps_the_siblings_of_pages_that_an_index_knows(run: Run) -> None:
    known = [lamp("1", "One"), lamp("2", "Two")]
    feed("known.jsonl", known)
    assert run("check known.jsonl --store sqlite:///index.sqlite").status == 0
    sibling, other = lamp("3", "Three"), lamp("2", "Four")
    feed("feed.jsonl", [known[0], sibling, lamp("x/2", "Two", EDITED), other])
    (counts,) = run("filter feed.jsonl --against sqlite:///index.sqlite -o out.jsonl --json").values
    assert urls("out.jsonl") == [sibling.url, other.url]
    assert (counts["known"], counts["written"]) == (2, 2)


@pytest.mark.parametrize("seed", range(6))
def test_verdicts_are_those_of_an_index_that_compares_all_pages(seed: int) -> None:
    _, columns = both(shop(seed, pages=60))
    assert find_duplicates(columns, GOAL).original.tolist() == by_comparing_all(columns)


def by_comparing_all(columns: Columns) -> list[int]:
    """Apply the rule of the stores in the plainest way."""
    assert columns.shingles is not None
    assert columns.marks is not None
    marks = [columns.marks[row].tobytes() for row in range(len(columns))]
    kept: list[int] = []
    original = []
    for page, own in enumerate(marks.copy()):
        similar = []
        for other in kept:
            similarity = similarity_of(columns, page, other)
            if similarity >= GOAL.similarity and not are_siblings(own, marks[other]):
                similar.append((-similarity, other))
        nearest = min(similar, default=(0.0, page))[1]
        original.append(nearest)
        if nearest == page:
            kept.append(page)
        else:
            marks[nearest] = learned(marks[nearest], own)
    return original


def similarity_of(columns: Columns, page: int, other: int) -> float:
    if columns.digest[page] == columns.digest[other]:
        return 1.0
    if columns.thin[page] or columns.thin[other]:
        return 0.0
    assert columns.shingles is not None
    return float(exact_similarities(columns.shingles, np.array([page]), np.array([other]))[0])


def are_siblings(marks: bytes, other: bytes) -> bool:
    own, its = unpacked(marks), unpacked(other)
    return own is not None and its is not None and bool(conflict(own, its))


def test_ignored_marks_of_a_host_do_not_tell_its_pages_apart() -> None:
    # The same bytes at both hosts: what was read for one is not taken for the other.
    pages = [
        lamp(path, "Lamp", host=host, picture=path.replace("/", ""))
        for path in ("red", "old/blue")
        for host in ("a.example", "b.example")
    ]
    answer = packed(pages, Options(ignore_marks={"b.example": ["picture"]}, scope="site"))
    columns = in_order(columns_in(answer))
    assert find_duplicates(columns, GOAL).original.tolist() == [0, 1, 2, 1]
