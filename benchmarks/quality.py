"""Measure which near duplicates are found, by our methods and by other packages, on one corpus and in one table.

    pip install "crawldedup[bench]" && python benchmarks/peers.py
    python benchmarks/quality.py pages.jsonl [...]
    python benchmarks/quality.py pages.jsonl --only datasketch --only crawldedup --plot quality.svg

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

import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.shared.common import make_parser, progress, run
from benchmarks.shared.peer_detectors import Candidate, peer_candidates
from crawldedup import Options
from crawldedup.errors import CrawlDedupError
from crawldedup.literature.exact import compare_all
from crawldedup.measure import (
    Check,
    as_json,
    check_plot,
    methods,
    plot_trials,
    print_trials,
    read_corpus,
    run_trial,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence


def all_methods(options: Options) -> Iterator[tuple[str, Callable[[], Check] | None, str]]:
    """Names of methods, what makes each when its turn comes, and the reason why some cannot be made."""
    for name, make in methods(options).items():
        yield name, make, ""
    for candidate in peer_candidates():
        yield candidate.name, candidate.make and partial(peer, candidate), candidate.missing


def peer(candidate: Candidate) -> Check:
    assert candidate.make is not None
    detector = candidate.make()
    return lambda document: detector.check(document.url, document.text)


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
    parser.add_argument("--recall", type=float, default=0.98, help="of the default method (0.98)")
    parser.add_argument("--limit", type=int, metavar="N", help="take the first N pages of each corpus only")
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help=".svg or .png; of several corpora, FILE-1, FILE-2, .."
    )
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each corpus")
    options = parser.parse_args(given)
    err = Console(stderr=True, highlight=False)
    try:
        if options.plot is not None:
            check_plot(options.plot)
        for number, corpus in enumerate(options.corpus, 1):
            plot = options.plot
            if plot is not None and len(options.corpus) > 1:
                plot = plot.with_stem(f"{plot.stem}-{number}")
            measure(corpus, plot, options)
    except CrawlDedupError as error:
        err.print(Text(str(error)))
        return 2
    return 0


def measure(name: str, plot: Path | None, given: argparse.Namespace) -> None:
    options = Options(
        store="memory://", key=0, similarity=given.similarity, recall=given.recall, expected_pages=10_000_000
    )
    corpus = read_corpus(name, options, limit=given.limit)
    texts = [document.text for document in corpus.documents]
    truth = compare_all(texts)
    every = list(all_methods(options))
    names = {name for name, _, _ in every}
    trials, absent = [], []
    for method, make, missing in every:
        if given.only and not any(word == method if word in names else word in method for word in given.only):
            continue
        if make is None:
            absent.append(missing)
            continue
        with progress(method, len(texts)) as advance:
            trials.append(run_trial(method, make(), corpus, truth, options.similarity, lambda *_: advance(1)))
    if plot is not None and trials:
        plot_trials(trials, plot, title=f"{corpus.name}: {len(texts):,} pages")
    if given.json:
        print(json.dumps({**as_json(corpus, truth, trials), "absent": absent}))
    else:
        print_trials(corpus, trials, Console(highlight=False), absent)


if __name__ == "__main__":
    run(main, "TEXTS --limit 40 --plot PLOT")
