"""Measure how pages are routed to the partitions of one index: recall, partitions asked, and balance.

    python benchmarks/routing.py CORPUS.pages.jsonl [...]

For pairs of each band of the exact Jaccard similarity J: how often the home of one page is among the partitions that
are asked about the other, both ways. Balance is the share of distinct pages in the fullest partition: over the mix of
all corpora, over the corpus with the worst share, and over generated pages of one template (the mean of seven
templates, and the worst). Ways to route to 16 partitions, beside crawldedup's own:

- the steadiest bit, with its sign, hashed: asked are all bits whose absolute weight is within a margin of the largest;
- cross-polytope: the largest absolute value of eight sums of search weights;
- 16 sums: the largest of sixteen sums of search weights, with frequent words left in;
- the same of verify weights, of both kinds together, and of search weights that count every feature once.

All but the first are asked by the flip model, at J = .9, until the wanted probability is reached. `corpus` describes
the files.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.shared.common import make_parser, make_table, run
from benchmarks.shared.corpus import Corpus, pairs_file, read_corpus, search_features
from benchmarks.shared.templated_pages import Site, read_words
from crawldedup.fingerprinting.fingerprint import SEARCH_BITS, Fingerprint, bit_weights, fingerprint
from crawldedup.search.model import search_similarity, steepness
from crawldedup.search.routing import chances_to_be_largest, home_of, partition_of, partitions_to_ask

if TYPE_CHECKING:
    from collections.abc import Sequence

SIMILARITY = 0.9
BANDS = ((0.9, 0.95), (0.95, 1.0))
PARTITIONS = 16
MORE_PARTITIONS = (32, 64, 128, 256)
MARGINS = (0.3, 0.5)
RECALLS = (0.95, 0.96, 0.97, 0.98)
RECALL = 0.97

Floats = NDArray[np.float64]
Homes = NDArray[np.intp]
Asked = NDArray[np.bool_]


@dataclass(frozen=True)
class Page:
    fingerprint: Fingerprint
    once: NDArray[np.float32]
    """Search weights that count every feature once."""


@dataclass(frozen=True)
class Band:
    """Pairs of pages; shape (pairs,)."""

    first: NDArray[np.intp]
    second: NDArray[np.intp]


@dataclass(frozen=True)
class Pages:
    """Distinct pages that are not thin, the group of each, and pairs of them by bands."""

    pages: list[Page]
    groups: NDArray[np.intp]
    bands: list[Band]

    def weights(self, kind: str) -> Floats:
        rows = [page.once if kind == "once" else getattr(page.fingerprint, f"{kind}_weights") for page in self.pages]
        return np.array(rows, np.float64)


@dataclass(frozen=True)
class Routed:
    """Home of each page, shape (pages,), and the partitions asked about it, shape (pages, partitions)."""

    homes: Homes
    asked: Asked

    def recall(self, band: Band) -> float:
        both = (self.asked[band.first, self.homes[band.second]], self.asked[band.second, self.homes[band.first]])
        return float(np.concatenate(both).mean()) if len(band.first) else float("nan")

    def shares(self, groups: NDArray[np.intp]) -> list[float]:
        """The share of the fullest partition in each group of pages."""
        homes = [self.homes[groups == group] for group in np.unique(groups)]
        return [float(np.bincount(group).max() / len(group)) for group in homes]


def read_pages(corpora: Sequence[Corpus], limit: int) -> Pages:
    """Fingerprint all pages; of each band and corpus take `limit` pairs at random, at most."""
    pages: list[Page] = []
    groups: list[int] = []
    found: list[list[tuple[int, int]]] = [[] for _ in BANDS]
    for number, corpus in enumerate(corpora):
        places: dict[str, int] = {}
        for text in track(corpus.texts, corpus.name, console=Console(stderr=True), transient=True):
            if text not in places and not (page := fingerprint(text)).thin:
                places[text] = len(pages)
                pages.append(Page(page, once_weights(text)))
                groups.append(number)
        for pairs, (low, high) in zip(found, BANDS, strict=True):
            within = np.flatnonzero((corpus.similarity >= low) & (corpus.similarity < high))
            for pair in np.random.default_rng(1).permutation(within)[:limit].tolist():
                one, other = (corpus.texts[ends[pair]] for ends in (corpus.first, corpus.second))
                pairs.append((places[one], places[other]))
    bands = [Band(*np.array(pairs, np.intp).reshape(-1, 2).T) for pairs in found]
    return Pages(pages, np.array(groups, np.intp), bands)


def once_weights(text: str) -> NDArray[np.float32]:
    hashes = search_features(text).hashes
    return bit_weights(hashes, np.ones(len(hashes), np.float32))


def template_pages(paths: Sequence[Path], count: int) -> tuple[Pages, list[str]]:
    """Pages of seven templates, one group each, and the names of the groups."""
    site = Site(read_words(paths, "en"))
    numbers = [number for number in range(count) if site.kind(number) == "new"]
    texts = [site.text(number) for number in numbers]
    names, groups = np.unique([site.template(number) for number in numbers], return_inverse=True)
    return Pages([Page(fingerprint(text), once_weights(text)) for text in texts], groups, []), names.tolist()


def own(pages: Pages, partitions: int, recall: float) -> Routed:
    """Crawldedup's way."""
    asked = np.zeros((len(pages.pages), partitions), np.bool_)
    for row, page in zip(asked, pages.pages, strict=True):
        row[list(partitions_to_ask(page.fingerprint, partitions, similarity=SIMILARITY, recall=recall))] = True
    homes = [partition_of(home_of(page.fingerprint), partitions) for page in pages.pages]
    return Routed(np.array(homes, np.intp), asked)


