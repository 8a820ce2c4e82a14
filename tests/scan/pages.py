"""Texts with copies of known similarity, and their columns."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import numpy as np

from crawldedup import Options, Page
from crawldedup.scan.engine import LAYOUT, Columns, Goal, Lists
from crawldedup.scan.read import reader
from crawldedup.workers.reading import plain_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawldedup.scan.read import Packed

GOAL = Goal(0.9, 0.98)
WORDS = [
    f"{first}{second}{third}"
    for first in "bdfgklm"
    for second in "aeiou"
    for third in ("n", "rt", "st", "lk")
]


def text(random: Random, words: int = 200) -> str:
    return " ".join(random.choices(WORDS, k=words))


def edited(original: str, random: Random, edits: int) -> str:
    """Replace so many words by new ones, each of which changes three shingles."""
    words = original.split()
    for place in random.sample(range(1, len(words) - 1), edits):
        words[place] = f"new{random.randrange(10**6)}"
    return " ".join(words)


def collection(seed: int = 1, originals: int = 300) -> list[str]:
    """Return originals, each followed later by exact and near copies of some, and by a thin page
    now and then.
    """
    random = Random(seed)
    texts = [text(random, random.randrange(120, 500)) for _ in range(originals)]
    for place in range(0, originals, 3):
        texts.append(edited(texts[place], random, random.randrange(1, 20)))
        texts.append(texts[place] if place % 2 else edited(texts[-1], random, 1))
    texts += ["short", "too short", "short"]
    return texts


def packed(pages: Sequence[Page], options: Options | None = None) -> Packed:
    """Return what a worker process makes of pages, all of which can be read."""
    answer, skipped = reader((options or Options()).index_values())(list(map(plain_page, pages)))
    assert not skipped
    return answer


def columns_in(answer: Packed) -> Columns:
    return Columns(**{name: np.frombuffer(answer[name], kind) for name, kind in LAYOUT.items()})


def of_texts(texts: Sequence[str], urls: Sequence[str] | None = None) -> Packed:
    names = urls or [f"https://a.example/{number}" for number in range(len(texts))]
    return packed([Page(name, text=each) for name, each in zip(names, texts, strict=True)])


def columns(texts: Sequence[str], urls: Sequence[str] | None = None) -> Columns:
    return columns_in(of_texts(texts, urls))


def shingles_in(answer: Packed) -> Lists:
    return Lists(
        np.frombuffer(answer["shingles"], np.uint32),
        np.frombuffer(answer["shingle_sizes"], np.uint32),
    )


def shingles(texts: Sequence[str]) -> Lists:
    return shingles_in(of_texts(texts))
