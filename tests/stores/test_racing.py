"""Racing processes behave as one process that offers the pages in some order: nothing is admitted twice, or lost."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from crawldedup import Deduplicator
from crawldedup.verdict import Kind
from tests.stores.racing import (
    EXPECTED_PAGES,
    Call,
    Content,
    Racers,
    Resemblance,
    ask_carelessly,
    ask_with_rank,
    assert_the_best_is_kept,
    by_content,
    chained_contents,
    edited_contents,
    explains,
    offers_of,
    parts_of,
    url_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence, Set

    from tests.stores.backends import Backend

# What a race takes: contents of ten pages each. A file takes fewer, because one writes while the others wait.
CONTENTS = {"redis": 160, "sqlite": 60}
CONTENTS_OF_CARELESS = 60
CHAINS = 24
PAGES_A_CONTENT = 10
PAGES_A_CHAIN = 16


@pytest.fixture(scope="module")
def racers() -> Iterator[Racers]:
    with Racers() as racers:
        yield racers


@pytest.fixture(scope="module")
def edited() -> tuple[list[Content], Resemblance]:
    contents = edited_contents(CONTENTS["redis"], random.Random(1))
    return contents, Resemblance(contents)


@pytest.fixture(scope="module")
def chained() -> tuple[list[Content], Resemblance]:
    contents = chained_contents(CHAINS, random.Random(2))
    return contents, Resemblance(contents)


def unexplained(calls: Sequence[Call], resemblance: Resemblance) -> list[int]:
    """The contents whose answers no single process would have given."""
    return [
        number for number, own in by_content(calls).items() if not explains(own, partial(resemblance.found, number))
    ]


def contested(calls: Sequence[Call]) -> int:
    """Contents of which a second page was offered before the first one to be admitted had its answer."""
    return sum(
        any(call.overlaps(admitted) for call in own if call is not admitted)
        for own in by_content(calls).values()
        for admitted in [min((call for call in own if not call.is_duplicate), key=lambda call: call.ended)]
    )


def assert_index_holds(store: str, calls: Sequence[Call], contents: Sequence[Content]) -> None:
    """Exactly the admitted pages, each with as many copies as were told it."""
    copies = {call.url: 0 for call in calls if call.kind is Kind.NEW}
    for call in calls:
        if call.is_duplicate:
            assert call.original in copies
            copies[call.original] += 1
    assert sum(copies.values()) + len(copies) == len(calls)
    with Deduplicator(store, expected_pages=EXPECTED_PAGES, key=0) as dedup:
        assert dedup.info().pages == len(copies)
        for url in copies:
            content, at, _ = parts_of(url)
            found = {match.url: match.copies for match in dedup.find(text=contents[content].texts[at])}
            assert found[url] == copies[url]
            assert found.items() <= copies.items()


def test_of_racing_copies_and_near_duplicates_one_is_admitted(
    racers: Racers, shared_backend: Backend, edited: tuple[list[Content], Resemblance]
) -> None:
    contents, resemblance = edited
    contents = contents[: CONTENTS[shared_backend.name]]
    offers = offers_of(contents, PAGES_A_CONTENT)
    calls = racers.race(shared_backend.url, offers, random.Random(3))

    assert sorted(call.url for call in calls) == sorted(offer.url for offer in offers)
    assert {call.kind for call in calls} == {Kind.NEW, Kind.NEAR_DUPLICATE, Kind.EXACT_DUPLICATE}
    for number, own in by_content(calls).items():
        if resemblance.is_mutual(number, contents[number]):
            (admitted,) = (call for call in own if call.kind is Kind.NEW)
            told = sorted(call.copies for call in own if call.original == admitted.url)
            assert told == list(range(1, PAGES_A_CONTENT)), f"the copies of {admitted.url} are counted wrongly"
    assert unexplained(calls, resemblance) == []
    assert_index_holds(shared_backend.url, calls, contents)
    assert contested(calls) > len(contents) // 20


def test_of_racing_copies_of_several_ranks_the_best_is_kept(racers: Racers, shared_backend: Backend) -> None:
    contents = [Content(content.texts[:1]) for content in edited_contents(40, random.Random(6))]
    calls = racers.race(shared_backend.url, offers_of(contents, PAGES_A_CONTENT), random.Random(7), ask_with_rank)
    assert_the_best_is_kept(shared_backend.url, calls, contents)
    assert sum(call.replaces for call in calls) > len(contents) // 4


def test_racing_pages_of_which_not_all_resemble_each_other_have_answers_of_one_process(
    racers: Racers, shared_backend: Backend, chained: tuple[list[Content], Resemblance]
) -> None:
    contents, resemblance = chained
    offers = offers_of(contents, PAGES_A_CHAIN)
    calls = racers.race(shared_backend.url, offers, random.Random(4))
    assert sorted(call.url for call in calls) == sorted(offer.url for offer in offers)
    admitted = [call for call in calls if call.kind is Kind.NEW]
    assert len(admitted) > 2 * len(contents)
    assert unexplained(calls, resemblance) == []
    assert_index_holds(shared_backend.url, calls, contents)


@pytest.mark.nightly
def test_a_store_that_looks_and_remembers_in_two_steps_is_found_out(
    racers: Racers, shared_backend: Backend, edited: tuple[list[Content], Resemblance]
) -> None:
    contents, resemblance = edited
    contents = contents[:CONTENTS_OF_CARELESS]
    calls = racers.race(shared_backend.url, offers_of(contents, PAGES_A_CONTENT), random.Random(5), ask_carelessly)
    wrong = unexplained(calls, resemblance)
    assert len(wrong) > len(contents) // 10


# A history is a line a call: text, copy, verdict (* for new, else the original's text and copy, and the copies it was
# told of), begin and end. Text 0 is near text 1, and text 1 is near text 2, but not text 0 near text 2.
def history(*lines: str) -> list[Call]:
    calls = []
    for line in lines:
        page, verdict, began, ended = line.split()
        text, copy = map(int, page.split("."))
        call = Call(url_of(0, text, copy), Kind.NEW, None, 0, int(began), int(ended))
        if verdict != "*":
            original, copies = verdict.split("x")
            at, number = map(int, original.split("."))
            kind = Kind.EXACT_DUPLICATE if at == text else Kind.NEAR_DUPLICATE
            call = replace(call, kind=kind, original=url_of(0, at, number), copies=int(copies))
        calls.append(call)
    return calls


def neighbours(asked: int, remembered: Set[int]) -> set[int]:
    return {text for text in remembered if abs(asked - text) <= 1}


EXPLAINED = {
    "nothing happened": [],
    "one after the other": ["0.0 * 0 1", "0.1 0.0x1 2 3", "1.0 0.0x2 4 5", "2.0 * 6 7"],
    "the later to begin was first": ["0.0 0.1x1 0 9", "0.1 * 1 8"],
    "the chain's middle came last": ["0.0 * 0 1", "2.0 * 0 1", "1.0 2.0x1 2 3"],
    "the chain's middle came first": ["1.0 * 0 5", "0.0 1.0x2 1 4", "2.0 1.0x1 2 9"],
    "the middle's answer came before the end's": ["1.0 2.0x1 0 1", "2.0 * 0 9", "0.0 * 0 9"],
    "at the same moment": ["0.0 * 0 5", "0.1 0.0x2 0 5", "0.2 0.0x1 0 5", "1.0 0.0x3 0 5"],
}

REFUTED = {
    "both admitted": ["0.0 * 0 5", "0.1 * 0 5"],
    "near duplicates both admitted": ["0.0 * 0 5", "1.0 * 0 5"],
    "both dropped": ["0.0 0.1x1 0 5", "0.1 0.0x1 0 5"],
    "one dropped for another that was dropped": ["0.0 * 0 1", "0.1 0.0x1 2 3", "0.2 0.1x1 4 5"],
    "dropped before the original was offered": ["0.0 0.1x1 0 1", "0.1 * 2 3"],
    "dropped for a page that was never offered": ["0.0 0.7x1 0 1"],
    "dropped for a page it does not resemble": ["0.0 * 0 1", "2.0 0.0x1 2 3"],
    "told of the same number of copies": ["0.0 * 0 1", "0.1 0.0x1 2 5", "0.2 0.0x1 2 5"],
    "a copy counted twice": ["0.0 * 0 1", "0.1 0.0x2 2 5"],
    "copies counted in the wrong order": ["0.0 * 0 1", "0.1 0.0x2 2 3", "0.2 0.0x1 4 5"],
    "admitted though a near one was there": ["0.0 * 0 1", "2.0 * 0 1", "1.0 * 2 3"],
    "no order suits everyone": ["0.0 * 0 1", "1.0 2.0x1 2 3", "2.0 * 4 5"],
}


@pytest.mark.parametrize("lines", EXPLAINED.values(), ids=EXPLAINED.keys())
def test_a_history_that_one_process_could_have_is_explained(lines: list[str]) -> None:
    assert explains(history(*lines), neighbours)


@pytest.mark.parametrize("lines", REFUTED.values(), ids=REFUTED.keys())
def test_a_history_that_no_process_could_have_is_refuted(lines: list[str]) -> None:
    assert not explains(history(*lines), neighbours)


def test_a_verdict_of_the_wrong_kind_is_refuted() -> None:
    for line, wrong in (("0.1 0.0x1 2 3", Kind.NEAR_DUPLICATE), ("1.0 0.0x1 2 3", Kind.EXACT_DUPLICATE)):
        first, second = history("0.0 * 0 1", line)
        assert explains([first, second], lambda asked, remembered: remembered)
        assert not explains([first, replace(second, kind=wrong)], lambda asked, remembered: remembered)
    (revisit,) = history("0.0 * 0 1")
    assert not explains([replace(revisit, kind=Kind.REVISIT)], lambda asked, remembered: remembered)