def steadiest_bit(pages: Pages, margin: float) -> Routed:
    weights = pages.weights("search")
    cells = np.random.default_rng(1).permutation(2 * SEARCH_BITS) % PARTITIONS
    partitions = np.where(weights >= 0, cells[1::2], cells[::2])
    absolute = np.abs(weights)
    asked = np.zeros((len(weights), PARTITIONS), np.bool_)
    rows, bits = np.nonzero(absolute >= absolute.max(axis=1, keepdims=True) - margin)
    asked[rows, partitions[rows, bits]] = True
    return Routed(np.take_along_axis(partitions, absolute.argmax(axis=1)[:, None], axis=1)[:, 0], asked)


def by_scores(scores: Floats, u: float, recall: float) -> Routed:
    """Route to the largest score, of standard normal scores, and ask by the flip model of steepness u."""
    asked = np.zeros(scores.shape, np.bool_)
    for row, own_scores in zip(asked, scores, strict=True):
        chances = chances_to_be_largest(own_scores * u)
        order = (-chances).argsort(kind="stable")
        row[order[: 1 + int(np.searchsorted(chances.take(order[:-1]).cumsum(), recall))]] = True
    homes = scores.argmax(axis=1)
    asked[np.arange(len(homes)), homes] = True
    return Routed(homes, asked)


def sums(weights: Floats, count: int) -> Floats:
    """Sums of neighbouring weights, shape (pages, count), again standard normal."""
    each = weights.shape[1] // count
    grouped: Floats = weights.reshape(-1, count, each).sum(axis=2) / np.sqrt(each)
    return grouped


