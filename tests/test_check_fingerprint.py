"""Pages that are not remembered, and pages that name their original."""

from __future__ import annotations

import random

import pytest

from crawldedup import Deduplicator, Kind, Page, Verdict
from crawldedup.errors import ConfigurationError
from crawldedup.literature.exact import jaccard

_CHOOSER = random.Random(5)
WORDS = [f"{first}{_CHOOSER.randrange(100_000)}" for first in "abcdefghij" for _ in range(40)]
TEXT = " ".join(WORDS)
A, B, C = "https://e.com/a", "https://e.com/b", "https://e.com/c"


def edited(changed: int) -> str:
    """The text with so many words changed, far apart."""
    step = len(WORDS) // max(changed, 1)
    return " ".join(
        "new" + word if place % step == 1 and place // step < changed else word for place, word in enumerate(WORDS)
    )


ALIKE, HALF_ALIKE, UNLIKE = edited(2), edited(13), edited(60)


def test_the_texts_are_as_alike_as_their_names_say() -> None:
    assert jaccard(TEXT, ALIKE) > 0.95
    assert 0.81 < jaccard(TEXT, HALF_ALIKE) < 0.83
    assert jaccard(TEXT, UNLIKE) < 0.5


def test_looking_gives_the_verdict_and_changes_nothing() -> None:
    with Deduplicator() as dedup:

        def look(url: str, text: str) -> tuple[Kind, str | None, int, bool]:
            verdict = dedup.check(url, fingerprint=dedup.fingerprint(text=text), remember=False)
            return verdict.kind, verdict.original, verdict.copies, verdict.changed

        assert look(A, TEXT) == (Kind.NEW, None, 0, False)
        assert look(A, "three thin words") == (Kind.THIN, None, 0, False)
        assert dedup.info().pages == 0
        dedup.check(A, text=TEXT)
        for _ in range(2):
            assert look(A, TEXT) == (Kind.REVISIT, A, 0, False)
            assert look(A, ALIKE) == (Kind.REVISIT, A, 0, True)
            assert look(B, TEXT) == (Kind.EXACT_DUPLICATE, A, 1, False)
            assert look(B, ALIKE) == (Kind.NEAR_DUPLICATE, A, 1, False)
            assert look(B, UNLIKE) == (Kind.NEW, None, 0, False)
        assert dedup.info().pages == 1
        told = dedup.check(B, text=ALIKE)
        assert (told.kind, told.original, told.copies) == (Kind.NEAR_DUPLICATE, A, 1)
        assert look(B, ALIKE) == (Kind.NEAR_DUPLICATE, A, 2, False)


def test_less_is_enough_for_a_page_that_names_its_original() -> None:
    with Deduplicator() as dedup:

        def kind(url: str, text: str, canonical: str | None, **rules: float) -> Kind:
            return dedup.check(url, text=text, canonical=canonical, remember=False, **rules).kind

        dedup.check(A, text=TEXT)
        assert kind(B, HALF_ALIKE, None) is Kind.NEW
        assert kind(B, HALF_ALIKE, C) is Kind.NEW
        assert kind(B, HALF_ALIKE, A + "#top") is Kind.NEAR_DUPLICATE
        assert kind(B, HALF_ALIKE, A, similarity=0.97) is Kind.NEW
        assert kind(B, UNLIKE, A) is Kind.NEW
        assert kind(B, ALIKE, C) is Kind.NEAR_DUPLICATE
        assert kind(A, HALF_ALIKE, B) is Kind.NEW
        dedup.check(B, fingerprint=dedup.fingerprint(text=HALF_ALIKE), canonical=A)
        assert dedup.info().pages == 1


def test_what_a_page_names_is_looked_for_in_its_own_scope() -> None:
    with Deduplicator(scope="site") as dedup:
        dedup.check(A, text=TEXT)
        page = dedup.fingerprint(text=HALF_ALIKE)
        assert dedup.check("https://www.e.com/b", fingerprint=page, canonical=A, remember=False).is_duplicate
        assert not dedup.check("https://other.com/b", fingerprint=page, canonical=A, remember=False).is_duplicate


@pytest.mark.parametrize("similarity", [0.505, 0.55, 0.6])
def test_the_lowest_similarities_have_a_lower_one_too(similarity: float) -> None:
    with Deduplicator(similarity=similarity) as dedup:
        page = dedup.fingerprint(text=TEXT)
        assert dedup.check(B, fingerprint=page, canonical=A).kind is Kind.NEW
        with pytest.raises(ConfigurationError, match="similarity is 7"):
            dedup.check(B, fingerprint=page, canonical=A, similarity=7)


def test_a_batch_gets_the_verdicts_of_single_checks() -> None:
    """Also where a page is not remembered, or names one of the same batch as its original."""
    pages = [
        Page(A, text=TEXT),
        Page(B, text=HALF_ALIKE, canonical=A),
        Page(B, text=HALF_ALIKE, remember=False),
        Page(C, text=UNLIKE, remember=False),
        Page(C, text=UNLIKE),
        Page(C, html=b"\0\1\2" * 999),
        Page(C, text=UNLIKE, remember=False),
        Page(f"{C}/2", text=UNLIKE, canonical=C, rank=1),
        Page(f"{C}/3", fingerprint=Deduplicator(key=1).fingerprint(text=TEXT)),
    ]
    with Deduplicator(key=0) as dedup, Deduplicator(key=0, namespace="singly") as other:
        together = dedup.check_batch(pages)
        singly = [result for page in pages for result in other.check_batch([page])]
        assert [str(result) for result in together] == [str(result) for result in singly]
        assert dedup.info().pages == other.info().pages == 2
    kinds = [result.kind if isinstance(result, Verdict) else type(result).__name__ for result in together]
    assert kinds[:5] == ["new", "near_duplicate", "new", "new", "new"]
    assert kinds[5:] == ["PageError", "revisit", "exact_duplicate", "KeyMismatchError"]
