"""A place that brings nothing new ends, is checked for ever, and goes on if it brings something."""

from __future__ import annotations

from collections import Counter

import pytest

from crawldedup.crawling import budget as budget_module
from crawldedup.crawling.budget import Budget, Step, is_barren
from crawldedup.crawling.dated import DatedPages
from crawldedup.fingerprinting.bits import fingerprint
from crawldedup.marks.values import HEADLINE, ShownMarks, ShownName
from crawldedup.reading.reader import ReadPage
from crawldedup.verdict import Kind, Verdict

URL = "https://e.com/calendar/7"


def ended(pages: int = 50, name: str = "calendar") -> Budget[int]:
    budget: Budget[int] = Budget()
    assert [budget.note_barren(name, pages) for _ in range(pages)] == [False] * (pages - 1) + [True]
    return budget


def test_a_place_ends_after_so_many_pages_in_a_row_and_others_go_on() -> None:
    budget: Budget[int] = Budget()
    for _ in range(3):
        assert not any(budget.note_barren("calendar", 50) for _ in range(49))
        assert budget.note_new("calendar") is None
    assert budget.step(["calendar", "wide"], 0) is Step.MADE
    assert ended().step(["events", "wide"], 0) is Step.MADE
    assert ended().step(["events", "calendar"], 0) is Step.SKIPPED


def test_one_in_twenty_is_made_at_first_and_fewer_for_ever() -> None:
    budget = ended()
    steps = [budget.step(["calendar"], number) for number in range(100_000)]
    made = [number for number, step in enumerate(steps, 1) if step is Step.CHECKED]
    assert made[:11] == [20 * number for number in range(1, 12)]
    assert made[-1] > 50_000
    assert len(made) < 25


def test_a_place_goes_on_with_all_that_was_skipped() -> None:
    budget = ended()
    steps = [budget.step(["calendar"], number) for number in range(45)]
    assert Counter(steps) == {Step.SKIPPED: 43, Step.CHECKED: 2}
    assert budget.note_new("other") is None
    assert sorted([*(budget.note_new("calendar") or []), 19, 39]) == [*range(45)]
    assert budget.step(["calendar"], 0) is Step.MADE
    # It may end again.
    assert [budget.note_barren("calendar", 50) for _ in range(50)][-1]


def test_without_room_requests_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget_module, "MOST_SKIPPED", 5)
    budget = ended()
    assert Counter(budget.step(["calendar"], n) for n in range(19)) == {
        Step.SKIPPED: 5,
        Step.NO_ROOM: 14,
    }
    assert budget.note_new("calendar") == [*range(5)]
    assert [budget.note_barren("calendar", 1), budget.step(["calendar"], 6)] == [True, Step.SKIPPED]


def test_a_paused_crawl_takes_over_what_was_skipped() -> None:
    budget: Budget[int] = Budget()
    budget.take_over("calendar", 7)
    assert budget.all_skipped() == [7]
    assert budget.step(["calendar"], 8) is Step.SKIPPED
    assert budget.note_new("calendar") == [7, 8]


@pytest.mark.parametrize(
    ("verdict", "repeats", "expected"),
    [
        (Verdict(Kind.NEW, URL), False, False),
        (Verdict(Kind.NEW, URL), True, True),
        (Verdict(Kind.THIN, URL), False, False),
        (Verdict(Kind.NEAR_DUPLICATE, URL, URL, 0.95), False, True),
        (Verdict(Kind.EXACT_DUPLICATE, URL, URL, 1.0), False, True),
        (Verdict(Kind.NEAR_DUPLICATE, URL, URL, 0.95, replaces=True), False, False),
        (Verdict(Kind.REVISIT, URL, URL, 1.0), False, None),
        (Verdict(Kind.REVISIT, URL, URL, 0.4, changed=True), False, False),
        *(
            (Verdict(Kind.NEW, URL, rejected_by=by), False, True)
            for by in ("text", "links", "rest", "crowd")
        ),
        *((Verdict(Kind.NEW, URL, rejected_by=by), False, False) for by in ("name", "picture")),
    ],
)
def test_what_brings_nothing_new(verdict: Verdict, *, repeats: bool, expected: bool | None) -> None:
    assert is_barren(verdict, repeats_but_for_date=repeats) is expected


EMPTY = (
    "There are no events in {0}. Look at another month, or write to us if one is missing here. " * 2
)


def read(text: str, name: str, **shown: tuple[str, ...]) -> ReadPage:
    marks = ShownMarks(names=(ShownName(name, HEADLINE),), **shown)
    return ReadPage(fingerprint(text=text), marks=marks)


def test_an_empty_month_repeats_another_and_the_minutes_of_a_meeting_do_not() -> None:
    pages = DatedPages()
    months = ("march", "april", "june")
    empty = [read(EMPTY.format(month), f"events in {month} 2027") for month in months]
    assert [pages.repeats(URL, page) for page in empty] == [False, True, True]
    minutes = [
        read(
            " ".join(f"{month}{n} was said at the meeting." for n in range(40)), f"{month} meeting"
        )
        for month in months
    ]
    assert not any(pages.repeats(URL, page) for page in minutes)
    # Nor does a page without a date, or one that shows a picture, and another site is another one.
    assert not any(pages.repeats(URL, read(EMPTY, "events")) for _ in range(2))
    shown = read(EMPTY.format("july"), "events in july 2027", pictures=("harbor.jpg",))
    assert not pages.repeats(URL, shown)
    assert not pages.repeats("https://other.example/", empty[0])
    for number in range(2_000):
        pages.repeats(f"https://e{number}.com/", empty[0])
    assert len(pages._known) == 1_000


def test_an_empty_month_repeats_another_after_months_with_events() -> None:
    pages = DatedPages()
    months = ("march", "april", "june", "july", "august", "september")
    full = [
        read(" ".join(f"{month}{n} is on stage." for n in range(40)), f"events in {month} 2027")
        for month in months
    ]
    assert not any(pages.repeats(URL, page) for page in full)
    empty = [read(EMPTY.format(month), f"events in {month} 2028") for month in months]
    assert [pages.repeats(URL, page) for page in empty] == [False, *[True] * 5]
