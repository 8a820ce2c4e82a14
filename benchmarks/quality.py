"""Measure which near duplicates are found, compared with other packages, and what reading keeps of
pages and costs.

    pip install "crawldedup[bench]"
    python benchmarks/quality.py methods pages.jsonl --only datasketch --only crawldedup
    python benchmarks/quality.py cost article-extraction-benchmark/html
    python benchmarks/quality.py templates article-extraction-benchmark
    python benchmarks/quality.py kinds --articles article-extraction-benchmark

methods
    Every method gets the pages of a corpus in order, and remembers the pages that it doesn't flag.
    Its answers are compared with the exact Jaccard similarity, by word 3-shingles, to the pages that
    it has kept. A corpus is a file of JSON lines, {"url": .., "text": ..} or {"url": .., "html":
    ..}, a folder of HTML, or a web archive. `shared/peers.py` shows how each package is used. To
    make a corpus like ours, take packages of HTML documentation in several variants: `apt-get
    download` and `dpkg -x` install nothing.
cost
    For crawldedup, the time covers all the work: decoding, checking limits, parsing, finding the
    text, and making the fingerprint. For other packages, it's the call that returns a text, on
    decoded pages, and for parsers, just the tree. It's the minimum of all rounds for each page,
    because a busy machine only adds to it, and the mean over all pages.
templates
    Articles whose main text people have marked are put into the pages of others: either moved with
    all their elements, or retyped, which means that the marked text is put into paragraphs. The
    place of an article in a page is the smallest element that contains its marked text. A page is
    used if the place contains 95% of the marked text, and the marked text is 85% of the place. The
    same body should be found, and another body in the same template should not. Halves are never
    mixed: the rules of an earlier extractor were chosen on the first, so believe the second.
kinds
    Recall is the share of what has to be kept that is in the text of a page: for an article its
    text, for other pages everything visible without navigation, header, footer and sidebars. "Below
    half" are pages of which less than half is kept, and "alike" are pages that resemble a different
    page of the site (J of .86 or more). The pages come from `whole_site.py`, from the demo, and from
    folders.

The articles: git clone --depth 1 https://github.com/zytedata/article-extraction-benchmark
"""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.quality_parts.reading import cost, kinds, templates
from benchmarks.shared.common import make_parser, one_of, progress, run
from benchmarks.shared.peers import DETECTORS, load
from crawldedup import Options
from crawldedup.errors import CrawlDedupError
from crawldedup.literature.bench import compare_all
from crawldedup.measure import (
    Check,
    as_json,
    methods,
    print_trials,
    read_corpus,
    run_trial,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def compare_methods(given: argparse.Namespace, console: Console) -> None:
    """Which near duplicates are found, by our methods and by other packages."""
    options = Options(
        store="memory://",
        key=0,
        similarity=given.similarity,
        recall=given.recall,
        expected_pages=10_000_000,
    )
    corpus = read_corpus(given.corpus, options, limit=given.limit)
    truth = compare_all([document.text for document in corpus.documents])
    checks, absent = {**methods(options)}, list[str]()
    for (package, settings), make in DETECTORS.items():
        peer = load(package)
        if peer is None:
            absent.append(f"{package} is not installed: {settings} is left out")
        else:
            checks[f"{package} {peer.version} {settings}"] = partial(check_of, make, peer.module)
    trials = []
    for name, make_check in checks.items():
        if not given.only or any(
            word == name if word in checks else word in name for word in given.only
        ):
            with progress(name, len(corpus.documents)) as advance:
                trials.append(
                    run_trial(
                        name, make_check(), corpus, truth, options.similarity, lambda *_: advance(1)
                    )
                )
    if given.json:
        print(json.dumps({**as_json(corpus, truth, trials), "absent": absent}))
    else:
        print_trials(corpus, trials, console, absent)


def check_of(make: Callable[[object], Callable[[str, str], str | None]], module: object) -> Check:
    detector = make(module)
    return lambda document: detector(document.url, document.text)


def parse(words: Sequence[str]) -> argparse.Namespace:
    parser = make_parser(__doc__)
    commands = parser.add_subparsers(required=True)

    def add(
        name: str, command: Callable[[argparse.Namespace, Console], None]
    ) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=command.__doc__)
        added.set_defaults(command=command)
        return added

    added = add("methods", compare_methods)
    added.add_argument("corpus", help="file of JSON lines, folder, or web archive")
    added.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        help="methods with this in their names; repeatable",
    )
    added.add_argument(
        "--similarity", type=float, default=0.9, help="of our methods, and for recall (0.9)"
    )
    added.add_argument("--recall", type=float, default=0.98, help="of the default method (0.98)")
    added.add_argument("--limit", type=int, metavar="N", help="use only the first N pages")
    added.add_argument("--json", action="store_true", help="print JSON instead of a table")
    added = add("cost", cost)
    added.add_argument(
        "folders", nargs="+", type=Path, metavar="HTML_DIR", help="of .html or .html.gz"
    )
    added.add_argument("--rounds", type=int, default=3)
    add("templates", templates).add_argument("dataset", type=Path, metavar="DATASET_DIR")
    added = add("kinds", kinds)
    added.add_argument(
        "folders", nargs="*", type=Path, metavar="SITE_DIR", help="HTML files of one site"
    )
    added.add_argument(
        "--articles", type=Path, help="the folder of the article extraction benchmark"
    )
    added.add_argument(
        "--scale", type=float, default=1.0, help="0.1 makes a tenth of the pages of a site (1)"
    )
    shown = ("blocks", "trafilatura")
    added.add_argument("--extractors", type=one_of(*shown), default=shown)
    return parser.parse_args(words)


def main(words: Sequence[str]) -> int:
    given = parse(words)
    try:
        given.command(given, Console(width=150, markup=False, highlight=False))
    except (CrawlDedupError, OSError) as error:
        Console(stderr=True, highlight=False).print(Text(str(error)))
        return 2
    return 0


if __name__ == "__main__":
    run(
        main,
        "methods TEXTS --limit 40",
        "cost HTML --rounds 1",
        "templates ARTICLES",
        "kinds HTML --articles ARTICLES --scale 0.02 --extractors blocks",
    )
