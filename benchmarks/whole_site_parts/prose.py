"""English-like prose that is a function of its name: a Markov chain over the demo's articles.

Each text also has invented words, just as a real text has its own names and terms. Without them,
all texts would consist of the 1,800 words of the demo, and methods that compare words would find
them more similar than real texts are.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Final

from crawldedup.demo.site import all_articles

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TRUTH: Final = "ground-truth.json"
"""The file of the article extraction benchmark that has the texts."""
_OWN_WORDS: Final = 24
_OWN_SHARE: Final = 0.25
_FEWEST_WORDS: Final = 6
_MOST_WORDS: Final = 32
_TITLE_WORDS: Final = 9


@dataclass(frozen=True)
class Text:
    """A title, whom it is by, and paragraphs."""

    title: str
    author: str
    date: str
    paragraphs: Sequence[str]


class Prose:
    """A writer whose texts depend on the seed and on the names of the texts alone."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._next: defaultdict[str, list[str]] = defaultdict(list)
        self._first: list[str] = []
        for article in all_articles():
            if article.language == "en":
                for paragraph in article.text.split("\n"):
                    words = paragraph.split()
                    self._first.append(words[0])
                    for word, follower in pairwise(words):
                        if _ends(word):
                            self._first.append(follower)
                        else:
                            self._next[word].append(follower)

    def random(self, name: str) -> Random:
        """The same numbers for the same name."""
        return Random(f"{self._seed} {name}")

    def writer(self, name: str) -> Writer:
        """A writer of texts that share words of their own."""
        return Writer(self, self.random(name))

    def sentence(self, random: Random, own: Sequence[str]) -> str:
        """A sentence of the chain, with words of one's own in place of some long ones."""
        word = random.choice(self._first)
        words = [word]
        while not _ends(word) and len(words) < _MOST_WORDS:
            # A word may occur in the demo at the end of a paragraph alone.
            word = random.choice(self._next.get(word) or self._first)
            words.append(word)
        if len(words) < _FEWEST_WORDS:
            return self.sentence(random, own)
        for place, word in enumerate(words[1:-1], 1):
            if len(word) > 4 and word.isalpha() and random.random() < _OWN_SHARE:
                words[place] = random.choice(own)
        return " ".join(words).rstrip(".,;:!?-—\"'") + "."


class Writer:
    """Writes with words of its own."""

    def __init__(self, prose: Prose, random: Random) -> None:
        self._prose, self.random = prose, random
        self._own = [invented(random) for _ in range(_OWN_WORDS)]

    def name(self) -> str:
        """A name of two words."""
        return f"{invented(self.random).capitalize()} {invented(self.random).capitalize()}"

    def term(self) -> str:
        """One of the writer's own words."""
        return self.random.choice(self._own)

    def title(self) -> str:
        return f"{self.sentence().split('.')[0].rsplit(' ', 3)[0][:60].strip()} {self.term()}"

    def sentence(self) -> str:
        return self._prose.sentence(self.random, self._own)

    def paragraph(self, fewest: int = 2, most: int = 5) -> str:
        """So many sentences."""
        return " ".join(self.sentence() for _ in range(self.random.randint(fewest, most)))

    def paragraphs(self, fewest: int, most: int) -> list[str]:
        return [self.paragraph() for _ in range(self.random.randint(fewest, most))]

    def date(self) -> str:
        return (
            f"{self.random.randint(1, 28)} "
            f"{self.random.choice(('March', 'May', 'June', 'October'))} 2024"
        )

    def text(self, fewest: int, most: int) -> Text:
        """A whole text of so many paragraphs."""
        return Text(self.title(), self.name(), self.date(), self.paragraphs(fewest, most))


def invented(random: Random) -> str:
    """A word that no dictionary has."""
    syllables = random.choice("bcdfghklmnprstvw") + random.choice(
        ("a", "e", "i", "o", "u", "ea", "or", "en", "il")
    )
    syllables += random.choice("dklmnrstv") + random.choice(("a", "e", "o", "er", "in", "al", "ow"))
    return syllables + random.choice(("", "", "n", "t", "ton", "ley", "sk"))


def read_articles(folder: Path, prose: Prose) -> list[Text]:
    """The bodies of the article extraction benchmark, each with a title and an author of our own
    making.
    """
    truth: dict[str, dict[str, str]] = json.loads((folder / TRUTH).read_text("utf-8"))
    texts = []
    for key in sorted(truth):
        lines = [line.strip() for line in truth[key]["articleBody"].splitlines() if line.strip()]
        writer = prose.writer(key)
        texts.append(
            Text(" ".join(lines[0].split()[:_TITLE_WORDS]), writer.name(), writer.date(), lines)
        )
    return texts


def _ends(word: str) -> bool:
    return word.rstrip("\"'”’)")[-1:] in (".", "!", "?")
