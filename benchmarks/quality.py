"""Measure which near duplicates are found, by our methods and by other packages, on one corpus and in one table.

    pip install "crawldedup[bench]" && python benchmarks/peers.py
    python benchmarks/quality.py pages.jsonl [...]
    python benchmarks/quality.py pages.jsonl --only datasketch --only two-stage --plot quality.svg

A corpus is a file of JSON lines, {"url": .., "text": ..} or {"url": .., "html": ..} (.gz too), a folder of HTML and
text files, or a web archive (.warc, .warc.gz). Any crawl will do that has near duplicates in it. To make one like those
of the documented figures, take packages of HTML documentation which exist in several variants or languages: of Debian,
say, the installation guides of every architecture (installation-guide-*), the GIMP manuals (gimp-help-*), or the
handbook, reference and FAQ. Download them with `apt-get download`, unpack them with `dpkg -x` (neither installs
anything), put the HTML below one folder, and give that folder.

Every method sees the pages in their order and remembers those that it does not flag. The truth is the exact Jaccard
similarity of the sets of word 3-shingles with the pages it has kept. benchmarks/shared/peer_detectors.py shows how each
package is used; one that is not installed is named at the end, with the command that installs it.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.shared.common import make_parser, run
from benchmarks.shared.peer_detectors import Candidate, peer_candidates
from crawldedup.errors import CrawlDedupError, MissingDependencyError
from crawldedup.evaluation import MethodDetector
from crawldedup.evaluation.methods.weighting import DEFAULT_WEIGHTING
from crawldedup.evaluation.plot import check_plot_path
from crawldedup.evaluation.quality import measure_quality

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from crawldedup.evaluation import Detector

# Method and weighting.
OURS = (
    *[
        (method, DEFAULT_WEIGHTING)
        for method in (
            "two-stage",
            "brute-force",
            "minhash",
            "psm?distance=3",
            "simhash?distance=3&blocks=5",
            "simhash?distance=6&blocks=9",
        )
    ],
    ("simhash?distance=3&blocks=5&features=words", "tf"),
    *[("two-stage", weighting) for weighting in ("none", "log-tf", "tf", "tf-idf", "yu")],
)


def our_candidates(similarity: float, recall: float) -> Iterator[Candidate]:
    for method, weighting in OURS:
        make = partial(MethodDetector, method, weighting, similarity=similarity, recall=recall)
        try:
            name = make().name
        except MissingDependencyError as error:
            yield Candidate(f"{method}, {weighting}", None, f"{method}, {weighting}: {error}")
        else:
            yield Candidate(name, make)


def main(given: Sequence[str]) -> int:
    parser = make_parser(__doc__)
    parser.add_argument("corpus", nargs="+", help="file of JSON lines, folder, or web archive")
    parser.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        help="only the method of this name, or those with this in their names; repeatable",
    )
    parser.add_argument("--similarity", type=float, default=0.9, help="of our methods, and for recall (0.9)")
    parser.add_argument("--recall", type=float, default=0.98, help="of our methods (0.98)")
    parser.add_argument("--limit", type=int, metavar="N", help="take the first N pages of each corpus only")
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help=".svg or .png; of several corpora, FILE-1, FILE-2, .."
    )
    parser.add_argument("--detail", action="store_true", help="show counts by band, and what was missed")
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each corpus")
    options = parser.parse_args(given)
    out, err = Console(highlight=False), Console(stderr=True, highlight=False)
    try:
        if options.plot is not None:
            check_plot_path(options.plot)
        measure(options, out, err)
    except CrawlDedupError as error:
        err.print(Text(str(error)))
        return 2
    return 0


def measure(options: argparse.Namespace, out: Console, err: Console) -> None:
    candidates = [*our_candidates(options.similarity, options.recall), *peer_candidates()]
    names = {candidate.name for candidate in candidates}
    chosen = [
        candidate
        for candidate in candidates
        if options.only is None
        or any(name == candidate.name if name in names else name in candidate.name for name in options.only)
    ]
    for number, corpus in enumerate(options.corpus, 1):
        # Made one after the other: the index of one is gone when the next begins.
        detectors: Iterator[Detector] = (candidate.make() for candidate in chosen if candidate.make is not None)
        absent = [candidate.missing for candidate in chosen if candidate.make is None]
        measured = measure_quality(
            corpus, detectors, err, similarity=options.similarity, limit=options.limit, absent=absent
        )
        plot = options.plot
        if plot is not None and len(options.corpus) > 1:
            plot = plot.with_stem(f"{plot.stem}-{number}")
        measured.show(out, as_json=options.json, detail=options.detail, plot=plot)


if __name__ == "__main__":
    run(main, "TEXTS --limit 40 --plot PLOT")
