"""What tells two pages apart, in words."""

from __future__ import annotations

import pytest

from crawldedup.marks.reasons import KINDS, reason_of
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
        (Conflict.LISTING, "a list of other pages"),
        (Conflict.NUMBERS, "other numbers"),
    ],
)
def test_the_marks_that_differ_are_told(conflict: Conflict, reason: str) -> None:
    assert reason_of(conflict, shown("lamp", "7"), shown("chair", "8")) == reason


def test_every_conflict_has_words() -> None:
    assert set(KINDS) == set(Conflict) - {Conflict.NONE}
