"""Compare what a scan drops with what a crawl drops, by the exact similarity with the best kept page.

    python benchmarks/scan_quality.py pages.jsonl folder/ ...

A corpus is what `crawldedup bench` takes. All methods see the pages in their order. A crawl asks a memory store that
begins empty; a scan has all pages at hand, and decides by their exact similarities, or by estimates. Each page is
counted by its exact Jaccard similarity with the best page that the same method has kept.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.shared.common import make_parser, make_table, run
from crawldedup import Deduplicator, Options
from crawldedup.fingerprinting.fingerprint import MIN_WORDS
from crawldedup.literature.exact import KeptPages, compare_all
from crawldedup.measure import bands_of, read_corpus
from crawldedup.page import Page, PageReader
from crawldedup.reading.keys import NO_KEY
from crawldedup.scan.columns import Columns, Lists, shingle_set
from crawldedup.scan.engine import Goal, find_duplicates
from crawldedup.search.query import salted

if TYPE_CHECKING:
    from crawldedup import Fingerprint
    from crawldedup.measure import Band


@dataclass
class Row:
    corpus: str
    method: str
    seconds: float
    """From fingerprints to verdicts."""
    bands: list[Band]


def crawled(pages: Sequence[Fingerprint], _texts: Sequence[str], options: Options) -> NDArray[np.bool_]:
    with Deduplicator(key=0, similarity=options.similarity, recall=options.recall) as dedup:
        verdicts = [dedup.check("", fingerprint=page, identity=str(number)) for number, page in enumerate(pages)]
    return np.array([verdict.is_duplicate for verdict in verdicts])


def scanned(
    pages: Sequence[Fingerprint], texts: Sequence[str], options: Options, *, exact: bool = True
) -> NDArray[np.bool_]:
    goal = Goal(options.similarity, options.recall)
    columns = Columns.of([(salted(page, "", NO_KEY), 0) for page in pages], goal.threshold)
    if exact:
        sets = list(map(shingle_set, texts))
        shingles = Lists(np.concatenate(sets), np.array(list(map(len, sets)), np.uint32))
        columns = replace(columns, shingles=shingles)
    return ~find_duplicates(columns, goal).kept


Method = Callable[[Sequence["Fingerprint"], Sequence[str], Options], NDArray[np.bool_]]
METHODS: dict[str, Method] = {"crawl": crawled, "scan": scanned, "scan --no-exact": partial(scanned, exact=False)}


def measure(name: str, options: Options) -> list[Row]:
    corpus = read_corpus(name)
    reader = PageReader(options)
    truth = compare_all([document.text for document in corpus.documents])
    facts = [document.facts or "" for document in corpus.documents]
    has_text = [number for number, document in enumerate(corpus.documents) if document.text.strip()]
    pages = [
        reader.fingerprints([replace(reader.content(Page("", text=document.text)), facts=document.facts)])[0]
        for document in (corpus.documents[number] for number in has_text)
    ]
    rows = []
    for method, decide in METHODS.items():
        started = time.perf_counter()
        decided = decide(pages, [corpus.documents[number].text for number in has_text], options)
        seconds = time.perf_counter() - started
        flagged = np.zeros(len(truth.groups), np.bool_)
        flagged[has_text] = decided
        index, best = KeptPages(truth, facts), []
        for page, is_flagged in enumerate(flagged.tolist()):
            best.append(index.best(page)[0])
            if not is_flagged:
                index.add(page)
        found = zip(best, flagged.tolist(), truth.words, strict=True)
        bands = bands_of([(similarity, is_flagged) for similarity, is_flagged, words in found if words >= MIN_WORDS])
        rows.append(Row(Path(name).name, method, seconds, list(bands)))
    return rows


def shown(band: Band) -> str:
    return f"{100 * band.flagged / band.pages:.1f} of {band.pages:,}" if band.pages else ""


def main(given: Sequence[str]) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("corpus", nargs="+", help="file of JSON lines, folder, or web archive")
    parser.add_argument("--similarity", type=float, default=0.9)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    arguments = parser.parse_args(given)
    options = Options(similarity=arguments.similarity)
    rows = [row for name in arguments.corpus for row in measure(name, options)]
    if arguments.json:
        print(json.dumps([asdict(row) for row in rows]))
        return
    table = make_table("percent dropped, by the best kept page", "corpus", "J", *METHODS)
    for name in dict.fromkeys(row.corpus for row in rows):
        found = [row for row in rows if row.corpus == name]
        for bands in zip(*(row.bands for row in found), strict=True):
            if any(band.pages for band in bands):
                table.add_row(name, bands[0].name, *map(shown, bands))
        table.add_row(name, "seconds", *(f"{row.seconds:.1f}" for row in found), end_section=True)
    Console(markup=False).print(table)


if __name__ == "__main__":
    run(main, "TEXTS")
