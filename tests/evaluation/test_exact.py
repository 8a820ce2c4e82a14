"""The exact comparison, against doing it the long way."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawldedup.errors import ConfigurationError
from crawldedup.evaluation import exact
from crawldedup.evaluation.exact import LOWEST, jaccard, numbered_shingles, shingles, similar_pairs, words


def by_search(texts: list[str]) -> dict[tuple[int, int], float]:
    pairs = similar_pairs(list(numbered_shingles(map(words, texts))))
    columns = pairs.first.tolist(), pairs.second.tolist(), pairs.similarity.tolist()
    return {(first, second): similarity for first, second, similarity in zip(*columns, strict=True)}


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


def test_a_template_does_not_make_pages_similar() -> None:
    generator = random.Random(1)
    template = " ".join(f"template{n}" for n in range(60))
    own_words = [" ".join(f"w{generator.randrange(5000)}" for _ in range(200)) for _ in range(300)]
    texts = [f"{template} {text}" for text in own_words]
    assert by_search(texts) == {}
    assert list(by_search([*texts, f"{texts[7]} more"])) == [(7, 300)]


def test_a_page_with_more_words_than_can_be_numbered_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "_WORD_BITS", 4)
    with pytest.raises(ConfigurationError, match="different words"):
        list(numbered_shingles([[f"w{n}" for n in range(20)]]))
