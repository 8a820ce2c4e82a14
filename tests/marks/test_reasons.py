"""What tells two pages apart, in words."""

from __future__ import annotations

import pytest

from crawldedup.marks.reasons import KINDS, brief, reason_of
from crawldedup.marks.relation import Conflict
from crawldedup.marks.values import HEADLINE, ShownMarks, ShownName


def shown(name: str, number: str) -> ShownMarks:
    return ShownMarks(
        names=(ShownName(name, HEADLINE),),
        pictures=(f"{name}.png", "room.png"),
        has_lead=True,
        players=(f"tour of {name}",),
        data=(("declared brand", "x"), ("declared sku", number)),
    )


@pytest.mark.parametrize(
    ("conflict", "reason"),
    [
        (Conflict.NAME, 'another name, "lamp" and "chair"'),
        (Conflict.PICTURE, "another lead picture, lamp.png and chair.png"),
        (Conflict.PLAYER, "another player, tour of lamp and tour of chair"),
        (Conflict.DATA, "other data, declared sku 7 and 8"),
        (Conflict.TEXT, "another text at an address of the same form"),
        (Conflict.LINKS, "other links at an address of the same form"),
        (Conflict.REST, "another text outside the main text, at an address of the same form"),
        (Conflict.LISTING, "a list of other pages"),
        (Conflict.NUMBERS, "other numbers"),
    ],
)
def test_the_differing_marks_are_reported(conflict: Conflict, reason: str) -> None:
    assert reason_of(conflict, shown("lamp", "7"), shown("chair", "8")) == reason


@pytest.mark.parametrize("conflict", KINDS)
def test_marks_that_a_page_does_not_show_are_left_out(conflict: Conflict) -> None:
    """An index may have learned them from a copy of the page."""
    lamp, nothing = shown("lamp", "7"), ShownMarks()
    assert reason_of(conflict, nothing, lamp) == KINDS[conflict]
    assert reason_of(conflict, lamp, nothing) == KINDS[conflict]


@pytest.mark.parametrize(
    "conflict", [Conflict.NAME, Conflict.PICTURE, Conflict.PLAYER, Conflict.DATA]
)
def test_brief_marks_give_the_same_reasons(conflict: Conflict) -> None:
    lamp, chair = shown("lamp", "7"), shown("chair", "8")
    assert reason_of(conflict, brief(lamp), brief(chair)) == reason_of(conflict, lamp, chair)


def test_brief_marks_are_short_and_can_be_encoded() -> None:
    long = "\ud800" + "x" * 10_000
    marks = brief(
        ShownMarks(
            names=(ShownName(long, HEADLINE),),
            pictures=(long, "room"),
            players=(long, "tour"),
            data=((long, long),) * 8,
            text=long,
            links=(long,) * 100,
            numbers=long,
        )
    )
    assert len(repr(marks).encode()) < 3_000


def test_every_conflict_has_words() -> None:
    assert set(KINDS) == set(Conflict) - {Conflict.NONE}
