"""`crawldedup bench quality`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from crawldedup.commands.command import Command
from crawldedup.errors import ConfigurationError

if TYPE_CHECKING:
    from argparse import Namespace

    from crawldedup.commands.output import Output

BENCH_QUALITY: Final = Command(
    "measure which pages a method finds, against the exact similarity of all pairs",
    {
        "source": {
            "metavar": "SOURCE",
            "help": "folder, feed (.jl, .json, .csv) or .warc file (these two may end in .gz)",
        },
        "--method": {
            "action": "append",
            "metavar": "METHOD",
            "help": "two-stage, simhash, psm, minhash or brute-force, with options as in "
            "'simhash?distance=3&blocks=5'; repeat it to compare several (default: two-stage)",
        },
        "--weighting": {
            "default": "damped-tf",
            "help": "how words count: none, tf, log-tf, damped-tf, tf-idf, tf-idf:FILE or yu (default: damped-tf)",
        },
        "--limit": {"type": int, "metavar": "N", "help": "take the first N pages only"},
        "--pairs": {
            "type": Path,
            "metavar": "FILE",
            "help": 'the exact pairs, as lines of {"a": URL, "b": URL, "j3": 0.5 to 1}',
        },
        "--plot": {"type": Path, "metavar": "FILE", "help": "draw the shares, as .svg or .png"},
        "--detail": {"action": "store_true", "help": "show counts by band, and what was missed"},
    },
    ("similarity", "recall", "extractor", "expected_pages"),
    # A small corpus would make every method look thorough.
    {"expected_pages": 10_000_000},
    "Shows pages to a method in their order, and compares what it flags with the exact Jaccard similarity of all "
    "pairs of pages.",
    module=__name__,
)


def run(options: Namespace, output: Output) -> None:
    """Compare methods with the exact similarities of a corpus."""
    # Here, so that `--help` does not wait for numpy.
    from crawldedup.evaluation.detectors import MethodDetector
    from crawldedup.evaluation.methods.spec import DEFAULT_METHOD
    from crawldedup.evaluation.plot import check_plot_path
    from crawldedup.evaluation.quality import measure_quality

    if options.limit is not None and options.limit < 1:
        raise ConfigurationError(f"--limit is {options.limit}; it must be at least 1")
    if options.plot is not None:
        check_plot_path(options.plot)
    # Before the corpus is read, so that a misspelt method is reported at once.
    detectors = [
        MethodDetector(
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
        detectors,
        output.err,
        similarity=options.similarity,
        extractor=options.extractor,
        limit=options.limit,
        pairs=options.pairs,
        on_error=output.unreadable,
    )
    measured.show(output.out, as_json=output.as_json, detail=options.detail, plot=options.plot)
