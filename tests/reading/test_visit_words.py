"""Which numbers of a line depend on a visit or a date, and which belong to the content."""

from __future__ import annotations

import pytest

from crawldedup import Deduplicator, Kind
from crawldedup.reading.mark_words import without_visits


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("17 people are looking at this", "people are looking at this"),
        ("Users online: 17 of 30 members", "Users online: of members"),
        ("Only 3 left in stock", "Only left in stock"),
        ("Updated 28 minutes ago - 104 comments", "Updated minutes ago - comments"),
        ("Posted on November 3, 2026", "Posted on November , "),
        ("Printed at 10:23", "Printed at :"),
        ("阅读 1234", "阅读"),
    ],
)
def test_numbers_of_visits_and_dates_are_left_out(line: str, left: str) -> None:
    assert without_visits(line).split() == left.split()


@pytest.mark.parametrize(
    "line",
    [
        "The battery of the model 4711 may overheat.",
        "People who bought the heater 4711 were burned.",
        "The ladder 4711 breaks the second you step on it.",
        "Room 12  is on the left\u00a0side",
    ],
)
def test_numbers_in_sentences_stay(line: str) -> None:
    assert without_visits(line) == line


def test_pages_of_one_form_that_differ_in_a_number_beside_a_verb_are_kept() -> None:
    kinds = []
    with Deduplicator() as dedup:
        for place, model in enumerate(("4711", "4923")):
            html = (
                "<title>Recall notice | Safety</title><main><h1>Recall notice</h1>"
                f"<p>The battery of the model {model} may overheat and catch fire.</p><p>Stop using "
                "the product at once and bring it back to the shop where you bought it. You get the "
                "full price back, and you need no receipt. Call our hotline for help.</p></main>"
            )
            kinds.append(dedup.check(f"https://s.example/recalls/{place}", html=html).kind)
    assert kinds == [Kind.NEW, Kind.NEW]
