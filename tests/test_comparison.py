"""What `compare` tells of two pages."""

from __future__ import annotations

import json
from typing import Any

import mmh3
import pytest

from crawldedup import Deduplicator, Kind, Page, compare, wire
from crawldedup.errors import ConfigurationError, PageError
from crawldedup.fingerprinting.fingerprint import fingerprint
from crawldedup.literature.exact import jaccard
from tests.test_check_fingerprint import ALIKE, HALF_ALIKE, TEXT, UNLIKE, A, B

RED = "<h1>Chair</h1><p>49.00 EUR</p><p>Colour: red</p><form class=add-to-cart></form>"
SHOP = f"<html><head><title>Chair</title></head><body><main>{{}}<p>{TEXT}</p></main></body></html>"


def compared(first: str, second: str, **options: Any) -> Any:
    return compare(Page(A, text=first), Page(B, text=second), **options)


@pytest.mark.parametrize("second", [TEXT, ALIKE, HALF_ALIKE, UNLIKE])
def test_the_exact_similarity_is_told_and_the_verdict_is_a_crawls(second: str) -> None:
    told = compared(TEXT, second)
    assert told.similarity == pytest.approx(jaccard(TEXT, second))
    with Deduplicator(key=0) as dedup:
        dedup.check(A, text=TEXT)
        found = dedup.find(text=second)
        checked = dedup.check(B, text=second)
    assert (told.verdict.kind, told.verdict.original) == (checked.kind, checked.original)
    assert told.verdict.similarity == checked.similarity
    if found:
        assert told.candidate.match.similarity == found[0].similarity
    assert told.candidate.accepted == (told.candidate.cost <= told.limit)
    assert json.loads(wire.encode(told))["verdict"]["kind"] == checked.kind


def test_what_differs_is_told() -> None:
    told = compared(f"{TEXT} once {TEXT}", f"{TEXT} twice or more {TEXT}")
    (change,) = told.changes
    assert (change.removed, change.added) == ("once", "twice or more")
    assert compared(TEXT, TEXT).changes == ()
    assert told.words[1] == told.words[0] + 2


def test_every_bit_that_differs_has_its_probability_and_the_estimate_its_error() -> None:
    candidate = compared(TEXT, ALIKE).candidate
    one, other = fingerprint(TEXT), fingerprint(ALIKE)
    assert sum(1 << 63 - flip.bit for flip in candidate.flips) == one.search ^ other.search
    assert len(candidate.flips) == candidate.match.hamming > 0
    # The likeliest to differ are those of small weight.
    by_weight = sorted(candidate.flips, key=lambda flip: abs(other.search_weights[flip.bit]))
    assert [flip.probability for flip in by_weight] == sorted((flip.probability for flip in by_weight), reverse=True)
    assert all(0 < flip.probability < 0.5 for flip in candidate.flips)
    assert candidate.deviation is not None
    assert abs(candidate.match.similarity - jaccard(TEXT, ALIKE)) < 4 * candidate.deviation
    assert compared(TEXT, TEXT).candidate.deviation == 0


def test_pages_of_other_facts_are_kept_apart_and_the_facts_are_told() -> None:
    pages = [SHOP.format(RED.replace("red", colour)) for colour in ("red", "blue")]
    red, blue = Page(A, html=pages[0]), Page(B, html=pages[1])
    told = compare(red, blue)
    assert told.verdict.kind is Kind.NEW
    assert told.candidate.accepted
    assert told.facts == (("row colour red",), ("row colour blue",))
    alike = compare(red, blue, distinguish="nothing")
    assert alike.verdict.kind is Kind.NEAR_DUPLICATE
    assert alike.facts == ((), ())


def test_a_page_that_the_search_misses_is_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crawldedup.search.plan.PROBE_BUDGET", 2)
    differing = next(
        told
        for number in range(500)
        if not (told := compared(TEXT, f"{ALIKE} {number}", expected_pages=10**8)).candidate.match.exact
        and told.candidate.accepted
        and told.candidate.probe is None
    )
    assert differing.verdict.kind is Kind.NEW


def test_thin_pages_are_compared_by_their_text() -> None:
    same, other = compared("three small words", "three small words"), compared("three small words", "four small words")
    assert (same.verdict.kind, other.verdict.kind) == (Kind.EXACT_DUPLICATE, Kind.THIN)
    assert same.thin
    assert other.candidate.flips == ()
    assert compared("two words", "two words").similarity is None


def test_equal_urls_are_no_revisit() -> None:
    told = compare(Page(A, text=TEXT), Page(A, text=TEXT))
    assert told.verdict.kind is Kind.EXACT_DUPLICATE


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(PageError):
        compared("", TEXT)
    with pytest.raises(ConfigurationError, match="give html or text"):
        compare(Page(A, fingerprint=fingerprint(TEXT)), Page(B, text=TEXT))
    with pytest.raises(ConfigurationError, match="'a'; it must be a Page"):
        compare("a", "b")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="similarity"):
        compared(TEXT, TEXT, similarity=2)


def test_lines_that_a_deduplicator_has_learned_are_left_out() -> None:
    def board(topic: str, online: int) -> Page:
        counter = f"<p>{online} users online, {online + 9} guests</p>"
        html = f"<title>{topic}</title><main><h1>{topic}</h1><p>{topic} {TEXT}</p>{counter}</main>"
        return Page(f"https://board.example/t/{topic}?sid={mmh3.hash128(f'{topic} {online}'):032x}", html=html)

    with Deduplicator(volatile=True) as dedup:
        for topic in ("moorings", "engines", "sails"):
            list(dedup.check_many([board(topic, 11), board(topic, 38)], batch=1))
        pages = board("anchors", 11), board("anchors", 38)
        assert compare(*pages).similarity != 1
        assert compare(*pages, volatile_lines=dedup.volatile_lines).similarity == 1
