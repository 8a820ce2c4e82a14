"""Leave the copies out of an archive of texts: the batch engine of crawldedup, text-dedup and datatrove side by side.

    python benchmarks/archive.py --install                      # the peers, 1.5 GB, into environments of their own
    python benchmarks/archive.py
    python benchmarks/archive.py --pages 100000 --template-share .5 --methods crawldedup,datatrove-.7

The texts are made up, 100 to 800 words by Zipf's law. Of the pages 10 % are exact copies and 20 % are near copies,
whose similarities are known exactly and lie evenly between .5 and 1. A fifth of the families stand in one template.
Every method reads the same lines of JSON, as a program of its own that may use two processors.

    seconds     from the start of the program to its end; in brackets those of its stages, where it tells them
    peak GB     resident memory of all its processes, what they share counted once; in brackets without mapped files
    recall      share of the copies that were found, by their exact similarity (Jaccard, word 3-shingles)
    false       pages left out though no page with a similarity of .85 is kept; a method for .7 leaves those out by
                intention. In brackets those in the template
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rich.console import Console

from benchmarks.archive_parts.methods import METHODS, PEERS, Method, Outcome, Task, install, python_of
from benchmarks.archive_parts.texts import Archive
from benchmarks.archive_parts.truth import EDGES, judge, similarities
from benchmarks.shared.common import count, make_parser, make_table, one_of, progress, run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from rich.table import Table

    from benchmarks.archive_parts.truth import Judgement

WIDTH = 200
"""Eleven columns cannot be read in fewer characters."""

GIB = 1 << 10


def measure(method: Method, archive: Archive, texts: Path, bounds: dict[str, float]) -> Outcome:
    with tempfile.TemporaryDirectory(dir=texts.parent) as folder:
        return method.measure(Task(texts, archive.pages, Path(folder), **bounds))


def rows(
    chosen: Sequence[str], archive: Archive, texts: Path, truth: NDArray[Any], bounds: dict[str, float]
) -> Iterator[tuple[Method, Outcome | None, Judgement | None]]:
    """Run every method that is there, one after the other, and judge it."""
    for key in chosen:
        method = METHODS[key]
        if method.peer and not python_of(method.peer).exists():
            yield method, None, None
            continue
        outcome = measure(method, archive, texts, bounds)
        yield method, outcome, None if outcome.kept is None else judge(archive, truth, outcome.kept)


def make_archive(archive: Archive, texts: Path) -> NDArray[Any]:
    """Write the texts and return their similarities."""
    with progress("texts", archive.pages) as bar:
        archive.write(texts, bar)
    with progress("exact similarities", archive.pages) as bar:
        return similarities(archive, bar)


def results_table(title: str) -> Table:
    bands = [f"{low:g} to {high:g}" for low, high in pairwise(EDGES)]
    bands[0], bands[-1] = f"below {EDGES[1]:g}", "1"
    return make_table(title, "method", "seconds", "peak GB", *bands, "left out", "false")


def cells(outcome: Outcome, judgement: Judgement | None) -> list[str]:
    done = outcome.run
    stages = ", ".join(f"{name.lower()} {seconds:.0f}" for name, seconds in outcome.stages.items() if seconds >= 1)
    shown = [
        f"{done.seconds:,.0f}" + (f" ({stages})" if stages else ""),
        f"{done.peak / GIB:.1f} ({done.peak_private / GIB:.1f})",
    ]
    if judgement is None:
        return shown
    recall = ["" if share is None else f"{share:.1%}" for share in judgement.recall]
    false = f"{judgement.false_share:.2%} ({judgement.false_in_template:,})"
    return [*shown, *recall, f"{judgement.left_out:,}", false]


def as_json(method: Method, outcome: Outcome | None, judgement: Judgement | None) -> str:
    row: dict[str, Any] = {"method": method.name}
    if outcome:
        done = outcome.run
        row |= {"seconds": done.seconds, "peak_mib": done.peak, "peak_private_mib": done.peak_private}
        row |= {"stages": outcome.stages, "failure": done.failure}
    if judgement:
        row |= asdict(judgement)
    return json.dumps(row)


def main(given: Sequence[str]) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--install", action="store_true", help="install the peers, and do nothing else")
    parser.add_argument("--pages", type=count, default=1_000_000)
    parser.add_argument("--template-share", type=float, default=Archive.template_share)
    parser.add_argument("--seed", type=count, default=Archive.seed)
    parser.add_argument("--methods", type=one_of(*METHODS), default=list(METHODS), help=f"of {', '.join(METHODS)}")
    parser.add_argument("--memory-limit", type=float, default=16.0, help="GB a method may take (16)")
    parser.add_argument("--time-limit", type=float, default=120.0, help="minutes a method may take (120)")
    parser.add_argument("--folder", type=Path, help="where texts and results lie for a while: 12 kB a page")
    parser.add_argument("--json", action="store_true", help="print each row as JSON when it is there")
    arguments = parser.parse_args(given)
    if arguments.install:
        for peer in PEERS:
            install(peer)
        return

    archive = Archive(arguments.pages, template_share=arguments.template_share, seed=arguments.seed)
    bounds = {"memory_limit": arguments.memory_limit * GIB, "time_limit": arguments.time_limit * 60}
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        texts = Path(folder) / "texts.jsonl"
        started = time.perf_counter()
        truth = make_archive(archive, texts)
        made = time.perf_counter() - started
        table = results_table(
            f"{archive.pages:,} texts, {texts.stat().st_size / 1e6:,.0f} MB, {archive.families:,} originals; "
            f"made and compared in {made:,.0f} s"
        )
        notes = []
        for method, outcome, judgement in rows(arguments.methods, archive, texts, truth, bounds):
            if arguments.json:
                print(as_json(method, outcome, judgement), flush=True)
            table.add_row(method.name, *(cells(outcome, judgement) if outcome else ["not installed"]))
            if outcome and outcome.run.failure:
                notes.append(f"{method.name}: {outcome.run.failure}")
    if not arguments.json:
        console = Console(markup=False, width=WIDTH)
        console.print(table)
        for note in notes:
            console.print(note)


if __name__ == "__main__":
    run(main, "--pages 400 --methods crawldedup,text-dedup-.7,datatrove-.7")
