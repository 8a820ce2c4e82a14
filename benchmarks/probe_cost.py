"""Cost of probe plans: probes, candidates and time that a wanted recall takes as an index grows.

    python benchmarks/probe_cost.py --plot cost.svg
    python docs/images/draw.py cost                     # the same, without the stores that are timed

Needs no corpus: weights are drawn from the normal distribution, and the index is the memory store filled with random
fingerprints. Plans as many probes as each page needs for a recall, with the prefixes in use and with shorter ones:
these need fewer probes and meet more unrelated pages.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.progress import track

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from crawldedup.stores.memory import MemoryStore

from benchmarks.shared.common import make_parser, make_table, numbers, run
from benchmarks.shared.corpus import number
from benchmarks.shared.figures import new_figure, save_figure
from benchmarks.shared.probes import LAYOUT, PLANNED_SIMILARITY, plan
from crawldedup.fingerprinting.fingerprint import SEARCH_BITS, VERIFY_BITS
from crawldedup.search.decision import likelihood_prefilter, likelihood_rule
from crawldedup.search.model import search_similarity
from crawldedup.search.plan import PROBE_BUDGET, prefix_bits
from crawldedup.search.query import KEPT
from crawldedup.stores.base import DIGEST_MASK, Entry, Query, Record

if TYPE_CHECKING:
    from collections.abc import Sequence

PROBES = (16, 32, 64, 128, 256)
COST_SIZES = (10**6, 3 * 10**6, 10**7, 3 * 10**7, 10**8, 10**9)
WANTED = (0.9, 0.95, 0.98, 0.99)
SHORTER = (0, 1, 2)
MOST_PROBES = 1024
LOADED_AT_ONCE = 1000


@dataclass
class CostRow:
    pages: int
    prefix: int
    in_use: bool
    budget_recall: float
    """Predicted recall of PROBE_BUDGET probes, mean over pages."""
    probes: dict[str, float]
    """By wanted recall: probes a page, mean; the most allowed where a page needs more."""
    reached: dict[str, float]
    """By wanted recall: share of pages that reach it so."""
    candidates: dict[str, float]
    """By wanted recall: unrelated pages met, expected."""


def cost_rows(sample: int, sizes: Sequence[int], most: int) -> list[CostRow]:
    weights = np.random.default_rng(3).standard_normal((sample, SEARCH_BITS)).astype(np.float32)
    rows = []
    for pages in track(sizes, "planning", console=Console(stderr=True), transient=True):
        for shorter in SHORTER:
            prefix = prefix_bits(pages) - shorter
            row = CostRow(pages, prefix, shorter == 0, 0.0, {}, {}, {})
            used = [plan(own, prefix=prefix, similarity=PLANNED_SIMILARITY, budget=PROBE_BUDGET) for own in weights]
            row.budget_recall = float(np.mean([planned.recall for planned in used]))
            for wanted in WANTED:
                plans = [
                    plan(own, prefix=prefix, similarity=PLANNED_SIMILARITY, recall=wanted, budget=most)
                    for own in weights
                ]
                probes = float(np.mean([len(planned) for planned in plans]))
                row.probes[f"{wanted}"] = probes
                row.reached[f"{wanted}"] = float(np.mean([planned.recall >= wanted for planned in plans]))
                row.candidates[f"{wanted}"] = probes * pages / 2**prefix
            rows.append(row)
    return rows


@dataclass
class TimeRow:
    pages: int
    prefix: int
    probes: int
    candidates: float
    candidates_p99: float
    microseconds: float
    """Median: a process that is pushed aside now and then spoils the mean."""


def filled_store(pages: int) -> MemoryStore:
    """Return a memory store of random fingerprints, without URLs. A million pages take about a minute."""
    store = MemoryStore(LAYOUT)
    store.open()
    generator = np.random.default_rng(pages)
    for start in range(0, pages, LOADED_AT_ONCE):
        count = min(LOADED_AT_ONCE, pages - start)
        url_keys, searches = generator.integers(0, 1 << 64, (2, count), np.uint64, endpoint=False).tolist()
        digests = generator.integers(0, DIGEST_MASK, count, np.uint32, endpoint=True).tolist()
        size = VERIFY_BITS // 8
        signatures = generator.bytes(count * size)
        store.load(
            [
                Record("", url_keys[i], searches[i], signatures[i * size : (i + 1) * size], digests[i], 1, 1, 0)
                for i in range(count)
            ]
        )
    return store


def time_rows(sizes: Sequence[int], checks: int) -> list[TimeRow]:
    rows = []
    for pages in track(sizes, "checking", console=Console(stderr=True), transient=True):
        store = filled_store(pages)
        generator = np.random.default_rng(5)
        for shorter in SHORTER:
            prefix = prefix_bits(pages) - shorter
            for probes in PROBES:
                times, candidates = np.empty(checks), np.empty(checks)
                for check in range(checks):
                    query = random_query(generator, prefix, probes)
                    started = time.perf_counter()
                    answer = store.check_and_add(query)
                    times[check] = (time.perf_counter() - started) * 1e6
                    candidates[check] = answer.candidates
                rows.append(
                    TimeRow(
                        pages,
                        prefix,
                        probes,
                        float(candidates.mean()),
                        float(np.percentile(candidates, 99)),
                        float(np.median(times)),
                    )
                )
        del store
    return rows


def random_query(generator: np.random.Generator, prefix: int, probes: int) -> Query:
    weights = generator.standard_normal(SEARCH_BITS).astype(np.float32)
    url_key, digest = generator.integers(0, 1 << 64, 2, np.uint64, endpoint=False).tolist()
    search, signature = number(weights), generator.bytes(VERIFY_BITS // 8)
    return Query(
        entry=Entry("", url_key, search, signature, digest & DIGEST_MASK, LAYOUT.keys(search, signature)),
        plan=plan(weights, prefix=prefix, similarity=PLANNED_SIMILARITY, budget=probes),
        rule=likelihood_rule(generator.standard_normal(VERIFY_BITS).astype(np.float32), 0.86),
        prefilter=likelihood_prefilter(weights, search_similarity(PLANNED_SIMILARITY), KEPT),
    )


def show_cost(costs: Sequence[CostRow], times: Sequence[TimeRow], most: int) -> None:
    console = Console(markup=False, width=160)
    table = make_table(
        f"copies of similarity {PLANNED_SIMILARITY:g}, predicted: recall of {PROBE_BUDGET} probes; probes a page "
        f"for a recall (+: some pages need more than {most}) and unrelated pages met",
        *("pages", "prefix bits", f"recall of {PROBE_BUDGET}", *(f"for {wanted:g}" for wanted in WANTED)),
    )
    for row in costs:
        table.add_row(
            f"{row.pages:,}",
            f"{row.prefix}{' *' if row.in_use else ''}",
            f"{row.budget_recall:.3f}",
            *(
                f"{row.probes[key]:.0f}{'+' if row.reached[key] < 1 else ''} ({row.candidates[key]:.0f})"
                for key in map(str, WANTED)
            ),
            end_section=row.prefix == prefix_bits(row.pages) - SHORTER[-1],
        )
    console.print(table)
    console.print("* the prefix in use")
    if not times:
        return
    table = make_table(
        "check-and-add of a new page, memory store of random pages",
        *("pages", "prefix bits", "probes", "candidates, mean", "p99", "us, median"),
    )
    for timed in times:
        table.add_row(
            f"{timed.pages:,}",
            str(timed.prefix),
            str(timed.probes),
            f"{timed.candidates:.1f}",
            f"{timed.candidates_p99:.0f}",
            f"{timed.microseconds:.0f}",
            end_section=timed.probes == 256,
        )
    console.print(table)


def plot_cost(costs: Sequence[CostRow], path: Path) -> None:
    figure = new_figure(8.6, 4)
    left, right = figure.subplots(1, 2)
    used = [row for row in costs if row.in_use]
    pages = [row.pages for row in used]
    for wanted in reversed(WANTED):
        left.plot(
            pages, [row.probes[f"{wanted}"] for row in used], "o-", markersize=4, label=f"to meet {100 * wanted:g} %"
        )
    left.axhline(PROBE_BUDGET, color="0.4", linewidth=1)
    left.text(pages[0], PROBE_BUDGET * 1.05, f"at most {PROBE_BUDGET} are made", fontsize=8.5)
    left.set(title="probes for a page", ylim=(0, None))
    left.legend(fontsize=8.5, loc="upper left", bbox_to_anchor=(0, 0.75))
    right.plot(pages, [100 * row.budget_recall for row in used], "o-", color="black", markersize=4)
    right.set(title=f"copies met by {PROBE_BUDGET} probes, %", ylim=(90, 100.3))
    for chart in (left, right):
        chart.set(xscale="log", xlabel="pages in the index, millions")
        chart.set_xticks(pages, [f"{size / 10**6:,g}" for size in pages])
        chart.minorticks_off()
        chart.grid(alpha=0.3)
    figure.suptitle(f"Copies of similarity {PLANNED_SIMILARITY:g}, predicted", fontsize=11)
    save_figure(figure, path)


def main(given: Sequence[str]) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--sample", type=int, default=60, help="pages to plan for (60)")
    parser.add_argument(
        "--sizes", type=numbers, default=COST_SIZES, help="pages of the indexes to plan for, with commas"
    )
    parser.add_argument(
        "--stores", type=numbers, default=[10**5, 10**6], help="pages of the stores to time, with commas"
    )
    parser.add_argument("--most", type=int, default=MOST_PROBES, help=f"probes a page at most ({MOST_PROBES:,})")
    parser.add_argument("--checks", type=int, default=1500)
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="needs matplotlib")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    arguments = parser.parse_args(given)

    costs = cost_rows(arguments.sample, arguments.sizes, arguments.most)
    times = time_rows(arguments.stores, arguments.checks)
    if arguments.plot:
        plot_cost(costs, arguments.plot)
    if arguments.json:
        print(json.dumps({"cost": [asdict(row) for row in costs], "time": [asdict(row) for row in times]}))
    else:
        show_cost(costs, times, arguments.most)


if __name__ == "__main__":
    run(main, "--sample 1 --sizes 1000000 --most 128 --stores 1000 --checks 2 --plot PLOT")
