"""Probe plans: the recall they predict beside the recall seen, and what a wanted recall costs as an index grows.

    python benchmarks/probe_plan.py recall CORPUS.pages.jsonl [...]     # predicted and seen, real near duplicates
    python benchmarks/probe_plan.py edits CORPUS.pages.jsonl [...]      # single words changed, or the text moved on
    python benchmarks/probe_plan.py cost --plot cost.svg                # probes, candidates and time by pages

`recall` takes pairs of (about) a similarity J, plans for the exact J of each pair as for an index of 1, 10 and 100
million pages, and looks whether the other page lies in one of the ranges. Each pair is tried both ways and under
several hash functions; `own` is the one that crawldedup uses, which sees every family of copies once. See `corpus`
for the files.

`edits` makes near duplicates in two ways that lead to the same J: single words replaced all over a text of 300 words,
or the window moved on, so that one run of words goes in front and another comes behind. It does so with real texts, in
which the commonest words are everywhere, and with words drawn evenly from 3,000. A found page lies in a range and
passes the key rule and the decision, at the default similarity and recall.

`cost` needs no corpus: weights are drawn from the normal distribution, the index is the memory store filled with random
fingerprints. It plans as many probes as each page needs for a recall, and with prefixes longer or shorter than
those in use: shorter ones need fewer probes and meet more unrelated pages.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.corpus import Corpus, number, pairs_file, read_corpus, search_draws
from crawldedup import evaluation
from crawldedup.errors import CrawlDedupError
from crawldedup.evaluation.exact import jaccard, words
from crawldedup.fingerprinting.fingerprint import SEARCH_BITS, VERIFY_BITS, fingerprint
from crawldedup.options import Options
from crawldedup.page_input import PageRef
from crawldedup.queries import QueryBuilder
from crawldedup.search.decision import likelihood_prefilter, likelihood_rule
from crawldedup.search.limits import PROBE_BUDGET
from crawldedup.search.model import search_similarity
from crawldedup.search.plan import ProbePlan, prefix_bits, volatile_plan
from crawldedup.search.two_stage import KEPT, TABLES, TwoStage
from crawldedup.stores.base import DIGEST_MASK, Entry, Layout, Query
from crawldedup.stores.candidates import choose_pages
from crawldedup.stores.memory.sorted_keys import SortedKeys
from crawldedup.stores.memory.store import MemoryStore
from crawldedup.stores.packed_keys import pack_key

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZES = (10**6, 10**7, 10**8)
PROBES = (16, 32, 64, 128)
SIMILARITIES = (0.7, 0.8, 0.9, 0.95)
WITHIN = 0.0125
EDIT_SIZES = (10**4, 10**6, 10**7)
EDIT_SIMILARITIES = (0.95, 0.92, 0.9)
EDIT_WORDS = 300
VOCABULARY = 3000
COST_SIZES = (10**6, 3 * 10**6, 10**7, 3 * 10**7, 10**8, 10**9)
WANTED = (0.9, 0.95, 0.98)
SHORTER = (0, 1, 2)
MOST_PROBES = 1024
PLANNED_SIMILARITY = 0.9
LAYOUT = Layout("bench", "bench", TABLES, VERIFY_BITS // 8)

Floats = NDArray[np.float32]


def plan(weights: Floats, *, prefix: int, similarity: float, recall: float = 1.0, budget: int) -> ProbePlan:
    return volatile_plan(
        number(weights),
        weights,
        TABLES,
        prefix=prefix,
        similarity=search_similarity(similarity),
        recall=recall,
        budget=budget,
    )


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
    table = Table(title="per cent of near duplicates within the ranges: predicted, seen (difference)")
    for heading in ("corpus", "J", "pairs", "pages", "bits", *(f"{probes} probes" for probes in PROBES), "own, 64"):
        table.add_column(heading, justify="left" if heading == "corpus" else "right")
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


@dataclass
class EditRow:
    kind: str
    """Of the texts."""
    edit: str
    similarity: float
    """Exact, mean over the texts."""
    words_changed: int
    """Of EDIT_WORDS."""
    texts: int
    pages: int
    found: float


def edit_rows(kind: str, texts: Sequence[list[str]]) -> list[EditRow]:
    """Look for edited texts, both ways round, in indexes of all sizes: by the queries alone, without other pages."""
    maker = QueryBuilder(TwoStage(), Options(similarity=PLANNED_SIMILARITY))
    rows = []
    for similarity in EDIT_SIMILARITIES:
        shift = shift_for(similarity)
        # A replaced word takes three shingles, a moved window takes one for each word.
        for edit, changed in (("scattered", round(shift / 3)), ("window", shift)):
            rng = np.random.default_rng(7)
            found = dict.fromkeys(EDIT_SIZES, 0)
            exact = []
            for place, text in enumerate(texts):
                one = text[:EDIT_WORDS]
                if edit == "window":
                    other = text[shift : shift + EDIT_WORDS]
                else:
                    other = with_words_of(texts[place - 1], one, changed, rng)
                first, second = " ".join(one), " ".join(other)
                exact.append(jaccard(first, second))
                for asking, asked in (map(fingerprint, pair) for pair in ((first, second), (second, first))):
                    for pages in EDIT_SIZES:
                        query = maker.question(PageRef(""), asking, pages=pages).query
                        found[pages] += meets(query, asked.search, asked.verify)
            rows += [
                EditRow(kind, edit, float(np.mean(exact)), changed, len(texts), pages, found[pages] / len(texts) / 2)
                for pages in EDIT_SIZES
            ]
    return rows


def shift_for(similarity: float) -> int:
    """By how many words a window of EDIT_WORDS moves for this Jaccard similarity of 3-shingles."""
    return round((EDIT_WORDS - 2) * (1 - similarity) / (1 + similarity))


def real_texts(paths: Sequence[Path], limit: int) -> list[list[str]]:
    """The words of texts that are long enough and do not begin alike, drawn at random."""
    least = longest_text()
    texts: dict[tuple[str, ...], list[str]] = {}
    for path in paths:
        try:
            documents = evaluation.read_corpus(str(path)).documents
        except (CrawlDedupError, OSError) as error:
            sys.exit(f"{path}: {error}")
        for document in documents:
            text = words(document.text)
            if len(text) >= least:
                texts.setdefault(tuple(text[:50]), text)
    if len(texts) < 2:
        sys.exit(f"there are no texts of {least} words or more")
    drawn = list(texts.values())
    return [drawn[place] for place in np.random.default_rng(1).permutation(len(drawn))[:limit]]


def random_texts(count: int) -> list[list[str]]:
    """Texts of words that are all as common."""
    rows = np.random.default_rng(3).integers(VOCABULARY, size=(count, longest_text()))
    return [[f"w{word}" for word in row] for row in rows.tolist()]


def longest_text() -> int:
    """Words that are needed to move the window as far as it is moved."""
    return EDIT_WORDS + shift_for(min(EDIT_SIMILARITIES))


def with_words_of(source: Sequence[str], text: Sequence[str], changed: int, rng: np.random.Generator) -> list[str]:
    """The text with so many words, here and there, replaced by words of another."""
    edited = list(text)
    for place in rng.choice(len(text), changed, replace=False).tolist():
        edited[place] = source[int(rng.integers(len(source)))]
    return edited


def meets(query: Query, search: int, signature: bytes) -> bool:
    """True if a page with these bits lies in the ranges of the query and is accepted, all other pages aside."""
    plan, keys = query.plan, np.array(LAYOUT.keys(search, signature), np.uint64)
    own = keys.take(plan.tables)
    hit = (plan.lows <= own) & (own <= plan.highs)
    packed = np.array([pack_key(key, 0) for key in own[hit].tolist()], np.uint64)
    return bool(choose_pages(query, LAYOUT, plan.tables[hit], packed)) and (
        query.rule.cost(query.entry.signature, signature) <= query.rule.limit
    )


def show_edits(rows: Sequence[EditRow]) -> None:
    console = Console(markup=False, width=160)
    table = Table(title=f"per cent of edited texts of {EDIT_WORDS} words that are found, by pages in the index")
    for heading in ("texts", "number", "edit", "J, mean", "words changed", *(f"{pages:,}" for pages in EDIT_SIZES)):
        table.add_column(heading, justify="left" if heading in ("texts", "edit") else "right")
    for start in range(0, len(rows), len(EDIT_SIZES)):
        group = rows[start : start + len(EDIT_SIZES)]
        first = group[0]
        table.add_row(
            first.kind,
            f"{first.texts:,}",
            first.edit,
            f"{first.similarity:.3f}",
            str(first.words_changed),
            *(f"{row.found * 100:.1f}" for row in group),
        )
    console.print(table)


@dataclass
class CostRow:
    pages: int
    prefix: int
    in_use: bool
    budget_recall: float
    """Predicted recall of PROBE_BUDGET probes, mean over pages."""
    probes: dict[str, float]
    """By wanted recall: probes a page, mean; MOST_PROBES where a page needs more."""
    reached: dict[str, float]
    """By wanted recall: share of pages that reach it with MOST_PROBES."""
    candidates: dict[str, float]
    """By wanted recall: unrelated pages met, expected."""


def cost_rows(sample: int) -> list[CostRow]:
    weights = np.random.default_rng(3).standard_normal((sample, SEARCH_BITS)).astype(np.float32)
    rows = []
    for pages in track(COST_SIZES, "planning", console=Console(stderr=True), transient=True):
        for shorter in SHORTER:
            prefix = prefix_bits(pages) - shorter
            row = CostRow(pages, prefix, shorter == 0, 0.0, {}, {}, {})
            used = [plan(own, prefix=prefix, similarity=PLANNED_SIMILARITY, budget=PROBE_BUDGET) for own in weights]
            row.budget_recall = float(np.mean([planned.recall for planned in used]))
            for wanted in WANTED:
                plans = [
                    plan(own, prefix=prefix, similarity=PLANNED_SIMILARITY, recall=wanted, budget=MOST_PROBES)
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
    """A memory store of random fingerprints, without URLs.

    Its arrays are put in place from behind: through `check_and_add`, ten million pages take minutes.
    """
    store = MemoryStore(LAYOUT)
    generator = np.random.default_rng(pages)
    rows = np.zeros(pages, store._row_type)
    for name in ("url_key", "search"):
        rows[name] = generator.integers(0, 1 << 64, pages, np.uint64, endpoint=False)
    rows["digest"] = generator.integers(0, DIGEST_MASK, pages, np.uint32, endpoint=True)
    rows["signature"] = np.frombuffer(generator.bytes(pages * (VERIFY_BITS // 8)), rows["signature"].dtype)
    store._rows = rows
    store._urls = [b""] * pages
    store._kept = np.ones(pages, np.bool_)
    store._pages = pages
    places = np.arange(pages, dtype=np.uint64)
    key_mask = np.uint64(pack_key((1 << 64) - 1, 0))
    store._tables = [SortedKeys(np.sort(table.keys(rows["search"]) & key_mask | places)) for table in TABLES]
    store._by_url = SortedKeys(np.sort(rows["url_key"] & key_mask | places))
    return store


def time_rows(sizes: Sequence[int], checks: int) -> list[TimeRow]:
    rows = []
    for pages in track(sizes, "checking", console=Console(stderr=True), transient=True):
        store = filled_store(pages)
        generator = np.random.default_rng(5)
        for shorter in SHORTER:
            prefix = prefix_bits(pages) - shorter
            for probes in (*PROBES, 256):
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


def show_cost(costs: Sequence[CostRow], times: Sequence[TimeRow]) -> None:
    console = Console(markup=False, width=160)
    table = Table(
        title=f"copies of similarity {PLANNED_SIMILARITY:g}, predicted: recall of {PROBE_BUDGET} probes; probes a page "
        f"for a recall (+: some pages need more than {MOST_PROBES}) and unrelated pages met"
    )
    for heading in ("pages", "prefix bits", f"recall of {PROBE_BUDGET}", *(f"for {wanted:g}" for wanted in WANTED)):
        table.add_column(heading, justify="right")
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
    table = Table(title="check-and-add of a new page, memory store of random pages")
    for heading in ("pages", "prefix bits", "probes", "candidates, mean", "p99", "us, median"):
        table.add_column(heading, justify="right")
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
    # Only who wants a plot needs the package.
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(12, 5), layout="constrained")
    for shorter, style in zip(SHORTER, ("-", "--", ":"), strict=True):
        rows = [row for row in costs if row.prefix == prefix_bits(row.pages) - shorter]
        pages = [row.pages for row in rows]
        label = "prefix in use" if shorter == 0 else f"{shorter} bit{'s' * (shorter > 1)} shorter"
        for wanted, colour in zip(WANTED, ("tab:blue", "tab:orange", "tab:red"), strict=True):
            probes = [row.probes[f"{wanted}"] for row in rows]
            left.plot(pages, probes, style, color=colour, marker=".", label=f"recall {wanted:g}, {label}")
        right.plot(pages, [row.budget_recall for row in rows], style, color="black", marker=".", label=label)
    left.axhline(PROBE_BUDGET, color="grey", linewidth=0.8)
    left.set(yscale="log", ylabel=f"probes a page, J = {PLANNED_SIMILARITY:g}")
    right.set(ylabel=f"recall of {PROBE_BUDGET} probes, J = {PLANNED_SIMILARITY:g}")
    for axis in (left, right):
        axis.set(xscale="log", xlabel="pages in the index")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    what = parser.add_subparsers(dest="what", required=True)
    recall = what.add_parser("recall", help="predicted beside seen")
    recall.add_argument("pages", type=Path, nargs="+", metavar="CORPUS.pages.jsonl")
    recall.add_argument("--limit", type=int, default=200, help="pairs of a similarity, at most (200)")
    recall.add_argument("--draws", type=int, default=6, help="hash functions, crawldedup's own included (6)")
    edits = what.add_parser("edits", help="single words changed, or the text moved on")
    edits.add_argument("pages", type=Path, nargs="+", metavar="CORPUS.pages.jsonl")
    edits.add_argument("--limit", type=int, default=1000, help="texts, at most (1000)")
    cost = what.add_parser("cost", help="probes, candidates and time")
    cost.add_argument("--sample", type=int, default=60, help="pages to plan for (60)")
    cost.add_argument("--stores", default="1000000,10000000", help="pages of the stores to time, with commas")
    cost.add_argument("--checks", type=int, default=1500)
    cost.add_argument("--plot", type=Path, metavar="FILE.svg", help="needs matplotlib")
    arguments = parser.parse_args()

    if arguments.what == "recall":
        rows = []
        for path in arguments.pages:
            corpus = read_corpus(path, pairs_file(path))
            for similarity in track(SIMILARITIES, corpus.name, console=Console(stderr=True), transient=True):
                rows += recall_rows(corpus, similarity, arguments.limit, arguments.draws)
        if arguments.json:
            print(json.dumps([asdict(row) for row in rows]))
        else:
            show_recall(rows)
        return
    if arguments.what == "edits":
        edited = [
            *edit_rows("real", real_texts(arguments.pages, arguments.limit)),
            *edit_rows("random words", random_texts(arguments.limit)),
        ]
        if arguments.json:
            print(json.dumps([asdict(row) for row in edited]))
        else:
            show_edits(edited)
        return
    costs = cost_rows(arguments.sample)
    times = time_rows([int(size) for size in arguments.stores.split(",") if size], arguments.checks)
    if arguments.plot:
        plot_cost(costs, arguments.plot)
    if arguments.json:
        print(json.dumps({"cost": [asdict(row) for row in costs], "time": [asdict(row) for row in times]}))
    else:
        show_cost(costs, times)


if __name__ == "__main__":
    main()
