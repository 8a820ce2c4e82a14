"""`crawldedup bench`: measures methods on a collection of your own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawldedup.errors import ConfigurationError
from crawldedup.evaluation.detectors import MethodDetector
from crawldedup.evaluation.methods.spec import DEFAULT_METHOD
from crawldedup.evaluation.plot import check_plot_path
from crawldedup.evaluation.quality import measure_quality

if TYPE_CHECKING:
    from argparse import Namespace

    from crawldedup.commands.output import Output


def run(options: Namespace, output: Output) -> None:
    """Compare methods with the exact similarities of a corpus."""
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
    )
    measured.show(output.out, as_json=output.as_json, detail=options.detail, plot=options.plot)
