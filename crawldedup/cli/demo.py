"""Run `crawldedup demo`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawldedup.cli.options import PROFILE_OPTIONS
from crawldedup.demo.run import DemoOptions, run_demo
from crawldedup.demo.show import print_result, progress_bars

if TYPE_CHECKING:
    from argparse import Namespace

    from crawldedup.commands.output import Output


def run(options: Namespace, output: Output) -> None:
    """Serve a site, crawl it with the add-on, and compare what was dropped with the truth."""
    chosen = DemoOptions(
        directory=options.dir,
        store=options.store,
        namespace=options.namespace,
        similarity=options.similarity,
        extractor=options.extractor,
        exact=not options.no_exact,
        verbose=options.verbose,
        settings={f"CRAWLDEDUP_{name.upper()}": getattr(options, name) for name in PROFILE_OPTIONS},
    )
    # Bars go to stderr, so that the result can be piped.
    with progress_bars(output.err) as listener:
        result = run_demo(chosen, listener)
    if output.as_json:
        output.show(result.as_dict())
    else:
        print_result(result, output.out)
