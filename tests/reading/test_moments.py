"""Which words of a short text are the moment of its rendering, and which are its content."""

from __future__ import annotations

import pytest

from crawldedup import Deduplicator, Kind
from crawldedup.fingerprinting.features import jaccard
from crawldedup.reading.moments import LONGEST_WITH_MOMENTS, lasting_text

PASSAGE = (
    "The harbour of the old town freezes over in most winters, and then the ferries stop.\n"
    "Nobody minds: the ice is thick enough for carts, and the road across it is short."
)

# Two values of each.
MOMENTS = [
    ("Last updated 12:59", "Last updated 5:54"),
    ("Updated: Nov 13, 2026, 10:28am", "Updated: Jan 2, 2027, 1:05pm"),
    ("Today is Monday, November 23, 2026", "Today is Friday, March 6, 2026"),
    ("Local time: 5:54 pm", "Local time: 11:02 am"),
    ("It is currently Mon Nov 23, 2026 12:59 pm", "It is currently Tue Nov 24, 2026 1:07 am"),
    ("This page was last edited on 3 May 2026, at 12:59.", "This page was last edited on 30 June 2025, at 7:01."),
    ("Diese Seite wurde zuletzt am 3. Mai 2026 um 12:59 Uhr bearbeitet.",
     "Diese Seite wurde zuletzt am 14. Juni 2026 um 8:01 Uhr bearbeitet."),
    ("Dernière mise à jour : 23.11.2026", "Dernière mise à jour : 1.2.2027"),
    ("Página actualizada el 3 de mayo de 2026", "Página actualizada el 14 de junio de 2026"),
    ("最終更新 2026年5月3日 (日) 12:59", "最終更新 2026年11月30日 (月) 8:05"),
    ("3 hours ago", "55 minutes ago"),
    ("16m ago", "2h ago"),
    ("il y a 3 heures", "il y a 2 jours"),
    ("5分前", "3時間前"),
    ("There are 12 users online: 3 registered and 9 guests", "There are 7 users online: 1 registered and 6 guests"),
    ("1,204 visitors online", "98 visitors online"),
    ("Page created in 0.031 seconds with 18 queries.", "Page created in 1.2 seconds with 9 queries."),
    ("© 2009-2026 The Harbour", "© 2009-2027 The Harbour"),
    ("9 jobs found", "17 jobs found"),
    ("Ray ID: 8f2a3b4c5d6e", "Ray ID: 71b03c4d99aa"),
]  # fmt: skip

CONTENTS = [
    ("Doors open at 12:59", "Doors open at 5:54"),
    ("12:59", "5:54"),
    ("Monday, November 23, 2026", "Friday, March 6, 2026"),
    ("Served today at 12:59", "Served today at 5:54"),
    ("Last admission 17:30", "Last admission 16:30"),
    ("Last match on November 23, 2026: 3:1", "Last match on November 23, 2026: 0:2"),
    ("Price list updated 2026: single room 80 EUR", "Price list updated 2026: single room 90 EUR"),
    ("Updated 3 May 2026: 80 EUR", "Updated 3 May 2026: 90 EUR"),
    ("Founded 20 years ago", "Founded 30 years ago"),
    ("The scheme created 9 jobs in Leeds", "The scheme created 7 jobs in Leeds"),
    ("The scheme has 300 active users", "The scheme has 400 active users"),
    ("Lasagne, created in 40 minutes", "Lasagne, created in 50 minutes"),
    ("Stand 14, hall 3", "Stand 15, hall 3"),
    ("Lot 12", "Lot 13"),
]


def lasting(text: str, words: int = 40) -> str:
    return " ".join(lasting_text(text, words, 20).split())


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize(("one", "other"), MOMENTS)
def test_a_moment_is_left_out(one: str, other: str, place: int) -> None:
    texts = []
    for moment in (one, other):
        lines = PASSAGE.split("\n")
        lines.insert(place, moment)
        texts.append(lasting("\n".join(lines)))
    assert texts[0] == texts[1]
    assert all(line in texts[0] for line in PASSAGE.split("\n"))


@pytest.mark.parametrize(("one", "other"), CONTENTS)
def test_content_stays(one: str, other: str) -> None:
    assert lasting(f"{PASSAGE}\n{one}") != lasting(f"{PASSAGE}\n{other}")


def test_a_long_text_stays_whole() -> None:
    text = f"{PASSAGE}\nLast updated 12:59"
    assert lasting_text(text, LONGEST_WITH_MOMENTS, 20) == text
    assert lasting_text(text, LONGEST_WITH_MOMENTS - 1, 20) != text


def test_a_text_of_little_else_stays_whole() -> None:
    text = "All rights reserved\n" + "Updated at 12:59\n" * 20
    assert lasting_text(text, 63, 20) == text


def test_an_announcement_amid_a_paragraph_is_content() -> None:
    text = PASSAGE.replace("\n", " ") + " Last updated 12:59"
    assert lasting(text) == text


def test_pages_that_differ_in_their_moments_alone_are_exact_duplicates() -> None:
    texts = [f"{one}\n{PASSAGE}\n{two}" for one, two in zip(MOMENTS[4], MOMENTS[10], strict=True)]
    assert (jaccard(*texts) or 1) < 0.7
    with Deduplicator() as dedup:
        dedup.check("https://example.com/a", text=texts[0])
        verdict = dedup.check("https://example.com/b", text=texts[1])
        assert (verdict.kind, verdict.original) == (Kind.EXACT_DUPLICATE, "https://example.com/a")
        told = dedup.explain("https://example.com/b", text=texts[1])
        assert told.verdict.kind is Kind.EXACT_DUPLICATE
        assert [(each.accepted, each.cost) for each in told.candidates] == [(True, 0)]
        assert dedup.check("https://example.com/a", text=texts[1]).changed is False


def test_with_numbers_told_apart_a_moment_counts() -> None:
    with Deduplicator(distinguish="numbers") as dedup:
        for number, moment in enumerate(MOMENTS[0]):
            verdict = dedup.check(f"https://example.com/{number}", text=f"{PASSAGE}\n{moment}")
            assert verdict.kind is Kind.NEW
