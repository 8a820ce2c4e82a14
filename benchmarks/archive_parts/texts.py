"""An archive of generated texts whose similarities are known exactly.

Words are drawn by Zipf's law, 100 to 800 for each page, and put into sentences. Pages come in
families: an original and its copies, which either have the same text or are edited until their
similarity is a value drawn evenly from .5 to 1. Some families share a template, which makes their
pages similar, but never duplicates.

A page only depends on the number of its family and its place in it. So pages can be made in any
order, twice, and one at a time, and an archive takes just a few bytes of memory per page.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    Ids = NDArray[np.int64]

FEWEST_WORDS: Final = 100
MOST_WORDS: Final = 800
WORDS_A_SENTENCE: Final = 12
TEMPLATE_WORDS: Final = 150
"""Two pages in one template have 146 shingles of it in common, and at least 102 of their own each:

J <= .42.
"""

LOWEST_SIMILARITY: Final = 0.5
VOCABULARY: Final = 1 << 17
# The rarest word has a share of 1 in 1.6 million, and so two or three places among these.
_DRAWS: Final = 1 << 22
_SYLLABLES: Final = [first + second for first in "bcdfghjklmnprstvwxyz" for second in "aeiou"]
# A token is the number of a word and how it is written: in a sentence, at its end, or at its start.
_END, _START = 1, 2


@dataclass(frozen=True)
class Archive:
    """Pages by number: `exact_share` and `near_share` of them copies, `template_share` of the
    families in a template.

    The original of a family is the first of its pages. Families differ in size: the square of an
    even draw makes the largest of a million pages have several hundred.
    """

    pages: int
    exact_share: float = 0.1
    near_share: float = 0.2
    template_share: float = 0.2
    seed: int = 1

    @cached_property
    def families(self) -> int:
        """Return the number of originals."""
        return self.pages - int(self.pages * (self.exact_share + self.near_share))

    @cached_property
    def family(self) -> NDArray[np.int32]:
        """Return the family of every page."""
        generator = np.random.default_rng(self.seed)
        copies = (generator.random(self.pages - self.families) ** 2 * self.families).astype(
            np.int32
        )
        family = np.concatenate((np.arange(self.families, dtype=np.int32), copies))
        generator.shuffle(family)
        return family

    @cached_property
    def by_family(self) -> NDArray[np.intp]:
        """Return the numbers of the pages, family by family, in each of them ascending."""
        return np.argsort(self.family, kind="stable")

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        """Return where each family starts in `by_family`, and where the last one ends."""
        return np.searchsorted(self.family[self.by_family], np.arange(self.families + 1))

    @cached_property
    def member(self) -> NDArray[np.int32]:
        """Return the place of every page in its family; 0 is the original."""
        member = np.empty(self.pages, np.int32)
        member[self.by_family] = np.arange(self.pages) - self.starts[self.family[self.by_family]]
        return member

    def in_template(self, family: int) -> bool:
        """Return whether the pages of a family stand in the template."""
        return bool(self._generator(family, 0).random() < self.template_share)

    def tokens(self, family: int, member: int) -> Ids:
        """Make a page of a family."""
        original = self._original(family)
        if member == 0:
            return original
        generator = self._generator(family, member)
        if generator.random() < self.exact_share / (self.exact_share + self.near_share):
            return original
        return _edited(original, generator)

    def text(self, number: int) -> str:
        """Return the text of a page."""
        written = _written()
        return " ".join(
            [
                written[token]
                for token in self.tokens(int(self.family[number]), int(self.member[number]))
            ]
        )

    def write(self, path: Path, on_pages: Callable[[int], None] = lambda _: None) -> None:
        """Write all pages as lines of JSON."""
        with path.open("w", encoding="utf-8") as lines:
            for number in range(self.pages):
                lines.write(json.dumps({"url": url_of(number), "text": self.text(number)}) + "\n")
                if number % 1000 == 999:
                    on_pages(1000)

    def _original(self, family: int) -> Ids:
        generator = self._generator(family, 0)
        framed = generator.random() < self.template_share
        # As many pages between 100 and 200 words as between 400 and 800.
        length = round(FEWEST_WORDS * (MOST_WORDS / FEWEST_WORDS) ** generator.random())
        body = _prose(length, generator)
        if not framed:
            return body
        before, after = np.split(_prose(TEMPLATE_WORDS, np.random.default_rng(self.seed)), 2)
        return np.concatenate((before, body, after))

    def _generator(self, family: int, member: int) -> np.random.Generator:
        # Made quicker than from a seed, of which every page would need one.
        return np.random.Generator(np.random.Philox(key=self.seed << 96 | family << 32 | member))


def url_of(number: int) -> str:
    """Return the URL of a page, the same for every archive."""
    return f"https://www.example.com/{number}"


def number_of(url: str) -> int:
    """Return the number of the page with a URL."""
    return int(url.rpartition("/")[2])


def shingle_set(tokens: Ids) -> Ids:
    """Return the word 3-shingles of a page, sorted numbers, equal for equal shingles."""
    words = tokens % VOCABULARY
    bits = VOCABULARY.bit_length() - 1
    return np.unique(words[:-2] << 2 * bits | words[1:-1] << bits | words[2:])


def jaccard(first: Ids, second: Ids) -> float:
    """Return the similarity of two sets of shingles."""
    common = len(np.intersect1d(first, second, assume_unique=True))
    return common / (len(first) + len(second) - common)


def _edited(tokens: Ids, generator: np.random.Generator) -> Ids:
    """Replace words here and there, or in one place; or leave out the end; or add to it."""
    wanted = generator.uniform(LOWEST_SIMILARITY, 1)
    shingles = len(tokens) - 2
    # The share of the shingles that two pages of one size lose each.
    lost = shingles * (1 - wanted) / (1 + wanted)
    edit = generator.integers(4)
    if edit == 0:
        places = generator.choice(len(tokens), max(1, round(lost / 3)), replace=False)
        edited = tokens.copy()
        edited[places] = _prose(len(places), generator)
        return edited
    if edit == 1:
        words = max(1, round(lost) - 2)
        start = int(generator.integers(len(tokens) - words))
        return np.concatenate((tokens[:start], _prose(words, generator), tokens[start + words :]))
    if edit == 2:
        return tokens[: -max(1, round(shingles * (1 - wanted)))]
    return np.concatenate((tokens, _prose(max(1, round(shingles * (1 / wanted - 1))), generator)))


def _prose(words: int, generator: np.random.Generator) -> Ids:
    drawn: Ids = _zipf()[generator.integers(0, _DRAWS, words)]
    ends = generator.random(words) < 1 / WORDS_A_SENTENCE
    form = np.where(ends, _END, 0)
    form[1:][ends[:-1] & ~ends[1:]] = _START
    tokens: Ids = drawn + form * VOCABULARY
    return tokens


@lru_cache(maxsize=1)
def _zipf() -> Ids:
    """Return words as often as Zipf's law has them, to draw evenly from."""
    shares = np.cumsum(1 / np.arange(1, VOCABULARY + 1))
    drawn: Ids = np.searchsorted(shares, (np.arange(_DRAWS) + 0.5) / _DRAWS * shares[-1])
    return drawn


@lru_cache(maxsize=1)
def _written() -> list[str]:
    """Return how tokens are written: frequent words short, and letters only, since some methods
    change digits.
    """
    words = [_word(number) for number in range(VOCABULARY)]
    return words + [f"{word}." for word in words] + [word.capitalize() for word in words]


def _word(number: int) -> str:
    rest, last = divmod(number, len(_SYLLABLES))
    return (_word(rest - 1) if rest else "") + _SYLLABLES[last]
