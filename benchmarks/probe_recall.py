"""Recall of probe plans: what they predict beside what is seen in real near duplicates.

    python benchmarks/probe_recall.py CORPUS.pages.jsonl [...]

Takes pairs of (about) a similarity J, plans for the exact J of each pair as for an index of 1, 10 and 100 million
pages, and checks whether the other page lies in one of the probes. Each pair is tried both ways and under several hash
functions; `own` is the one that crawldedup uses, which sees every family of copies once. See `corpus` for the files.
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.progress import track

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.shared.common import make_parser, make_table, run
from benchmarks.shared.corpus import Corpus, number, pairs_file, read_corpus, search_draws
from benchmarks.shared.probes import plan
from crawldedup.search.plan import PROBE_BUDGET, ProbePlan, prefix_bits
from crawldedup.search.query import TABLES

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZES = (10**6, 10**7, 10**8)
PROBES = (32, 64, 128, PROBE_BUDGET)
SIMILARITIES = (0.7, 0.8, 0.9, 0.95)
WITHIN = 0.0125


def first_hit(planned: ProbePlan, other: int) -> float:
    """How many probes it takes to meet the other page; infinite if none does."""
    keys = np.array([table.key(other) for table in TABLES], np.uint64).take(planned.tables)
    hits = np.flatnonzero((planned.lows <= keys) & (keys <= planned.highs))
    return float(hits[0]) + 1 if len(hits) else math.inf


@dataclass
class RecallRow:
    corpus: str
    similarity: float
    pairs: int
    pages: int
    prefix: int
    probes: int
    predicted: float
    seen: float
    own_predicted: float
    own_seen: float

    @property
    def error(self) -> float:
        return self.predicted - self.seen


def recall_rows(corpus: Corpus, similarity: float, limit: int, draws: int) -> list[RecallRow]:
    pairs = corpus.pairs_near(similarity, WITHIN, limit)
    weights = {text: search_draws(corpus.texts[text], draws) for text in corpus.texts_of(pairs)}
    ways = [(corpus.first, corpus.second), (corpus.second, corpus.first)]
    rows = []
    for pages in SIZES:
        prefix = prefix_bits(pages)
        # (pairs, ways, draws) and last, of the predictions, the numbers of probes.
        hits = np.empty((len(pairs), len(ways), draws))
        predicted = np.empty((*hits.shape, len(PROBES)))
        for row, pair in enumerate(pairs.tolist()):
            exact = float(corpus.similarity[pair])
            for way, (asking, asked) in enumerate(ways):
                for draw in range(draws):
                    own, other = weights[int(asking[pair])][draw], weights[int(asked[pair])][draw]
                    for column, budget in enumerate(PROBES):
                        planned = plan(own, prefix=prefix, similarity=exact, budget=budget)
                        predicted[row, way, draw, column] = planned.recall
                    hits[row, way, draw] = first_hit(planned, number(other))
        for column, budget in enumerate(PROBES):
            rows.append(
                RecallRow(
                    corpus=corpus.name,
                    similarity=similarity,
                    pairs=len(pairs),
                    pages=pages,
                    prefix=prefix,
                    probes=budget,
                    predicted=float(predicted[..., column].mean()),
                    seen=float((hits <= budget).mean()),
                    own_predicted=float(predicted[..., 0, column].mean()),
                    own_seen=float((hits[..., 0] <= budget).mean()),
                )
            )
    return rows


def show_recall(rows: Sequence[RecallRow]) -> None:
    console = Console(markup=False, width=160)
    table = make_table(
        "per cent of near duplicates within the ranges: predicted, seen (difference)",
        *("corpus", "J", "pairs", "pages", "bits", *(f"{probes} probes" for probes in PROBES), f"own, {PROBE_BUDGET}"),
    )
    for start in range(0, len(rows), len(PROBES)):
        group = rows[start : start + len(PROBES)]
        first = group[0]
        in_use = next(row for row in group if row.probes == PROBE_BUDGET)
        table.add_row(
            first.corpus,
            f"{first.similarity:g}",
            str(first.pairs),
            f"{first.pages:,}",
            str(first.prefix),
            *(f"{row.predicted * 100:.1f} {row.seen * 100:.1f} ({row.error * 100:+.1f})" for row in group),
            f"{in_use.own_predicted * 100:.1f} {in_use.own_seen * 100:.1f}",
            end_section=first.pages == SIZES[-1],
        )
    console.print(table)
    for similarity in SIMILARITIES:
        of_similarity = [row for row in rows if row.similarity == similarity and row.probes >= PROBE_BUDGET]
        if of_similarity:
            worst = max(of_similarity, key=lambda row: abs(row.error))
            console.print(
                f"J {similarity:g}: largest difference from {PROBE_BUDGET} probes on {worst.error * 100:+.1f} points "
                f"({worst.corpus}, {worst.pages:,} pages, {worst.probes} probes)"
            )


def main(given: Sequence[str]) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("pages", type=Path, nargs="+", metavar="CORPUS.pages.jsonl")
    parser.add_argument("--limit", type=int, default=200, help="pairs of a similarity, at most (200)")
    parser.add_argument("--draws", type=int, default=6, help="hash functions, crawldedup's own included (6)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args(given)

    rows = []
    for path in arguments.pages:
        corpus = read_corpus(path, pairs_file(path))
        for similarity in track(SIMILARITIES, corpus.name, console=Console(stderr=True), transient=True):
            rows += recall_rows(corpus, similarity, arguments.limit, arguments.draws)
    if arguments.json:
        print(json.dumps([asdict(row) for row in rows]))
    else:
        show_recall(rows)


if __name__ == "__main__":
    run(main, "TEXTS --limit 2 --draws 1")
