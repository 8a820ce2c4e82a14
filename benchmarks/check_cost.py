"""What one check of a text costs, part by part, beside hashing the text's words by mmh3.

    python benchmarks/check_cost.py

Texts are made up: two words in five are frequent ones, the others belong to the page. All parts are measured in one
process, in turns; a figure is the least of several rounds, in microseconds a page. Pages are asked about in batches,
and all of them are new to the index.
"""

import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import mmh3

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.shared.common import make_parser, run
from crawldedup import Deduplicator, Fingerprint, Options, Page
from crawldedup.fingerprinting.fingerprint import Source, fingerprints
from crawldedup.reading.keys import NO_KEY
from crawldedup.search.query import QueryBuilder, verdict_of
from crawldedup.stores.base import Query

VOCABULARY: Final = 20_000
FREQUENT: Final = 300
OWN: Final = 250
"""A page has so many words that are not frequent."""


def made_up_texts(count: int, words: int) -> list[str]:
    draw = random.Random(0)
    vocabulary = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9))) for _ in range(VOCABULARY)]
    frequent = draw.choices(vocabulary[:FREQUENT], [1 / (rank + 3) for rank in range(FREQUENT)], k=VOCABULARY)
    texts = []
    for _ in range(count):
        own = draw.sample(vocabulary, OWN)
        texts.append(" ".join(draw.choice(frequent if draw.random() < 0.4 else own) for _ in range(words)))
    return texts


def measure(store: str, texts: list[str], batch: int) -> Iterator[tuple[str, float]]:
    """Yield the name of each part and the microseconds that it takes for a page."""

    def timed(work: Callable[[slice], Any]) -> float:
        started = time.perf_counter()
        for first in range(0, len(texts), batch):
            work(slice(first, first + batch))
        return (time.perf_counter() - started) / len(texts) * 1e6

    words = [text.split() for text in texts]
    yield "mmh3, word by word", timed(lambda some: [mmh3.hash64(word) for own in words[some] for word in own])
    reads: list[Fingerprint] = []
    yield "fingerprints", timed(lambda some: reads.extend(fingerprints([Source(text) for text in texts[some]])))
    pages = [Page(f"https://made-up.example/{place}", text=text) for place, text in enumerate(texts)]
    asked = list(zip(pages, reads, strict=True))
    builder, queries = QueryBuilder(Options(key=0)), list[Query]()
    yield "queries", timed(lambda some: queries.extend(builder.queries(asked[some], NO_KEY, some.start)))
    with Deduplicator(store, key=0, namespace="check-cost") as dedup:
        dedup.clear()
        answers: list[Any] = []
        yield "store", timed(lambda some: answers.extend(dedup._store.check(queries[some])))
        made = [(page.url, read, *each) for (page, read), *each in zip(asked, queries, answers, strict=True)]
        yield "verdicts", timed(lambda some: [verdict_of(*each) for each in made[some]])
        dedup.clear()
        yield "whole check", timed(lambda some: dedup.check_batch(pages[some]))
        dedup.clear()


def main(arguments: Sequence[str]) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--store", default="memory://")
    for name, default in (("pages", 1000), ("words", 700), ("batch", 50), ("rounds", 7)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args(arguments)
    texts = made_up_texts(given.pages, given.words)
    best: dict[str, float] = {}
    for _ in range(given.rounds):
        for name, took in measure(given.store, texts, given.batch):
            best[name] = min(took, best.get(name, took))
    for name, took in best.items():
        print(f"{name:20}{took:8.1f} us{took / best['mmh3, word by word']:7.2f} x mmh3")


if __name__ == "__main__":
    run(main, "--pages 20 --rounds 1")
