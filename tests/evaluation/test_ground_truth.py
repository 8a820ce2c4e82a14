from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawldedup.evaluation.exact import LOWEST, jaccard, words
from crawldedup.evaluation.ground_truth import compare_all

texts = st.lists(st.sampled_from("abcde"), max_size=14).map(" ".join)
pages_kept = st.lists(st.tuples(texts, st.booleans()), max_size=14)
pages_with_facts = st.lists(st.tuples(texts, st.booleans(), st.sampled_from(["", "price 1", "price 2"])), max_size=14)


def best_by_brute_force(pages: list[tuple[str, bool]]) -> list[float]:
    return best_by_facts([(text, kept, "") for text, kept in pages])


def best_by_facts(pages: list[tuple[str, bool, str]], *, same_facts: bool = True) -> list[float]:
    best = []
    for position, (text, _, own) in enumerate(pages):
        earlier = [other for other, kept, facts in pages[:position] if kept and (facts == own) is same_facts]
        found = [jaccard(text, other) for other in earlier]
        best.append(max([value for value in found if value >= LOWEST], default=0.0))
    return best


@given(pages_kept)
@settings(max_examples=150, deadline=None)
def test_best_earlier_page_is_exact(pages: list[tuple[str, bool]]) -> None:
    truth = compare_all([text for text, _ in pages])
    assert truth.best_earlier([kept for _, kept in pages]).tolist() == pytest.approx(best_by_brute_force(pages))


@given(pages_with_facts)
@settings(max_examples=150, deadline=None)
def test_pages_of_the_same_and_of_other_facts_are_told_apart(pages: list[tuple[str, bool, str]]) -> None:
    truth, facts = compare_all([text for text, *_ in pages]), [own for *_, own in pages]
    index, of_others = truth.oracle_index(facts), []
    for page, (_, kept, own) in enumerate(pages):
        similarity, nearest = index.best(page, same_facts=False)
        of_others.append(similarity)
        assert nearest is None or facts[nearest] != own
        if kept:
            index.add(page)
    assert truth.best_earlier([kept for _, kept, _ in pages], facts).tolist() == pytest.approx(best_by_facts(pages))
    assert of_others == pytest.approx(best_by_facts(pages, same_facts=False))


@given(pages_kept)
@settings(max_examples=50, deadline=None)
def test_similarities_of_single_pairs(pages: list[tuple[str, bool]]) -> None:
    texts = [text for text, _ in pages]
    index = compare_all(texts).oracle_index()
    for one, text in enumerate(texts):
        for other, other_text in enumerate(texts):
            expected = jaccard(text, other_text)
            assert index.similarity(one, other) == pytest.approx(expected if expected >= LOWEST else 0)


def test_only_kept_pages_count_as_earlier_pages() -> None:
    truth = compare_all(["a b c", "a b c", "a b c"])
    assert truth.best_earlier([False, True, True]).tolist() == [0, 0, 1]


def test_the_best_page_is_named() -> None:
    truth = compare_all(["a b c d e f", "x", "a b c d e f g", "a b c d e f g", ""])
    index = truth.oracle_index()
    assert index.best(3) == (0.0, None)
    index.add(0)
    assert index.best(3) == (pytest.approx(4 / 5), 0)
    index.add(2)
    assert index.best(3) == (1.0, 2)
    assert index.best(4) == (0.0, None)


def test_copies_make_one_group_and_no_pairs() -> None:
    generator = random.Random(1)
    texts = [" ".join(generator.choices("abcdefgh", k=40)) for _ in range(3)]
    truth = compare_all(texts * 200)
    assert (truth.pages, truth.groups) == (600, 3)
    assert len(truth.others) == 0
    assert truth.best_earlier([True] * 600).tolist() == [0.0] * 3 + [1.0] * 597


def test_pages_without_a_word_are_counted_and_resemble_nothing() -> None:
    truth = compare_all(["", "…", "word"])
    assert truth.pages_without_words == 2
    assert truth.word_counts.tolist() == [len(words(text)) for text in ("", "…", "word")]
    assert truth.best_earlier([True] * 3).tolist() == [0, 0, 0]


def test_progress_is_told() -> None:
    steps: list[None] = []
    compare_all(["a b c", "d e f", "a b c"], lambda: steps.append(None))
    assert len(steps) == 3 + 2


def test_nothing_to_compare() -> None:
    assert compare_all([]).best_earlier([]).tolist() == []
