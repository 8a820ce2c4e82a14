"""Measure candidates and time of a check, and false drops, on a million pages of seven templates.

    python benchmarks/templated_site.py --texts pages.jsonl more.jsonl      # lines of {"text": ..}
    python benchmarks/templated_site.py --texts pages.jsonl --pages 100000 --scan

Shops, listings, articles, a calendar, a directory, a forum: every page of a template repeats its words, 30 to 80 %
of the page, around sentences that are drawn at random from real texts. Of a hundred pages, three are near copies of
an earlier page (Jaccard similarity .9 to .98, words replaced or put in) and two are exact copies under another
URL. Other processes make and fingerprint the pages; this one asks the memory store, page by page, as a crawl does.

A page is a function of its number, so the similarity of every flagged pair is computed exactly afterwards. A false
drop is a page whose original, as the verdict names it, has a similarity below 0.8.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.progress import track

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.shared.common import make_parser, make_table, run
from benchmarks.shared.templated_pages import KINDS, Site, Words, read_words
from crawldedup import Deduplicator
from crawldedup.batch.columns import Columns
from crawldedup.batch.decision import Goal
from crawldedup.batch.engine import find_duplicates
from crawldedup.options import Options
from crawldedup.queries import salted
from crawldedup.reader import PageReader
from crawldedup.search.limits import MAX_CANDIDATES
from crawldedup.text.keys import NO_KEY
from crawldedup.text.tokenize import split_words
from crawldedup.verdict import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawldedup.fingerprinting.fingerprint import Fingerprint

FALSE_BELOW = 0.8
CHUNK = 500
STRETCHES = 5
BANDS = ((0.0, 0.7), (0.7, 0.8), (0.8, 0.85), (0.85, 0.9), (0.9, 0.95), (0.95, 1.0))


@dataclass
class Stretch:
    """Figures of the checks in one part of the stream."""

    candidates: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def row(self) -> dict[str, float]:
        candidates, microseconds = np.array(self.candidates), np.array(self.seconds) * 1e6
        return {
            "checks": len(candidates),
            "candidates_mean": float(candidates.mean()),
            "candidates_p99": float(np.percentile(candidates, 99)),
            "candidates_max": int(candidates.max()),
            "us_median": float(np.median(microseconds)),
            "us_p99": float(np.percentile(microseconds, 99)),
        }


@dataclass
class Outcome:
    """What the stream showed. `flagged` holds (number, number of the original) of near duplicates."""

    stretches: list[Stretch] = field(default_factory=lambda: [Stretch() for _ in range(STRETCHES)])
    templates: dict[str, Stretch] = field(default_factory=lambda: {name: Stretch() for name, *_ in KINDS})
    kinds: list[Kind] = field(default_factory=list)
    flagged: list[tuple[int, int]] = field(default_factory=list)
    full: int = 0
    """Checks that compared as many pages as one check may, so that others may have been left out."""


_worker: tuple[Site, PageReader] | None = None


def _start_worker(words: Words, reader: PageReader) -> None:
    global _worker
    _worker = (Site(words), reader)


def _fingerprints(bounds: tuple[int, int]) -> list[Fingerprint]:
    assert _worker is not None
    site, reader = _worker
    return [reader.read(text=site.text(number)) for number in range(*bounds)]


def stream(words: Words, reader: PageReader, pages: int, workers: int) -> Iterator[Fingerprint]:
    """The fingerprints of pages 0, 1, .., in order."""
    bounds = [(first, min(first + CHUNK, pages)) for first in range(0, pages, CHUNK)]
    # A process that is forked would inherit the index as it grows; a fresh one is sent what it needs.
    with get_context("spawn").Pool(workers, _start_worker, (words, reader)) as pool:
        for chunk in pool.imap(_fingerprints, bounds):
            yield from chunk


def check_stream(words: Words, options: Options, pages: int, workers: int, minutes: float) -> Outcome:
    """Check the pages one by one, for so long at most."""
    site = Site(words)
    # Other processes make the fingerprints.
    deduplicator = Deduplicator.from_options(replace(options, key=0))
    outcome = Outcome()
    fingerprints = stream(words, PageReader(options), pages, workers)
    console = Console(stderr=True)
    end = time.monotonic() + 60 * minutes
    for number, page in enumerate(track(fingerprints, "checking", pages, console=console, update_period=1)):
        if time.monotonic() > end:
            break
        template = site.template(number)
        url = f"https://site.example/{template.replace(' ', '-')}/{number}.html"
        started = time.perf_counter()
        verdict = deduplicator.check_fingerprint(url, page)
        seconds = time.perf_counter() - started
        for stretch in (outcome.stretches[number * STRETCHES // pages], outcome.templates[template]):
            stretch.candidates.append(verdict.candidates)
            stretch.seconds.append(seconds)
        outcome.full += verdict.candidates >= MAX_CANDIDATES
        outcome.kinds.append(verdict.kind)
        if verdict.kind is Kind.NEAR_DUPLICATE and verdict.original is not None:
            original = int(verdict.original.rpartition("/")[2].removesuffix(".html"))
            outcome.flagged.append((number, original))
    return outcome


def scan(words: Words, options: Options, pages: int, workers: int) -> Outcome:
    """Compare all pages at once."""
    goal = Goal(options.similarity, options.recall)
    fingerprints = track(stream(words, PageReader(options), pages, workers), "reading", pages)
    columns = Columns.of([(salted(page, "", NO_KEY), 0) for page in fingerprints], goal.threshold)
    started = time.perf_counter()
    found = find_duplicates(columns, goal)
    Console(stderr=True).print(f"compared in {time.perf_counter() - started:.1f} seconds")
    near = ~found.kept & ~found.exact
    kinds = np.where(found.exact, Kind.EXACT_DUPLICATE, np.where(near, Kind.NEAR_DUPLICATE, Kind.NEW))
    flagged = [(number, int(found.original[number])) for number in np.flatnonzero(near).tolist()]
    return Outcome(kinds=list(map(Kind, kinds.tolist())), flagged=flagged)


def shingles(text: str) -> set[tuple[str, ...]]:
    words = split_words(text)
    return set(zip(words, words[1:], words[2:], strict=False))


def jaccard(first: str, second: str) -> float:
    one, other = shingles(first), shingles(second)
    return len(one & other) / len(one | other)


def band_of(similarity: float) -> str:
    if similarity == 1:
        return "1"
    return next(f"{low:.2f}-{high:.2f}" for low, high in BANDS if low <= similarity < high)


def flagged_pairs(site: Site, outcome: Outcome, limit: int) -> tuple[Counter[str], int, int]:
    """Bands of the exact similarity of flagged pairs, how many were looked at, and how many of them were false."""
    chosen = outcome.flagged
    if len(chosen) > limit:
        chosen = Random(1).sample(chosen, limit)
    similarities = [jaccard(site.text(number), site.text(original)) for number, original in chosen]
    return Counter(map(band_of, similarities)), len(chosen), sum(value < FALSE_BELOW for value in similarities)


def recall_of_planted(site: Site, outcome: Outcome, limit: int) -> dict[str, tuple[int, int]]:
    """By exact similarity with the page it was made from: pages found, and all. Only where that page was kept."""
    duplicate = (Kind.NEAR_DUPLICATE, Kind.EXACT_DUPLICATE)
    numbers = [number for number in range(len(outcome.kinds)) if site.kind(number) != "new"]
    numbers = [number for number in numbers if outcome.kinds[site.base(number)] is Kind.NEW]
    if len(numbers) > limit:
        numbers = sorted(Random(2).sample(numbers, limit))
    found: Counter[str] = Counter()
    all_of: Counter[str] = Counter()
    for number in numbers:
        band = band_of(jaccard(site.text(number), site.text(site.base(number))))
        all_of[band] += 1
        found[band] += outcome.kinds[number] in duplicate
    return {band: (found[band], all_of[band]) for band in sorted(all_of)}


def unrelated_similarity(site: Site, pages: int) -> dict[str, float]:
    """Mean similarity of two pages of a template that have nothing to do with each other."""
    of_template: dict[str, list[int]] = {name: [] for name, *_ in KINDS}
    for number in range(min(pages, 2000)):
        if site.kind(number) == "new":
            of_template[site.template(number)].append(number)
    return {
        name: float(np.mean([jaccard(site.text(one), site.text(other)) for one, other in pairwise(found[:100])]))
        for name, found in of_template.items()
    }


def main(given: Sequence[str]) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--texts", type=Path, nargs="+", required=True, metavar="FILE.jsonl")
    parser.add_argument("--language", default="en", help="of the texts that say theirs (en)")
    parser.add_argument("--pages", type=int, default=1_000_000)
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop the stream after so long, and report")
    parser.add_argument("--workers", type=int, default=1, help="processes that make and fingerprint pages (1)")
    parser.add_argument("--exact", type=int, default=50_000, help="pairs to compute exactly, at most (50000)")
    parser.add_argument("--scan", action="store_true", help="compare all pages at once, as a scan does")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    arguments = parser.parse_args(given)

    words = read_words(arguments.texts, arguments.language)
    if len(words.sentences) < 300:
        parser.error(f"there are {len(words.sentences)} sentences of 6 to 30 words in these texts; 300 are needed")
    site = Site(words)
    options = Options(extractor="text")
    if arguments.scan:
        outcome = scan(words, options, arguments.pages, arguments.workers)
    else:
        outcome = check_stream(words, options, arguments.pages, arguments.workers, arguments.minutes)
    bands, compared, false = flagged_pairs(site, outcome, arguments.exact)
    result = {
        "texts": [path.name for path in arguments.texts],
        "sentences": len(words.sentences),
        "pages": len(outcome.kinds),
        "stream": [stretch.row() for stretch in outcome.stretches if stretch.candidates],
        "templates": {name: stretch.row() for name, stretch in outcome.templates.items() if stretch.candidates},
        "unrelated_similarity": unrelated_similarity(site, len(outcome.kinds)),
        "verdicts": dict(Counter(map(str, outcome.kinds))),
        "checks_at_the_limit": outcome.full,
        "recall": recall_of_planted(site, outcome, arguments.exact),
        "flagged": dict(sorted(bands.items())),
        "flagged_near": len(outcome.flagged),
        "flagged_compared": compared,
        "false": false,
    }
    if arguments.json:
        print(json.dumps(result))
    else:
        show(result)


def show(result: dict[str, Any]) -> None:
    console = Console(markup=False)
    console.print(
        f"{result['pages']:,} pages, {result['sentences']:,} sentences of {', '.join(result['texts'])}; memory store"
    )
    parts = {f"stream, part {number + 1}": row for number, row in enumerate(result["stream"])} | result["templates"]
    table = make_table(
        "Work of a check", *("", "checks", "candidates, mean", "p99", "max", "us, median", "p99", "unrelated pages")
    )
    for name, row in parts.items():
        unrelated = result["unrelated_similarity"].get(name)
        table.add_row(
            name,
            f"{row['checks']:,}",
            f"{row['candidates_mean']:.1f}",
            f"{row['candidates_p99']:.0f}",
            f"{row['candidates_max']}",
            f"{row['us_median']:.0f}",
            f"{row['us_p99']:.0f}",
            "" if unrelated is None else f"J {unrelated:.2f}",
            end_section=name.endswith(str(STRETCHES)),
        )
    console.print(table)
    table = make_table(
        "Pages by exact similarity",
        *("similarity", "planted", "found", "recall", "flagged as near, with the named original"),
    )
    for band in sorted({*result["recall"], *result["flagged"]}):
        found, planted = result["recall"].get(band, (0, 0))
        table.add_row(
            band,
            f"{planted:,}",
            f"{found:,}",
            f"{found / planted:.4f}" if planted else "",
            f"{result['flagged'].get(band, 0):,}",
        )
    console.print(table)
    console.print(
        f"{result['false']} false drops (similarity below {FALSE_BELOW}) among {result['flagged_compared']:,} "
        f"of {result['flagged_near']:,} near duplicates; {result['checks_at_the_limit']:,} checks compared as many "
        f"pages as one may; verdicts: {result['verdicts']}"
    )


if __name__ == "__main__":
    run(main, "--texts TEXTS --pages 300 --exact 50")
