"""Work on collections of your own: `crawldedup bench` measures on them, `crawldedup frequencies` learns from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.progress import track
from rich.text import Text

from crawldedup.errors import ConfigurationError
from crawldedup.evaluation.corpus import read_corpus
from crawldedup.evaluation.judges import DeduplicatorJudge
from crawldedup.evaluation.methods.spec import DEFAULT_METHOD
from crawldedup.evaluation.plot import check_plot_path
from crawldedup.evaluation.quality import measure_quality
from crawldedup.fingerprinting.features import feature_hashes
from crawldedup.fingerprinting.weighting import DocumentFrequencies
from crawldedup.printable import counted, printable

if TYPE_CHECKING:
    from argparse import Namespace

    from rich.console import Console


def quality(options: Namespace, out: Console, err: Console) -> int:
    """Hold methods against the exact similarities of a corpus."""
    if options.limit is not None and options.limit < 1:
        raise ConfigurationError(f"--limit is {options.limit}; it must be at least 1")
    if options.plot is not None:
        check_plot_path(options.plot)
    # Made before the corpus is read: a misspelt method is said at once.
    judges = [
        DeduplicatorJudge(
            method,
            options.weighting,
            similarity=options.similarity,
            recall=options.recall,
            expected_pages=options.expected_pages,
        )
        for method in dict.fromkeys(options.method or [DEFAULT_METHOD])
    ]
    measured = measure_quality(
        options.source,
        judges,
        err,
        similarity=options.similarity,
        extractor=options.extractor,
        limit=options.limit,
        pairs=options.pairs,
    )
    measured.show(out, as_json=options.json, detail=options.detail, plot=options.plot)
    return 0


def frequencies(options: Namespace, out: Console, err: Console) -> int:
    """Learn document frequencies from a collection, and save them."""
    if options.output.suffix != ".npz":
        raise ConfigurationError(f"--output is {str(options.output)!r}; it must end in .npz")
    learned = DocumentFrequencies()
    for name in options.sources:
        corpus = read_corpus(name, extractor=options.extractor)
        for document in track(corpus.documents, "counting", console=err, transient=True):
            learned.learn(feature_hashes(document.text))
    learned.save(options.output)
    if options.json:
        out.print_json(data={"pages": learned.pages, "file": str(options.output)})
    else:
        shown = printable(str(options.output))
        out.print(Text(f"{counted(learned.pages, 'page')} counted; use them with --weighting tf-idf:{shown}"))
    return 0
