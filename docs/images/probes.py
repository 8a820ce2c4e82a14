"""Draw probes.svg: a page's search bits and weights, its place in a table, and its first probes.

The page is an article of the demo site, the copy is its second edition there.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from figures import new_figure, save_figure

import crawldedup
from crawldedup.demo.site import DemoSite
from crawldedup.fingerprinting.bits import SEARCH_BITS, fingerprint
from crawldedup.index.queries import TABLES, FiledPage, searches
from crawldedup.search.decision import flip_probabilities, search_similarity
from crawldedup.search.plan import STORED_BITS, prefix_bits

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

ARTICLE = "/en/drawer-of-seeds/"
SIMILARITY, RECALL, PAGES = 0.9, 0.98, 10**7
ROWS = 8
PREFIX = prefix_bits(PAGES)
# Light, for there are words on them.
BUCKET, RANGE, QUIET, FLIPPED = "#a6c8e0", "#a4e5ec", "#e6e6e6", "#ffbe86"
MET, NOT_MET = "tab:green", "#b0b0b0"
LAYOUT = Path(crawldedup.__file__).parent / "stores" / "redis" / "lua" / "lib" / "layout.lua"


def draw(path: Path) -> None:
    """Draw the picture."""
    pages = DemoSite().pages
    page, copy = (fingerprint(pages[path].text) for path in (ARTICLE, f"{ARTICLE}second-edition/"))
    keys = tuple(table.key(page.search) for table in TABLES)
    (search,) = searches([FiledPage(page, keys, SIMILARITY, PAGES)], RECALL)
    plan = search.plan
    differing = bits_of(page.search ^ copy.search)
    figure = new_figure(8.6, 7.6)
    weights, order, probes = figure.subplots(3, height_ratios=(2.1, 1, 2.8))
    draw_weights(weights, page.search_weights, differing)
    draw_tables(order, page.search)
    probabilities = flip_probabilities(page.search_weights, search_similarity(SIMILARITY))
    # The first probe is the page's own key: it is there for exact copies.
    draw_probes(
        probes,
        page.search,
        copy.search,
        list(zip(plan.tables, plan.lows, strict=True))[1:],
        probabilities,
    )
    save_figure(figure, path)


def bits_of(number: int) -> NDArray[np.bool_]:
    """Return the bits of a fingerprint or a key, from the left."""
    return np.array([bit == "1" for bit in f"{number:0{SEARCH_BITS}b}"])


def draw_weights(axis: Any, weights: NDArray[np.float32], differing: NDArray[np.bool_]) -> None:
    """Draw each bit as a bar."""
    axis.bar(range(SEARCH_BITS), weights, color="tab:blue", width=0.75)
    axis.axhline(0, color="black", linewidth=0.8)
    for place in np.flatnonzero(differing):
        axis.axvspan(place - 0.5, place + 0.5, color=FLIPPED, linewidth=0, zorder=0)
    low, high = axis.get_ylim()
    axis.set_ylim(low - 0.9, high)
    add_bits(axis, low - 0.5, weights >= 0)
    axis.set_title(
        f"1  A page has {SEARCH_BITS} search bits. A bar is the weight of a bit: if it "
        "points up, the bit is 1.\n"
        f"    Bits with short bars flip easily. Orange: the {differing.sum()} bits that differ in "
        "an edited copy.",
        fontsize=9.5,
        loc="left",
    )
    axis.set_xlim(-1, SEARCH_BITS)
    axis.set_xticks(
        range(0, SEARCH_BITS, 8), [f"bit {place}" for place in range(0, SEARCH_BITS, 8)], fontsize=8
    )
    axis.set_ylabel("weight", fontsize=8.5)
    axis.tick_params(axis="y", labelsize=8)


def draw_tables(axis: Any, search: int) -> None:
    """Draw the key of each table and what its leading bits are for."""
    bucket = bucket_bits(PAGES)
    parts = (
        (0, bucket, "bucket", BUCKET),
        (bucket, PREFIX, "range", RANGE),
        (PREFIX, STORED_BITS, "not searched", QUIET),
        (STORED_BITS, SEARCH_BITS, "not kept in the table", "white"),
    )
    for number, table in enumerate(TABLES):
        top = -1.3 * number
        for first, end, _, color in parts:
            add_span(axis, first, end, top, color)
        add_bits(axis, top, bits_of(table.key(search)))
        axis.text(
            -1,
            top,
            f"table {number}:\nfrom bit {table.order[0]}",
            ha="right",
            va="center",
            fontsize=8,
        )
    for first, end, words, _ in parts:
        axis.text((first + end - 1) / 2, 0.8, words, ha="center", va="center", fontsize=8.5)
    axis.set_title(
        f"2  Each table sorts all pages by these bits, in a different order. Of {PAGES:,} pages, "
        "a probe reads\n"
        f"    those with the same {PREFIX} leading bits. They are in one bucket of the store, and "
        "in one range of it.",
        fontsize=9.5,
        loc="left",
    )
    bare(axis, -1.9, 1.2)


def draw_probes(
    axis: Any,
    search: int,
    copy: int,
    probes: Iterable[tuple[int, int]],
    probabilities: NDArray[np.float64],
) -> None:
    """Draw the prefixes that are read, and how probable each is."""
    axis.text(PREFIX + 2.5, 0.8, "probability", va="center", fontsize=8.5)
    for row, (number, low) in zip(range(ROWS), probes, strict=False):
        table, top = TABLES[number], -float(row)
        own, flips = (
            bits_of(table.key(search))[:PREFIX],
            bits_of(table.key(search) ^ int(low))[:PREFIX],
        )
        chances = probabilities[table.order[:PREFIX]]
        probability = float(np.prod(np.where(flips, chances, 1 - chances)))
        meets = (bits_of(table.key(copy) ^ int(low))[:PREFIX] == 0).all()
        add_span(axis, 0, PREFIX, top, QUIET)
        for place in np.flatnonzero(flips).tolist():
            add_span(axis, place, place + 1, top, FLIPPED)
        add_bits(axis, top, own != flips)
        axis.text(-1, top, f"probe {row + 2}, table {number}", ha="right", va="center", fontsize=8)
        names = [str(bit) for bit in table.order[:PREFIX][flips]]
        axis.barh(
            top, 60 * probability, left=PREFIX + 2.5, height=0.6, color=MET if meets else NOT_MET
        )
        axis.text(PREFIX + 3 + 60 * probability, top, f"{probability:.3f}", va="center", fontsize=8)
        told = f"flips {' and '.join(names)}" if names else "flips none"
        axis.text(49, top, f"{told}: finds the copy" if meets else told, va="center", fontsize=8)
    axis.set_title(
        "3  Probes flip bits, most likely first, in both tables (probe 1 reads the page's own "
        "key, for exact\n"
        f"    copies). The probability is for a page with similarity {SIMILARITY:g}.",
        fontsize=9.5,
        loc="left",
    )
    bare(axis, 0.4 - ROWS, 1.2)


def add_bits(axis: Any, top: float, bits: NDArray[np.bool_]) -> None:
    """Write bits in a row."""
    for place, bit in enumerate(bits):
        axis.text(place, top, int(bit), ha="center", va="center", fontsize=7.5)


def add_span(axis: Any, first: int, end: int, top: float, color: str) -> None:
    """Draw what stands behind some bits of a row."""
    axis.broken_barh([(first - 0.5, end - first)], (top - 0.4, 0.8), color=color, linewidth=0)


def bare(axis: Any, low: float, high: float) -> None:
    """Leave the rows alone, in the columns of the bars above."""
    axis.set_axis_off()
    axis.set_xlim(-1, SEARCH_BITS)
    axis.set_ylim(low, high)


def bucket_bits(pages: int) -> int:
    """Return the leading bits that choose a bucket on Redis, of so many pages."""
    found = re.search(r"BUCKET_PAGES = (\d+)", LAYOUT.read_text(encoding="utf-8"))
    assert found is not None
    return int(np.log2(pages / int(found[1])))
