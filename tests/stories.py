"""Texts with a known similarity, for tests of verdicts and explanations."""

from __future__ import annotations

import random

from crawldedup.literature.bench import shingles, words
from crawldedup.literature.minhash import jaccard_of_sets

A, B, C = "https://e.com/a", "https://e.com/b", "https://e.com/c"


def story(seed: int, words: int = 400) -> str:
    """Return a text that shares no word with those of other seeds."""
    chooser = random.Random(seed)
    return " ".join("".join(chooser.choices("abdeiklmnorstu", k=6)) for _ in range(words))


def jaccard(text: str, other: str) -> float:
    """Return the exact similarity of two texts; 0 for two texts without a word."""
    return jaccard_of_sets(shingles(words(text)), shingles(words(other)))


def edited(text: str, places: int) -> str:
    """Change a word at this many places, five words apart. Fewer places are a subset of more."""
    words = text.split()
    for place in range(places):
        words[5 * place + 4] = f"edit{place}"
    return " ".join(words)


TEXT, OTHER = story(1), story(2)
# Of the similarities 0.97, 0.82 and 0.25.
NEAR, HALF_ALIKE, FAR = (edited(TEXT, places) for places in (2, 13, 80))
