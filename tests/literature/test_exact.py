"""The exact comparison, against doing it the long way."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawldedup.literature.exact import (
    LOWEST,
    KeptPages,
    Truth,
    compare_all,
    hashed_shingles,
    jaccard,
    shingles,
    similar_pairs,
    words,
)


def by_search(texts: list[str]) -> dict[tuple[int, int], float]:
    pairs = similar_pairs([hashed_shingles(words(text)) for text in texts])
    return {(first, second): similarity for first, second, similarity in pairs}


def by_brute_force(texts: list[str]) -> dict[tuple[int, int], float]:
    every = {(i, j): jaccard(texts[i], texts[j]) for i, j in combinations(range(len(texts)), 2)}
    return {pair: similarity for pair, similarity in every.items() if similarity >= LOWEST}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Straße Café", ["strasse", "café"]),
        ("ｆｕｌｌ width", ["full", "width"]),
        ("漢字かなカナ abc", ["漢", "字", "か", "な", "カ", "ナ", "abc"]),
        ("don't", ["don", "t"]),
        ("… — !", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("a b c d", "a b c d", 1.0),
        ("a b c d", "b c d e", 1 / 3),
        ("one two", "one two", 1.0),
        ("one two", "one two three", 0.0),
        ("", "", 0.0),
    ],
)
def test_jaccard(one: str, other: str, expected: float) -> None:
    assert jaccard(one, other) == pytest.approx(expected)


def test_a_short_text_is_one_shingle() -> None:
    assert shingles("Two words") == {("two", "words")}
    assert shingles("") == set()


@given(st.lists(st.lists(st.sampled_from("abcde"), max_size=14).map(" ".join), max_size=14))
@settings(max_examples=150, deadline=None)
def test_every_similar_pair_is_found(texts: list[str]) -> None:
    assert by_search(texts) == pytest.approx(by_brute_force(texts))


@pytest.mark.parametrize("seed", range(5))
def test_every_similar_pair_of_edited_copies_is_found(seed: int) -> None:
    generator = random.Random(seed)
    vocabulary = [f"w{n}" for n in range(400)]
    texts: list[str] = []
    for _ in range(60):
        if texts and generator.random() < 0.7:
            copy = generator.choice(texts).split()
            for _ in range(min(generator.randrange(8), len(copy))):
                copy[generator.randrange(len(copy))] = generator.choice(vocabulary)
            texts.append(" ".join(copy[generator.randrange(5) :]))
        else:
            texts.append(" ".join(generator.choices(vocabulary, k=generator.randrange(20, 120))))
    assert by_search(texts) == pytest.approx(by_brute_force(texts))


TEXTS = st.lists(st.sampled_from("abcde"), max_size=14).map(" ".join)
pages_kept = st.lists(st.tuples(TEXTS, st.booleans()), max_size=14)
pages_with_facts = st.lists(st.tuples(TEXTS, st.booleans(), st.sampled_from(["", "price 1", "price 2"])), max_size=14)


def best_earlier(truth: Truth, kept: list[bool], facts: list[str] | None = None) -> list[float]:
    index, best = KeptPages(truth, facts or [""] * len(kept)), []
    for page, is_kept in enumerate(kept):
        best.append(index.best(page)[0])
        if is_kept:
            index.add(page)
    return best


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
    assert best_earlier(truth, [kept for _, kept in pages]) == pytest.approx(best_by_brute_force(pages))


@given(pages_with_facts)
@settings(max_examples=150, deadline=None)
def test_pages_of_the_same_and_of_other_facts_are_told_apart(pages: list[tuple[str, bool, str]]) -> None:
    truth, facts = compare_all([text for text, *_ in pages]), [own for *_, own in pages]
    index, of_others = KeptPages(truth, facts), []
    for page, (_, kept, own) in enumerate(pages):
        similarity, nearest = index.best(page, same_facts=False)
        of_others.append(similarity)
        assert nearest is None or facts[nearest] != own
        if kept:
            index.add(page)
    assert best_earlier(truth, [kept for _, kept, _ in pages], facts) == pytest.approx(best_by_facts(pages))
    assert of_others == pytest.approx(best_by_facts(pages, same_facts=False))


def test_only_kept_pages_count_as_earlier_pages() -> None:
    truth = compare_all(["a b c", "a b c", "a b c"])
    assert best_earlier(truth, [False, True, True]) == [0, 0, 1]


def test_the_best_page_is_named() -> None:
    truth = compare_all(["a b c d e f", "x", "a b c d e f g", "a b c d e f g", ""])
    index = KeptPages(truth, [""] * 5)
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
    assert (len(truth.groups), set(truth.groups)) == (600, {0, 1, 2})
    assert truth.near == {}
    assert best_earlier(truth, [True] * 600) == [0.0] * 3 + [1.0] * 597


def test_pages_without_a_word_are_counted_and_resemble_nothing() -> None:
    truth = compare_all(["", "…", "word"])
    assert truth.groups.count(-1) == 2
    assert truth.words == [len(words(text)) for text in ("", "…", "word")]
    assert best_earlier(truth, [True] * 3) == [0, 0, 0]
