"""Leave the copies out of an archive of texts, with the batch engine of crawldedup, text-dedup and
datatrove side by side.

    python benchmarks/archive.py --install     # installs the other tools (1.5 GB) into separate environments
    python benchmarks/archive.py
    python benchmarks/archive.py --pages 100000 --template-share .5 --methods crawldedup,datatrove-.7

The texts are generated, with 100 to 800 words by Zipf's law. 10% of the pages are exact copies and
20% are near copies. The similarity of each near copy is known exactly, and they are spread evenly
between .5 and 1. A fifth of the families share one template. Every method is a separate program that
reads the same JSON lines and may use two processors.

    seconds     from the start of the program to its end; in brackets, those of its stages if it reports them
    peak GB     resident memory of all its processes, with shared memory counted once; in brackets, without mapped files
    recall      share of the copies that were found, by their exact similarity (Jaccard, word 3-shingles)
    false       pages left out although no page with a similarity of .85 is kept; a method for .7 leaves those out on
                purpose. In brackets, those in the template
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rich.console import Console

from benchmarks.archive_parts.methods import METHODS, PEERS, Outcome, Task, install, python_of
from benchmarks.archive_parts.texts import Archive
from benchmarks.archive_parts.truth import EDGES, Judgment, judge, similarities
from benchmarks.shared.common import count, make_parser, make_table, one_of, progress, run

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH = 200
"""Eleven columns cannot be read in fewer characters."""


def cells(outcome: Outcome, judgment: Judgment | None) -> list[str]:
    stages = ", ".join(
        f"{name.lower()} {seconds:.0f}" for name, seconds in outcome.stages.items() if seconds >= 1
    )
    shown = [
        f"{outcome.seconds:,.0f}" + (f" ({stages})" if stages else ""),
        f"{outcome.peak:.1f} ({outcome.peak_private:.1f})",
    ]
    if judgment is None:
        return shown
    recall = ["" if share is None else f"{share:.1%}" for share in judgment.recall]
    false = f"{judgment.false_share:.2%} ({judgment.false_in_template:,})"
    return [*shown, *recall, f"{judgment.left_out:,}", false]


def main(given: Sequence[str]) -> None:
    parser = make_parser(__doc__)
    parser.add_argument(
        "--install", action="store_true", help="install the peers, and do nothing else"
    )
    parser.add_argument("--pages", type=count, default=1_000_000)
    parser.add_argument("--template-share", type=float, default=Archive.template_share)
    parser.add_argument("--seed", type=count, default=Archive.seed)
    parser.add_argument(
        "--methods", type=one_of(*METHODS), default=list(METHODS), help=f"of {', '.join(METHODS)}"
    )
    parser.add_argument(
        "--memory-limit", type=float, default=16.0, help="GB a method may take (16)"
    )
    parser.add_argument(
        "--time-limit", type=float, default=120.0, help="minutes a method may take (120)"
    )
    parser.add_argument(
        "--folder", type=Path, help="where texts and results lie for a while: 12 kB a page"
    )
    parser.add_argument(
        "--json", action="store_true", help="print each row as JSON when it is there"
    )
    arguments = parser.parse_args(given)
    if arguments.install:
        for peer in PEERS:
            install(peer)
        return

    archive = Archive(arguments.pages, template_share=arguments.template_share, seed=arguments.seed)
    console = Console(markup=False, width=WIDTH, stderr=arguments.json)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        texts = Path(folder) / "texts.jsonl"
        with progress("texts", archive.pages) as advance:
            archive.write(texts, advance)
        with progress("exact similarities", archive.pages) as advance:
            truth = similarities(archive, advance)
        bands = [f"{low:g} to {high:g}" for low, high in pairwise(EDGES)]
        bands[0], bands[-1] = f"below {EDGES[1]:g}", "1"
        title = (
            f"{archive.pages:,} texts, {texts.stat().st_size / 1e6:,.0f} MB, {archive.families:,} "
            "originals"
        )
        table = make_table(title, "method", "seconds", "peak GB", *bands, "left out", "false")
        for method in map(METHODS.__getitem__, arguments.methods):
            if method.peer and not python_of(method.peer).exists():
                table.add_row(method.name, "not installed")
                continue
            with tempfile.TemporaryDirectory(dir=folder) as own:
                task = Task(
                    texts, archive.pages, Path(own), arguments.memory_limit, arguments.time_limit
                )
                outcome = method.run(task)
            judgment = None if outcome.kept is None else judge(archive, truth, outcome.kept)
            table.add_row(method.name, *cells(outcome, judgment))
            if outcome.failure:
                console.print(f"{method.name}: {outcome.failure}")
            if arguments.json:
                row = {**asdict(outcome), "kept": None, "method": method.name}
                print(json.dumps(row | (asdict(judgment) if judgment else {})), flush=True)
    console.print(table)


if __name__ == "__main__":
    run(main, "--pages 400 --methods crawldedup,text-dedup-.7,datatrove-.7")
