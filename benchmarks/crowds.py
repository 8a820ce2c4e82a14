"""Pages that crowd around others: how many near copies are found beside them, and what a look costs.

    python benchmarks/crowds.py
    python benchmarks/crowds.py --crowd 500 --store redis://localhost:6379/9

Whoever wants copies of a page to pass may publish pages that resemble it, but too little to be its copies: with its
words in another order, or with words replaced. They need no key for it. Near copies of the victims have four of 300
words replaced (J = .92 or more), and are only looked up.
"""

from __future__ import annotations

import json
import random
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rich.console import Console

from benchmarks.shared.common import count, make_parser, make_table, run
from crawldedup import Deduplicator

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WORDS: Final = 300
LOOKS: Final = 6


@dataclass(frozen=True)
class Row:
    """What was found beside one kind of crowd."""

    crowd: str
    pages: int
    exact_found: int
    near_found: int
    near_copies: int
    us_a_look: float


def replaced(words: Sequence[str], number: int, rng: random.Random) -> str:
    """Return a text with so many words replaced."""
    changed = list(words)
    for place in rng.sample(range(len(changed)), number):
        changed[place] = f"other{rng.random()}"
    return " ".join(changed)


def reordered(words: Sequence[str], length: int, rng: random.Random) -> str:
    """Return a text whose pieces of so many words come in another order."""
    pieces = [words[start : start + length] for start in range(0, len(words), length)]
    rng.shuffle(pieces)
    return " ".join(word for piece in pieces for word in piece)


CROWDS: Final[dict[str, Callable[[Sequence[str], random.Random], str]]] = {
    "pieces of 3 words in another order": lambda words, rng: reordered(words, 3, rng),
    "pieces of 10 words in another order": lambda words, rng: reordered(words, 10, rng),
    "15 words replaced": lambda words, rng: replaced(words, 15, rng),
}


def measure(name: str, store: str, victims: int, crowd: int) -> Row:
    """Remember the victims, then their crowds, and look for copies of the victims."""
    rng = random.Random(1)
    texts = [[f"word{rng.randrange(5000)}" for _ in range(WORDS)] for _ in range(victims)]
    with Deduplicator(store, namespace=f"crowds-{rng.random()}") as dedup:
        for number, words in enumerate(texts):
            dedup.check(f"https://victim.example/{number}", text=" ".join(words))
        for number in range(victims * crowd if name in CROWDS else 0):
            dedup.check(f"https://crowd.example/{number}", text=CROWDS[name](texts[number % victims], rng))

        def finds(number: int, text: str) -> bool:
            return any(match.url == f"https://victim.example/{number}" for match in dedup.find(text=text))

        exact = sum(finds(number, " ".join(words)) for number, words in enumerate(texts))
        started = time.process_time()
        near = sum(finds(number, replaced(words, 4, rng)) for number, words in enumerate(texts) for _ in range(LOOKS))
        spent = (time.process_time() - started) / (victims * LOOKS)
        pages = dedup.info().pages
        dedup.clear()
    return Row(name, pages, exact, near, victims * LOOKS, round(spent * 1e6, 1))


def main(words: Sequence[str]) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--store", default="memory://", help="the index (default: memory://)")
    parser.add_argument("--victims", type=count, default=20, help="pages that are crowded around (default: 20)")
    parser.add_argument("--crowd", type=count, default=300, help="pages around each (default: 300)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args(words)
    rows = [measure(name, options.store, options.victims, options.crowd) for name in ("none", *CROWDS)]
    if options.json:
        print(json.dumps([asdict(row) for row in rows]))
        return 0
    headings = ("crowd", "pages", "exact copies found", "near copies found", "client's us a look")
    table = make_table(f"{options.victims} pages with {options.crowd} others around each", *headings)
    for row in rows:
        found = f"{row.near_found} of {row.near_copies}"
        table.add_row(row.crowd, f"{row.pages:,}", str(row.exact_found), found, f"{row.us_a_look:.0f}")
    Console().print(table)
    return 0


if __name__ == "__main__":
    run(main, "--victims 2 --crowd 5")