def routed(pages: Pages) -> dict[str, Routed]:
    """Every way to route to 16 partitions."""
    search, verify = pages.weights("search"), pages.weights("verify")
    u, sharp = steepness(search_similarity(SIMILARITY)), steepness(SIMILARITY)
    eight = sums(search, PARTITIONS // 2)
    both = (sums(search, PARTITIONS) + sums(verify, PARTITIONS)) / np.sqrt(2)
    # The noise of both kinds, as variances.
    mixed = 1 / np.sqrt((1 / (1 + u * u) + 1 / (1 + sharp * sharp)) / 2)
    ways = {f"steadiest bit, within {margin}": steadiest_bit(pages, margin) for margin in MARGINS}
    ways[f"cross-polytope, {RECALL}"] = by_scores(np.concatenate((eight, -eight), axis=1), u, RECALL)
    ways[f"16 sums, {RECALL}"] = by_scores(sums(search, PARTITIONS), u, RECALL)
    ways[f"16 sums of verify weights, {RECALL}"] = by_scores(sums(verify, PARTITIONS), sharp, RECALL)
    ways[f"16 sums of both, {RECALL}"] = by_scores(both, mixed, RECALL)
    ways[f"16 sums, features once, {RECALL}"] = by_scores(sums(pages.weights("once"), PARTITIONS), mixed, RECALL)
    return ways | {f"crawldedup, {recall}": own(pages, PARTITIONS, recall) for recall in RECALLS}


def with_attributes(pages: Pages, partitions: int) -> float:
    """The fullest partition's share of pages that all have different product attributes."""
    homes = [
        partition_of(home_of(replace(page.fingerprint, facts=page.fingerprint.digest)), partitions)
        for page in pages.pages
    ]
    return float(np.bincount(homes).max() / len(homes))


def show(title: str, mixed: dict[str, Routed], templated: dict[str, Routed], pages: Pages, templates: Pages) -> None:
    table = make_table(
        title,
        *("way, wanted probability", "asked", *(f"J {low:g}-{high:g}" for low, high in BANDS)),
        *("fullest, mix", "worst corpus", "template", "worst"),
    )
    one_group = np.zeros(len(pages.pages), np.intp)
    for name, way in mixed.items():
        shares = templated[name].shares(templates.groups)
        table.add_row(
            name,
            f"{way.asked.sum(axis=1).mean():.2f}",
            *(f"{100 * way.recall(band):.2f}" for band in pages.bands),
            f"{100 * way.shares(one_group)[0]:.1f}",
            f"{100 * max(way.shares(pages.groups)):.1f}",
            f"{100 * np.mean(shares):.0f}",
            f"{100 * max(shares):.0f}",
        )
    Console(markup=False, width=140).print(table)


def main(given: Sequence[str]) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("pages", type=Path, nargs="+", metavar="CORPUS.pages.jsonl")
    parser.add_argument("--limit", type=int, default=3000, help="pairs of a band and corpus, at most (3000)")
    parser.add_argument("--templated", type=int, default=7000, help="generated pages (7000)")
    arguments = parser.parse_args(given)

    pages = read_pages([read_corpus(path, pairs_file(path)) for path in arguments.pages], arguments.limit)
    templates, names = template_pages(arguments.pages, arguments.templated)
    counts = ", ".join(f"{len(band.first):,}" for band in pages.bands)
    title = f"{len(pages.pages):,} distinct pages, {counts} pairs, {PARTITIONS} partitions (per cent)"
    show(title, routed(pages), routed(templates), pages, templates)
    more = {f"{partitions} partitions, {RECALL}": partitions for partitions in MORE_PARTITIONS}
    show(
        "crawldedup, more partitions (per cent)",
        {name: own(pages, partitions, RECALL) for name, partitions in more.items()},
        {name: own(templates, partitions, RECALL) for name, partitions in more.items()},
        pages,
        templates,
    )
    for partitions in (PARTITIONS, *MORE_PARTITIONS):
        shares = own(templates, partitions, RECALL).shares(templates.groups)
        each = ", ".join(f"{name} {100 * share:.0f}" for name, share in zip(names, shares, strict=True))
        alone = with_attributes(templates, partitions)
        print(f"{partitions} partitions, fullest by template: {each}; all, with product attributes: {100 * alone:.1f}")


if __name__ == "__main__":
    run(main, "TEXTS --limit 20 --templated 100")
