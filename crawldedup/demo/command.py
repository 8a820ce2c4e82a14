"""`crawldedup demo`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from crawldedup.commands.command import INDEX_OPTIONS, PROFILE_OPTIONS, Command

if TYPE_CHECKING:
    from argparse import Namespace

    from crawldedup.commands.output import Output

DEMO: Final = Command(
    "crawl a local site full of near duplicates, or your own HTML files, and report",
    {
        "--dir": {"type": Path, "metavar": "FOLDER", "help": "crawl this folder of HTML files instead"},
        "--no-exact": {"action": "store_true", "help": "skip the exact similarities (with --dir)"},
        "--verbose": {"action": "store_true", "help": "show the log of the crawl"},
    },
    (*INDEX_OPTIONS, "similarity", *PROFILE_OPTIONS),
    # A new namespace for each run.
    {"store": "memory://", "namespace": None},
    module=__name__,
)


def run(options: Namespace, output: Output) -> None:
    """Serve a site, crawl it with the add-on, and compare what was dropped with the truth."""
    # Here, so that `--help` does not wait for Scrapy.
    from crawldedup.demo.run import DemoOptions, run_demo
    from crawldedup.demo.show import print_result, progress_bars

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
