"""Pages of seven templates, made of the sentences of real texts: every page is a function of its number."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


NEAR_SHARE = 0.03
EXACT_SHARE = 0.02
LOWEST, HIGHEST = 0.9, 0.98
COLOURS = ("red", "green", "blue", "black", "white", "grey", "brown")
SIZES = ("XS", "S", "M", "L", "XL", "XXL")
MATERIALS = ("cotton", "steel", "oak", "plastic", "leather", "glass", "wool")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True)
class Words:
    """What pages are filled with."""

    sentences: Sequence[str]
    names: Sequence[str]


def read_words(paths: Sequence[Path], language: str) -> Words:
    """Sentences of 6 to 30 words, and words that serve as names, of the texts in one language (or without any)."""
    sentences: dict[str, None] = {}
    names: Counter[str] = Counter()
    for path in paths:
        if not path.is_file():
            sys.exit(f"{path} is not a file")
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                page = json.loads(line)
                if not isinstance(page.get("text"), str):
                    sys.exit(f'{path}:{number}: this program takes texts, as lines of {{"text": ".."}}')
                if page.get("lang", language) != language:
                    continue
                for sentence in re.split(r"(?<=[.!?])\s+|\n", page["text"]):
                    found = re.findall(r"\w+", sentence)
                    if 6 <= len(found) <= 30:
                        sentences[" ".join(sentence.split())] = None
                    names.update(word for word in found if len(word) > 3 and word.isalpha() and word.isascii())
    return Words(list(sentences), [word for word, _ in names.most_common(20_000)])


def product(words: Words, random: Random) -> list[str]:
    return [
        " ".join(random.choices(words.names, k=3)),
        f"Price {random.randrange(5, 900)}.{random.choice(('00', '49', '95', '99'))}",
        f"Item number {random.randrange(10**6)} colour {random.choice(COLOURS)} size {random.choice(SIZES)}",
        f"Weight {random.randrange(1, 40)} kg material {random.choice(MATERIALS)} rating {random.randrange(1, 6)} of 5",
        *random.choices(words.sentences, k=random.randrange(2, 5)),
    ]


def listing(words: Words, random: Random) -> list[str]:
    rows = (
        f"{' '.join(random.choices(words.names, k=3))} {random.randrange(5, 900)}.99 add to basket compare"
        for _ in range(random.randrange(15, 25))
    )
    return [f"Page {random.randrange(1, 400)} of 400 sorted by {random.choice(('price', 'name', 'date'))}", *rows]


def article(words: Words, random: Random) -> list[str]:
    byline = f"By {' '.join(random.choices(words.names, k=2))} on {random.randrange(1, 29)} {random.choice(MONTHS)}"
    return [
        " ".join(random.choices(words.names, k=6)),
        byline,
        *random.choices(words.sentences, k=random.randrange(8, 25)),
    ]


def calendar(words: Words, random: Random) -> list[str]:
    events = {random.randrange(1, 29): " ".join(random.choices(words.names, k=4)) for _ in range(7)}
    days = [f"{day} {events.get(day, 'no events')}" for day in range(1, 29)]
    return [f"Events in {random.choice(MONTHS)} {random.randrange(1970, 2040)}", *days]


def directory(words: Words, random: Random) -> list[str]:
    return [
        " ".join(random.choices(words.names, k=3)),
        f"Address {random.randrange(1, 300)} {random.choice(words.names)} street {random.choice(words.names)}",
        f"Telephone {random.randrange(10**7, 10**8)} fax {random.randrange(10**7, 10**8)}",
        f"Opens at {random.randrange(6, 11)} closes at {random.randrange(16, 23)}",
        *random.choices(words.sentences, k=2),
    ]


def thread(words: Words, random: Random) -> list[str]:
    posts = (
        f"{random.choice(words.names)} wrote on {random.randrange(1, 29)} {random.choice(MONTHS)} "
        f"{random.choice(words.sentences)} reply quote report"
        for _ in range(random.randrange(4, 12))
    )
    return [" ".join(random.choices(words.names, k=5)), *posts]


# Name, share of the template in the words of a page, what fills it, and how often it comes.
KINDS: tuple[tuple[str, float, Callable[[Words, Random], list[str]], int], ...] = (
    ("shop", 0.6, product, 25),
    ("other shop", 0.75, product, 15),
    ("listing", 0.5, listing, 15),
    ("article", 0.3, article, 20),
    ("calendar", 0.8, calendar, 5),
    ("directory", 0.65, directory, 10),
    ("forum", 0.4, thread, 10),
)


@dataclass(frozen=True)
class Template:
    """The words that all pages of a template share, before and after those of their own."""

    name: str
    head: str
    foot: str
    fill: Callable[[Words, Random], list[str]]

    def page(self, words: Words, random: Random) -> str:
        return "\n".join((self.head, *self.fill(words, random), self.foot))


def make_templates(words: Words) -> list[Template]:
    made = []
    for name, share, fill, _ in KINDS:
        random = Random(f"template {name}")
        own = sum(len(" ".join(fill(words, random)).split()) for _ in range(50)) / 50
        missing = own * share / (1 - share)
        texts = []
        while missing > 0:
            texts.append(random.choice(words.sentences))
            missing -= len(texts[-1].split())
        made.append(Template(name, "\n".join(texts[::3]), "\n".join(sorted(set(texts) - set(texts[::3]))), fill))
    return made


class Site:
    """The pages of the site by number; every page is the same whoever asks for it."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._templates = make_templates(words)
        self._frequencies = [frequency for *_, frequency in KINDS]

    def kind(self, number: int) -> str:
        """One of new, near and exact: the last two are planted copies."""
        chance = Random(number * 4).random()
        if number == 0 or chance >= NEAR_SHARE + EXACT_SHARE:
            return "new"
        return "near" if chance < NEAR_SHARE else "exact"

    def base(self, number: int) -> int:
        """The page that a planted page is made from: an earlier one that is not planted itself."""
        while self.kind(number) != "new":
            number = Random(number * 4 + 1).randrange(number)
        return number

    def template(self, number: int) -> str:
        return self._template(self.base(number)).name

    def text(self, number: int) -> str:
        base = self.base(number)
        text = self._template(base).page(self._words, Random(base * 4 + 2))
        return self._edited(text, Random(number * 4 + 2)) if self.kind(number) == "near" else text

    def _template(self, base: int) -> Template:
        return Random(base * 4 + 3).choices(self._templates, self._frequencies)[0]

    def _edited(self, text: str, random: Random) -> str:
        """Words replaced one by one, or put in as a run, until about the wanted similarity is left."""
        words = text.split(" ")
        wanted = random.uniform(LOWEST, HIGHEST)
        lost = len(text.split()) * (1 - wanted)
        if random.random() < 0.5:
            for _ in range(max(1, round(lost / (3 * (1 + wanted))))):
                words[random.randrange(len(words))] = random.choice(self._words.names)
        else:
            run = random.choices(self._words.names, k=max(1, round(lost / wanted) - 2))
            words[random.randrange(len(words)) : 0] = run
        return " ".join(words)
