"""Texts with copies of known similarity, and their columns."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

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
    """Replace this many words with new ones, each of which changes three shingles."""
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
    """Return the result of a worker process for pages that can all be read."""
    answer, skipped = reader((options or Options()).index_values())(list(map(plain_page, pages)))
    assert not skipped
    return answer


def columns_in(answer: Packed) -> Columns:
    arrays: dict[str, Any] = {
        name: np.frombuffer(answer[name], kind) for name, kind in LAYOUT.items()
    }
    marks = np.frombuffer(answer["marks"], np.uint8)
    sizes = np.frombuffer(answer["mark_sizes"], np.uint32)
    return Columns(**arrays, marks=Lists(marks, sizes))


def in_order(columns: Columns) -> Columns:
    """Return columns of pages of one rank, so that the first of several copies is kept."""
    return replace(columns, rank=np.zeros_like(columns.rank))


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


def html(name: str, story: str, *, picture: str | None = None, data: str | None = None) -> str:
    """Return a page of a shop, with the marks that it shows."""
    shown = f"<img src='/pictures/{picture}.jpg' width=400 height=300>" if picture else ""
    shown += f"<input type=hidden name=product value={data}>" if data else ""
    head = f"<title>{name} - Shop</title>" if name else ""
    heading = f"<h1>{name}</h1>" if name else ""
    return f"<html><head>{head}</head><body><article>{heading}{shown}<p>{story}</p></article></body></html>"


def shop(seed: int, pages: int = 300) -> list[Page]:
    """Return pages of few texts with all kinds of marks, siblings and copies of each other."""
    random = Random(seed)
    stories = [text(random, 150) for _ in range(3)] + ["short text"]
    made = []
    for number in range(pages):
        story = random.choice(stories)
        if random.random() < 0.4 and story != stories[-1]:
            story = edited(story, random, 1)
        lamp = random.randrange(8)
        name = random.choice([f"Lamp {lamp}", f"Lamp {lamp}", ""])
        picture = random.choice([f"lamp{lamp % 5}", None])
        data = random.choice([f"{lamp % 3}", None, None])
        host = random.choice(["a.example", "a.example", "a.example", "b.example"])
        path = random.choice([f"lamps/{lamp}", f"sale/{lamp}?sid={number:032x}", f"p{number}/x"])
        page = html(name, story, picture=picture, data=data)
        made.append(Page(f"https://{host}/{path}", html=page))
    return made
