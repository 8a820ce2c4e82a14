"""Compare features of the search bits, numbers of verify bits and numbers of tables on real near duplicates.

    python benchmarks/bits.py CORPUS.pages.jsonl

1. Features. For each kind of search features, and weighting: how many near duplicates of similarity 0.9 to
   0.95 lie within as many probes as a check may make, planned at the exact cosine of the features so that no kind has a
   better forecast than another; and how many dissimilar pages of the corpus (J below 0.5) lie in the probes of a page.
2. Verify bits. The error of the estimated similarity, and what is accepted at similarity 0.9 and recall 0.98.
3. Tables. One to four tables at equal bytes a page: every table takes 8 bytes, the verify bits the rest.

Every page is hashed by several functions. `corpus` describes the files.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.shared.common import make_parser, make_table, run
from benchmarks.shared.corpus import (
    Corpus,
    number,
    pairs_file,
    read_corpus,
    search_draws,
    search_features,
    shingle_set,
    signature,
    verify_draws,
)
from benchmarks.shared.probes import lies_in, plan_for
from crawldedup.fingerprinting.fingerprint import MIN_WORDS, SEARCH_BITS
from crawldedup.search.model import accept_threshold, estimate_deviation, estimate_similarity, search_similarity
from crawldedup.search.plan import PROBE_BUDGET, prefix_bits, rotated_tables
from crawldedup.search.query import TABLES
from crawldedup.simhash.blocks import keys_of
from crawldedup.text.tokenize import word_hashes

if TYPE_CHECKING:
    from collections.abc import Sequence

CANDIDATES = (
    ("words", "log-tf"),
    ("words+pairs", "none"),
    ("words+pairs", "log-tf"),
    ("words+pairs", "damped-tf"),
    ("shingles", "none"),
)
PLANNED_PAGES = 10**7
SIZES = (10**6, 10**7, 10**8)
SIMILARITY = 0.9
RECALL = 0.98
NEAR = (0.9, 0.95)
FALSE = (0.7, 0.8)
BETWEEN = (0.8, 0.85)
FAR = 0.5
VERIFY_SIZES = (64, 128, 192, 256, 320, 384, 512)
BYTES_A_PAGE = 48
BYTES_PER_KEY = 8

Floats = NDArray[np.float32]


def pairs_between(corpus: Corpus, band: tuple[float, float], limit: int) -> NDArray[np.intp]:
    found = np.flatnonzero((corpus.similarity >= band[0]) & (corpus.similarity < band[1]))
    return np.random.default_rng(2).permutation(found)[:limit]


@dataclass
class FeatureRow:
    features: str
    share: float
    """Of the dissimilarity of the shingles, how much the features show, mean."""
    recall: float
    dissimilar_mean: float
    dissimilar_p99: float


def feature_rows(corpus: Corpus, limit: int, draws: int) -> list[FeatureRow]:
    pairs = pairs_between(corpus, NEAR, limit)
    prefix = prefix_bits(PLANNED_PAGES)
    rows = []
    for kind, weighting in CANDIDATES:
        features = {text: search_features(corpus.texts[text], kind, weighting) for text in corpus.texts_of(pairs)}
        bits = {text: [made.bits(draw) for draw in range(1, draws + 1)] for text, made in features.items()}
        found, shares = [], []
        for pair in track(pairs.tolist(), kind, console=Console(stderr=True), transient=True):
            one, other = int(corpus.first[pair]), int(corpus.second[pair])
            rho = features[one].cosine(features[other])
            search = rho / (2 - rho)
            shares.append((1 - search) / (1 - float(corpus.similarity[pair])))
            for asking, asked in ((one, other), (other, one)):
                for own, theirs in zip(bits[asking], bits[asked], strict=True):
                    found.append(lies_in(plan_for(own, TABLES, prefix, search), TABLES, number(theirs)))
        dissimilar = dissimilar_in_range(corpus, kind, weighting, prefix, float(np.mean(shares)))
        rows.append(
            FeatureRow(
                features=f"{kind}, {weighting}",
                share=float(np.mean(shares)),
                recall=float(np.mean(found)),
                dissimilar_mean=float(dissimilar.mean()),
                dissimilar_p99=float(np.percentile(dissimilar, 99)),
            )
        )
    return rows


def dissimilar_in_range(corpus: Corpus, kind: str, weighting: str, prefix: int, share: float) -> NDArray[np.float64]:
    """For each of up to 3,000 texts, how many of the whole corpus lie in its probes with a similarity below 0.5."""
    kept = [text for text, content in enumerate(corpus.texts) if len(word_hashes(content)) >= MIN_WORDS]
    weights = np.stack([search_features(corpus.texts[text], kind, weighting).bits(1) for text in kept])
    fingerprints = np.array([number(own) for own in weights], np.uint64)
    keys = [keys_of(fingerprints, table) for table in TABLES]
    orders = [column.argsort() for column in keys]
    ordered = [column[order] for column, order in zip(keys, orders, strict=True)]
    asking = np.random.default_rng(4).permutation(len(kept))[:3000]
    counts = np.zeros(len(asking))
    for row, place in enumerate(asking.tolist()):
        planned = plan_for(weights[place], TABLES, prefix, 1 - share * (1 - SIMILARITY))
        met: set[int] = set()
        for table, column in enumerate(ordered):
            mine = planned.tables == table
            first = np.searchsorted(column, planned.lows[mine], "left")
            last = np.searchsorted(column, planned.highs[mine], "right")
            for start, stop in zip(first.tolist(), last.tolist(), strict=True):
                met.update(orders[table][start:stop].tolist())
        mine = shingles(corpus.texts[kept[place]])
        others = (shingles(corpus.texts[kept[other]]) for other in met - {place})
        counts[row] = sum(len(mine & other) < FAR * len(mine | other) for other in others)
    return counts


def shingles(text: str) -> set[int]:
    return set(shingle_set(text).hashes.tolist())


@dataclass
class VerifyRow:
    bits: int
    deviation: float
    """Standard deviation of estimated - exact similarity, in NEAR."""
    predicted_deviation: float
    threshold: float
    recall: float
    """Accepted of the pairs in NEAR."""
    between: float
    """Accepted of those in BETWEEN."""
    false: float
    """Accepted of those in FALSE."""


def verify_rows(corpus: Corpus, limit: int, draws: int) -> list[VerifyRow]:
    chosen = [pairs_between(corpus, band, limit) for band in (NEAR, BETWEEN, FALSE)]
    texts = corpus.texts_of(np.concatenate(chosen))
    longest = VERIFY_SIZES[-1]
    weights = {
        text: verify_draws(corpus.texts[text], draws, longest)
        for text in track(texts, "verify bits", console=Console(stderr=True), transient=True)
    }
    rows = []
    for bits in track(VERIFY_SIZES, "estimating", console=Console(stderr=True), transient=True):
        threshold = accept_threshold(SIMILARITY, bits, RECALL)
        errors: list[float] = []
        accepted = []
        for band, pairs in enumerate(chosen):
            estimates = []
            for pair in pairs.tolist():
                one, other = weights[int(corpus.first[pair])], weights[int(corpus.second[pair])]
                for draw in range(draws):
                    own = one[draw, :bits]
                    estimate = estimate_similarity(own, signature(own), signature(other[draw, :bits]))
                    estimates.append(estimate)
                    if band == 0:
                        errors.append(estimate - float(corpus.similarity[pair]))
            accepted.append(float(np.mean(np.array(estimates) >= threshold)))
        middle = sum(NEAR) / 2
        rows.append(
            VerifyRow(bits, float(np.std(errors)), estimate_deviation(middle, bits), threshold, *accepted),
        )
    return rows


@dataclass
class TableRow:
    tables: int
    verify_bits: int
    found: dict[int, float]
    """By pages of the index: near duplicates that lie in the probes."""
    flagged: dict[int, float]
    """Those that are accepted, too."""


def table_rows(corpus: Corpus, limit: int, draws: int) -> list[TableRow]:
    pairs = pairs_between(corpus, NEAR, limit)
    texts = corpus.texts_of(pairs)
    search = {text: search_draws(corpus.texts[text], draws) for text in texts}
    verify = {text: verify_draws(corpus.texts[text], draws, VERIFY_SIZES[-1]) for text in texts}
    ends = list(zip(corpus.first[pairs].tolist(), corpus.second[pairs].tolist(), strict=True))
    drawn = [(one, other, draw) for one, other in ends for draw in range(draws)]
    rows = []
    for count in track((1, 2, 3, 4), "tables", console=Console(stderr=True), transient=True):
        tables = rotated_tables(count, SEARCH_BITS)
        bits = 8 * (BYTES_A_PAGE - count * BYTES_PER_KEY)
        threshold = accept_threshold(SIMILARITY, bits, RECALL)
        row = TableRow(count, bits, {}, {})
        estimates = [
            estimate_similarity(own := verify[one][draw, :bits], signature(own), signature(verify[other][draw, :bits]))
            for one, other, draw in drawn
        ]
        accepted = np.array(estimates) >= threshold
        for pages in SIZES:
            prefix, wanted = prefix_bits(pages), search_similarity(SIMILARITY)
            hits = [
                lies_in(plan_for(search[one][draw], tables, prefix, wanted), tables, number(search[other][draw]))
                for one, other, draw in drawn
            ]
            found = np.array(hits)
            row.found[pages] = float(found.mean())
            row.flagged[pages] = float((found & accepted).mean())
        rows.append(row)
    return rows


def show(corpus: Corpus, features: list[FeatureRow], verify: list[VerifyRow], tables: list[TableRow]) -> None:
    console = Console(markup=False, width=120)
    near, between, false = (f"J {low:g}-{high:g}" for low, high in (NEAR, BETWEEN, FALSE))
    table = make_table(
        f"{corpus.name}: search features; {PROBE_BUDGET} probes as for {PLANNED_PAGES:,} pages",
        *("features", "share of 1 - J", f"found of {near}", f"J < {FAR:g} met, mean", "p99"),
    )
    for kind in features:
        table.add_row(
            kind.features,
            f"{kind.share:.2f}",
            f"{kind.recall:.3f}",
            f"{kind.dissimilar_mean:.2f}",
            f"{kind.dissimilar_p99:.0f}",
        )
    console.print(table)
    table = make_table(
        f"verify bits; similarity {SIMILARITY:g}, recall {RECALL:g}",
        *("bits", f"sd of the estimate, {near}", "predicted", "accepted from", near, between, false),
    )
    for size in verify:
        table.add_row(
            str(size.bits),
            f"{size.deviation:.4f}",
            f"{size.predicted_deviation:.4f}",
            f"{size.threshold:.3f}",
            f"{size.recall:.4f}",
            f"{size.between:.4f}",
            f"{size.false:.4f}",
        )
    console.print(table)
    table = make_table(
        f"tables at {BYTES_A_PAGE} bytes a page; {near}, {PROBE_BUDGET} probes: found / flagged",
        *("tables", "verify bits", *(f"{pages:,} pages" for pages in SIZES)),
    )
    for row in tables:
        cells = (f"{row.found[pages]:.3f} / {row.flagged[pages]:.3f}" for pages in SIZES)
        table.add_row(str(row.tables), str(row.verify_bits), *cells)
    console.print(table)


def main(given: Sequence[str]) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("pages", type=Path, metavar="CORPUS.pages.jsonl")
    parser.add_argument("--limit", type=int, default=500, help="pairs of a band, at most (500)")
    parser.add_argument("--draws", type=int, default=4, help="hash functions (4)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    arguments = parser.parse_args(given)

    corpus = read_corpus(arguments.pages, pairs_file(arguments.pages))
    features = feature_rows(corpus, arguments.limit, arguments.draws)
    verify = verify_rows(corpus, arguments.limit, arguments.draws)
    tables = table_rows(corpus, arguments.limit, arguments.draws)
    if arguments.json:
        print(json.dumps([[asdict(row) for row in rows] for rows in (features, verify, tables)]))
    else:
        show(corpus, features, verify, tables)


if __name__ == "__main__":
    run(main, "TEXTS --limit 2 --draws 1")
