"""The nearest page that a new one was compared with, and that is not alike enough."""

from __future__ import annotations

import random

import pytest

from crawldedup import Deduplicator
from crawldedup.search import decision
from crawldedup.search.model import estimate_similarity

WORDS = [f"{first}{last}" for first in "bdfgklmnprst" for last in ("ab", "ek", "il", "om", "ur", "ast", "ent")]


def text(seed: int = 0, *, changed: int = 0) -> str:
    words = random.Random(seed).choices(WORDS, k=300)
    for place in range(changed):
        words[place * 7] = f"changed{place}"
    return " ".join(words)


def test_a_new_page_tells_the_nearest_page_below_the_limit() -> None:
    with Deduplicator(key=0) as dedup:
        dedup.check("https://other.example/", text=text(1))
        dedup.check("https://far.example/", text=text(changed=30))
        dedup.check("https://near.example/", text=text())
        verdict = dedup.check("https://new.example/", text=text(changed=12))
    assert (str(verdict.kind), verdict.rejected, verdict.rejected_by) == ("new", "https://near.example/", "similarity")
    assert verdict.rejected_similarity is not None
    assert 0.7 < verdict.rejected_similarity < 0.855


def test_a_copy_a_revisit_and_a_page_like_no_other_tell_none() -> None:
    with Deduplicator(key=0) as dedup:
        dedup.check("https://near.example/", text=text(changed=12))
        dedup.check("https://a.example/", text=text())
        verdicts = [
            dedup.check("https://b.example/", text=text()),
            dedup.check("https://a.example/", text=text(changed=1)),
            dedup.check("https://c.example/", text=text(2)),
            dedup.check("https://d.example/", text="Two words."),
        ]
    assert [str(verdict.kind) for verdict in verdicts] == ["exact_duplicate", "revisit", "new", "thin"]
    assert {(each.rejected, each.rejected_similarity, each.rejected_by) for each in verdicts} == {(None, None, None)}


def test_a_crowd_keeps_pages_apart() -> None:
    """Each is as near to the template as the others, and would be accepted alone."""
    with Deduplicator(key=0) as dedup:
        for page in range(30):
            words = text().split(" ")
            words[page * 10 : page * 10 + 8] = [f"page{page * 8 + number}" for number in range(8)]
            verdict = dedup.check(f"https://a.example/{page}", text=" ".join(words))
            if verdict.rejected_by == "crowd":
                break
    assert verdict.rejected_by == "crowd"
    assert verdict.rejected_similarity is not None
    assert verdict.rejected_similarity >= 0.85


@pytest.mark.parametrize("changed", [8, 10, 12, 15])
def test_the_similarity_is_about_the_estimate(changed: int) -> None:
    rule = decision.crowd_rule(0.9, 0.98, 256)
    with Deduplicator(key=0) as dedup:
        first, second = dedup.fingerprint(text=text()), dedup.fingerprint(text=text(changed=changed))
    accepts = decision.likelihood_rule(second.verify_weights, rule.thresholds[0])
    about = rule.similarity(accepts.cost(second.verify, first.verify))
    assert about == pytest.approx(estimate_similarity(second.verify_weights, second.verify, first.verify), abs=0.03)
