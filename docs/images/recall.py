"""Draw recall.svg: how many near duplicates are met by how many probes, in three orders of the probes.

The near duplicates are made up: texts of 300 words, with some words replaced by others, so that their Jaccard
similarity is about 0.9. They are fingerprinted, and looked for as in an index of ten million pages.
"""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.probe_edits import EDIT_WORDS, random_texts, shift_for, with_words_of
from benchmarks.probe_recall import first_hit
from benchmarks.shared.figures import new_figure, save_figure
from benchmarks.shared.probes import plan
from crawldedup.fingerprinting.fingerprint import SEARCH_BITS, fingerprint
from crawldedup.literature.exact import jaccard
from crawldedup.search.limits import PROBE_BUDGET
from crawldedup.search.plan import prefix_bits
from crawldedup.search.two_stage import TABLES

if TYPE_CHECKING:
    from pathlib import Path

    from crawldedup.fingerprinting.fingerprint import Fingerprint

SIMILARITY, PAGES = 0.9, 10**7
TEXTS = 3000
# Every set of up to two flips in both tables is among the probes of the fixed order.
PREFIX = prefix_bits(PAGES)
MOST = len(TABLES) * sum(comb(PREFIX, flips) for flips in range(3))
SHOWN = (1, 2, 4, 8, 16, 32, 64, 128, PROBE_BUDGET, 512, MOST)


def draw(path: Path) -> None:
    """Draw the picture."""
    similarity, pairs = made_up_pairs()
    plans = [plan(page.search_weights, prefix=PREFIX, similarity=SIMILARITY, budget=MOST) for page, _ in pairs]
    volatile = np.array([first_hit(planned, other) for planned, (_, other) in zip(plans, pairs, strict=True)])
    fixed = np.array([fixed_hit(page.search, other) for page, other in pairs])
    figure = new_figure(8, 4.8)
    chart = figure.subplots()
    for hits, words, colour in (
        (volatile, "likeliest flips first (in use)", "tab:green"),
        (fixed, "fewest flips first, bits in their order", "tab:orange"),
    ):
        shares = [100 * float((hits <= probes).mean()) for probes in SHOWN]
        chart.plot(SHOWN, shares, "o-", color=colour, label=words)
        for probes, share in zip(SHOWN, shares, strict=True):
            if probes in (8, 32, PROBE_BUDGET):
                chart.annotate(f"{share:.1f} %", (probes, share), (4, -12), textcoords="offset points", fontsize=8.5)
    exact = 100 * float((fixed <= len(TABLES)).mean())
    chart.axhline(exact, color="0.45", linestyle="--", label="no flips: one probe of each table")
    chart.axvline(PROBE_BUDGET, color="0.6", linewidth=0.9)
    chart.text(PROBE_BUDGET * 0.96, 2, f"a check makes at most {PROBE_BUDGET}", ha="right", fontsize=8.5)
    chart.set(
        xscale="log",
        xlabel="probes for a page",
        ylabel="edited copies met, %",
        ylim=(0, 103),
        title=f"{len(pairs):,} edited texts of similarity {similarity:.2f}, as in an index of {PAGES:,} pages",
    )
    chart.set_xticks(SHOWN, [str(probes) for probes in SHOWN])
    chart.minorticks_off()
    chart.grid(alpha=0.3)
    chart.legend(loc="center right", fontsize=9)
    save_figure(figure, path)


def made_up_pairs() -> tuple[float, list[tuple[Fingerprint, int]]]:
    """Return the mean similarity of texts and their edited copies, the texts and the search bits of the copies."""
    texts = random_texts(TEXTS)
    # A replaced word takes three shingles.
    changed = round(shift_for(SIMILARITY) / 3)
    rng = np.random.default_rng(7)
    similarities, pairs = [], []
    for place, words in enumerate(texts):
        one = words[:EDIT_WORDS]
        page, copy = " ".join(one), " ".join(with_words_of(texts[place - 1], one, changed, rng))
        similarities.append(jaccard(page, copy))
        pairs.append((fingerprint(page), fingerprint(copy).search))
    return float(np.mean(similarities)), pairs


def fixed_hit(own: int, other: int) -> float:
    """Return how many probes it takes to meet a page if sets of flips come by their size, then by their bits."""
    rest = SEARCH_BITS - PREFIX
    places = []
    for number, table in enumerate(TABLES):
        differing = (table.key(own) ^ table.key(other)) >> rest
        flips = tuple(place for place in range(PREFIX) if differing >> PREFIX - 1 - place & 1)
        if flips in ORDER:
            # The tables take turns.
            places.append(len(TABLES) * ORDER[flips] + number + 1)
    return min(places, default=np.inf)


ORDER = {
    flips: place
    for place, flips in enumerate(flips for size in range(3) for flips in combinations(range(PREFIX), size))
}
