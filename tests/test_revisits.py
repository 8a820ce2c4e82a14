"""How much of a text a revisit must keep to count as unchanged."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from crawldedup import Deduplicator, Kind
from crawldedup.verdict import Verdict, describe

_CHOOSER = random.Random(7)
WORDS = ["".join(_CHOOSER.choices("abdeiklmnorstu", k=6)) for _ in range(300)]
TEXT = " ".join(WORDS)
A, B = "https://e.com/a", "https://e.com/b"
PRODUCT = (
    '<html><head><script type="application/ld+json">{{"@type": "Product", "name": "Kettle", '
    '"offers": {{"price": "{0}", "priceCurrency": "EUR"}}}}</script></head><body><main><h1>Kettle</h1><p>{0} EUR</p>'
    + "".join(f"<p>{' '.join(WORDS[at : at + 30])}.</p>" for at in range(0, 300, 30))
    + "</main></body></html>"
)


def edited(places: int) -> str:
    """The text with one word changed at each of so many places; at fewer places, they are among these."""
    words = list(WORDS)
    for place in range(places):
        words[10 * place + 5] = f"edit{place}"
    return " ".join(words)


def visit(dedup: Deduplicator, url: str, text: str) -> Verdict:
    return dedup.check(url, text=text, revisit_similarity=0.9)


def visit_by_fingerprint(dedup: Deduplicator, url: str, text: str) -> Verdict:
    return dedup.check(url, fingerprint=dedup.fingerprint(text=text), revisit_similarity=0.9)


@pytest.mark.parametrize("ask", [visit, visit_by_fingerprint])
def test_a_page_that_drifts_is_changed_when_it_is_far_from_what_was_delivered(
    ask: Callable[[Deduplicator, str, str], Verdict],
) -> None:
    with Deduplicator(key=0) as dedup:
        assert ask(dedup, A, TEXT).kind is Kind.NEW
        seen = [ask(dedup, A, edited(places)) for places in range(1, 29, 3)]
    assert {verdict.kind for verdict in seen} == {Kind.REVISIT}
    changed = [verdict.changed for verdict in seen]
    # Each resembles the one before it, and some are delivered all the same.
    assert changed[0] is False
    assert 3 <= sum(changed) <= 5
    for verdict in seen:
        assert verdict.similarity is not None
        assert verdict.hamming is not None
        assert verdict.changed == (verdict.similarity < 0.9)


def test_without_a_similarity_texts_must_be_equal() -> None:
    with Deduplicator() as dedup:
        dedup.check(A, text=TEXT)
        verdict = dedup.check(A, text=edited(1))
        assert verdict.changed
        assert verdict.similarity is not None
        assert 0.95 < verdict.similarity < 1
        assert not dedup.check(A, text=edited(1)).changed


@pytest.mark.parametrize(("places", "expected"), [(2, 0.961), (8, 0.852), (20, 0.667), (30, 0.538)])
def test_a_changed_page_tells_how_much_is_left_of_what_it_was(places: int, expected: float) -> None:
    with Deduplicator(key=0) as dedup:
        dedup.check(A, text=TEXT)
        verdict = dedup.check(A, text=edited(places))
        assert verdict.changed
        assert verdict.similarity == pytest.approx(expected, abs=0.09)
        # The index has the new text, and only that.
        assert dedup.check(B, text=edited(places)).original == A


def test_a_thin_page_is_unchanged_only_if_it_is_equal() -> None:
    with Deduplicator() as dedup:
        visit(dedup, A, "a few words on 17 pages")
        changed = visit(dedup, A, "a few words on 18 pages")
        assert (changed.changed, changed.similarity, changed.hamming) == (True, None, None)
        assert not visit(dedup, A, "a few words on 18 pages").changed
        assert visit(dedup, A, TEXT).changed


def test_a_product_of_another_price_is_changed_however_alike_it_reads() -> None:
    with Deduplicator() as dedup:
        first, same, cheaper = (
            dedup.check(A, html=PRODUCT.format(price), revisit_similarity=0.6) for price in (20, 20, 18)
        )
        assert [verdict.kind for verdict in (first, same, cheaper)] == [Kind.NEW, Kind.REVISIT, Kind.REVISIT]
        assert [verdict.changed for verdict in (same, cheaper)] == [False, True]
        assert cheaper.similarity is not None
        assert cheaper.similarity < 0.3


def test_looking_tells_what_a_visit_would_tell() -> None:
    with Deduplicator() as dedup:
        dedup.check(A, text=TEXT)
        for similarity, changed in ((None, True), (0.9, False), (0.99, True)):
            page = dedup.fingerprint(text=edited(3))
            looked = dedup.check(A, fingerprint=page, remember=False, revisit_similarity=similarity)
            assert (looked.kind, looked.changed) == (Kind.REVISIT, changed)


@pytest.mark.parametrize(
    ("changed", "similarity", "said"),
    [
        (False, 1.0, "known and unchanged"),
        (False, None, "known and unchanged"),
        (False, 0.97, "known and hardly changed (0.970)"),
        (True, 0.5, "known, with other text (0.500)"),
        (True, None, "known, with other text"),
    ],
)
def test_a_revisit_is_put_into_words(changed: bool, similarity: float | None, said: str) -> None:
    assert describe(Verdict(Kind.REVISIT, A, A, similarity, changed=changed)) == said
