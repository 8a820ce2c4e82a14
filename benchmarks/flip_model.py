"""Compare how often bits flip in real near duplicates, by their weight, with what the flip model predicts.

    python benchmarks/flip_model.py CORPUS.pages.jsonl
    python benchmarks/flip_model.py CORPUS.pages.jsonl --pairs CORPUS.pairs.jsonl.gz --plot flips.svg

For each band of the exact Jaccard similarity J and each range of |w|, the weight of a bit in one page, the share of
bits that differ in the other page. Verify bits are predicted at J. Search bits are predicted at
search_similarity(J), which is all that a search knows, and at the exact cosine of their own features, which checks the
flip model apart from that guess. Every page is hashed by several functions. `corpus` describes the files.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.shared.common import make_parser, run
from benchmarks.shared.corpus import Corpus, pairs_file, read_corpus, search_draws, search_features, verify_draws
from benchmarks.shared.figures import new_figure, save_figure
from crawldedup.search.model import flip_probabilities, search_similarity

if TYPE_CHECKING:
    from collections.abc import Sequence

BANDS = ((0.5, 0.6), (0.6, 0.7), (0.7, 0.8), (0.8, 0.85), (0.85, 0.9), (0.9, 0.95), (0.95, 0.98), (0.98, 1.0))
EDGES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, np.inf)
# Below so many bits, chance alone makes a point or two.
FEWEST_BITS = 5000

Draws = dict[int, NDArray[np.float32]]
SimilarityOf = Callable[[int], float]
"""From the number of a pair to the similarity at which its flips are predicted."""


@dataclass(frozen=True, eq=False)
class Rates:
    """Flips of one kind of bits. All arrays have shape (bands, ranges of |w|)."""

    kind: str
    bits: NDArray[np.float64]
    weight: NDArray[np.float64]
    observed: NDArray[np.float64]
    predicted: NDArray[np.float64]

    def worst(self) -> tuple[float, int, int]:
        """The largest difference, observed - predicted, where there are bits enough, and its band and range."""
        difference = np.where(self.bits >= FEWEST_BITS, self.observed - self.predicted, 0)
        band, bin_ = np.unravel_index(np.abs(difference).argmax(), difference.shape)
        return float(difference[band, bin_]), int(band), int(bin_)


def flip_rates(kind: str, corpus: Corpus, chosen: list[NDArray[np.intp]], draws: Draws, at: SimilarityOf) -> Rates:
    shape = (len(BANDS), len(EDGES) - 1)
    bits, weight, observed, predicted = (np.zeros(shape) for _ in range(4))
    for band, pairs in enumerate(chosen):
        for pair in pairs.tolist():
            one, other = draws[int(corpus.first[pair])], draws[int(corpus.second[pair])]
            flipped = ((one >= 0) != (other >= 0)).ravel()
            for asking in (one, other):
                absolute = np.abs(asking).ravel()
                bins = np.digitize(absolute, EDGES) - 1
                for sums, values in (
                    (bits, None),
                    (weight, absolute),
                    (observed, flipped),
                    (predicted, flip_probabilities(absolute, at(pair))),
                ):
                    sums[band] += np.bincount(bins, values, minlength=shape[1])
    enough = np.maximum(bits, 1)
    return Rates(kind, bits, weight / enough, observed / enough, predicted / enough)


def measure(corpus: Corpus, limit: int, draws: int) -> list[Rates]:
    generator = np.random.default_rng(1)
    chosen = [
        generator.permutation(np.flatnonzero((corpus.similarity >= low) & (corpus.similarity < high)))[:limit]
        for low, high in BANDS
    ]
    texts = corpus.texts_of(np.concatenate(chosen))
    console = Console(stderr=True)
    search: Draws = {}
    verify: Draws = {}
    for text in track(texts, "hashing", console=console, transient=True):
        search[text] = search_draws(corpus.texts[text], draws)
        verify[text] = verify_draws(corpus.texts[text], draws)

    def exact(pair: int) -> float:
        return float(corpus.similarity[pair])

    def own_similarity(pair: int) -> float:
        one, other = (search_features(corpus.texts[int(ends[pair])]) for ends in (corpus.first, corpus.second))
        rho = one.cosine(other)
        return rho / (2 - rho)

    own = {pair: own_similarity(pair) for pair in np.concatenate(chosen).tolist()}
    return [
        flip_rates("verify bits, predicted at J", corpus, chosen, verify, exact),
        flip_rates(
            "search bits, predicted at search_similarity(J)",
            corpus,
            chosen,
            search,
            lambda pair: search_similarity(exact(pair)),
        ),
        flip_rates("search bits, predicted at the cosine of their features", corpus, chosen, search, own.__getitem__),
    ]


def plot(rates: list[Rates], corpus: Corpus, path: Path) -> None:
    # Only who wants a plot needs the package.
    from matplotlib import colormaps

    figure = new_figure(8.6, 4)
    charts = figure.subplots(1, len(rates), sharey=True)
    # From violet to yellow, the more similar the lighter.
    colours = colormaps["viridis"](np.linspace(0, 0.95, len(BANDS)))
    for chart, rate in zip(charts, rates, strict=True):
        for band, (low, high) in enumerate(BANDS):
            shown = rate.bits[band] >= FEWEST_BITS
            weight = rate.weight[band][shown]
            look = {"color": colours[band], "linewidth": 1, "markersize": 3.5}
            chart.plot(weight, 100 * rate.predicted[band][shown], **look)
            chart.plot(weight, 100 * rate.observed[band][shown], "o", label=f"{low:g}-{high:g}", **look)
        chart.set_title(rate.kind.replace(", ", ",\n"), fontsize=8.5)
        chart.set_xlabel("weight of the bit", fontsize=9)
        chart.tick_params(labelsize=8.5)
        chart.grid(alpha=0.3)
    charts[0].set_ylabel("bits that flip, %", fontsize=9)
    charts[-1].legend(title="similarity J", fontsize=8, title_fontsize=8)
    figure.suptitle(f"{corpus.name}: flips seen in near duplicates (dots) and predicted (lines)", fontsize=10)
    save_figure(figure, path)


def show(rates: list[Rates], corpus: Corpus, draws: int) -> None:
    console = Console(markup=False, width=160)
    console.print(f"{corpus.name}: {draws} draws; each cell: per cent of bits that flip, seen and predicted")
    for rate in rates:
        table = Table(title=rate.kind)
        table.add_column("|w|", justify="right")
        for low, high in BANDS:
            table.add_column(f"J {low:g}-{high:g}", justify="right")
        for bin_, (low, high) in enumerate(pairwise(EDGES)):
            cells = [
                f"{rate.observed[band, bin_] * 100:.2f}  {rate.predicted[band, bin_] * 100:.2f}"
                if rate.bits[band, bin_] >= FEWEST_BITS
                else ""
                for band in range(len(BANDS))
            ]
            table.add_row(f"{low:g}-{high:g}", *cells)
        overall = [
            f"{np.average(rate.observed[band], weights=rate.bits[band]) * 100:.2f}  "
            f"{np.average(rate.predicted[band], weights=rate.bits[band]) * 100:.2f}"
            if rate.bits[band].any()
            else ""
            for band in range(len(BANDS))
        ]
        table.add_section()
        table.add_row("all", *overall)
        console.print(table)
        difference, band, bin_ = rate.worst()
        console.print(
            f"Largest deviation: {difference * 100:+.2f} points, at J {BANDS[band][0]:g}-{BANDS[band][1]:g}, "
            f"|w| {EDGES[bin_]:g}-{EDGES[bin_ + 1]:g}\n"
        )


def as_json(rates: list[Rates], corpus: Corpus, draws: int) -> dict[str, object]:
    return {
        "corpus": corpus.name,
        "draws": draws,
        "bands": BANDS,
        "edges": EDGES[:-1],
        "kinds": [
            {
                "kind": rate.kind,
                "bits": rate.bits.tolist(),
                "observed": rate.observed.tolist(),
                "predicted": rate.predicted.tolist(),
                "largest_deviation": rate.worst()[0],
            }
            for rate in rates
        ],
    }


def main(given: Sequence[str]) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("pages", type=Path, metavar="CORPUS.pages.jsonl")
    parser.add_argument("--pairs", type=Path, help="by default CORPUS.pairs.jsonl.gz beside the pages")
    parser.add_argument("--limit", type=int, default=1000, help="pairs of a band, at most (1000)")
    parser.add_argument("--draws", type=int, default=6, help="hash functions, crawldedup's own included (6)")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="needs matplotlib")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    arguments = parser.parse_args(given)

    corpus = read_corpus(arguments.pages, arguments.pairs or pairs_file(arguments.pages))
    if not len(corpus.similarity):
        parser.error("these files hold no pair of similar texts")
    rates = measure(corpus, arguments.limit, arguments.draws)
    if arguments.plot:
        plot(rates, corpus, arguments.plot)
    if arguments.json:
        print(json.dumps(as_json(rates, corpus, arguments.draws)))
    else:
        show(rates, corpus, arguments.draws)


if __name__ == "__main__":
    run(main, "TEXTS --limit 3 --draws 2 --plot PLOT")
