"""Measure how long commands take from their start, on a page of 100 KB.

    python benchmarks/cold_start.py
    python benchmarks/cold_start.py --rounds 20

Each command is a process of its own, and they take turns. The page is made of English articles of the demo site. Beside
them are an empty program of Python, what any program pays that imports numpy, and trafilatura reading the same page.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rich.console import Console

from benchmarks.shared.common import count, make_parser, make_table, progress, run
from crawldedup.demo.site import all_articles

if TYPE_CHECKING:
    from collections.abc import Sequence

_PAGE_BYTES: Final = 100_000
_TRAFILATURA: Final = "import trafilatura; print(trafilatura.extract(open('a.html').read()))"
_CRAWLDEDUP: Final = ("-m", "crawldedup.cli")
COMMANDS: Final = {
    "python, nothing": ("-c", "pass"),
    "python, numpy": ("-c", "import numpy"),
    "crawldedup --help": (*_CRAWLDEDUP, "--help"),
    "crawldedup check": (*_CRAWLDEDUP, "check", "a.html"),
    "crawldedup compare": (*_CRAWLDEDUP, "compare", "a.html", "b.html"),
    "crawldedup explain": (*_CRAWLDEDUP, "explain", "a.html", "--store", "sqlite:///seen.sqlite"),
    "trafilatura": ("-c", _TRAFILATURA),
}


def page(heading: str) -> str:
    """Return a page of paragraphs."""
    sentences = [
        article.sentence(place) for article in all_articles() for place in range(3) if article.language == "en"
    ]
    paragraphs: list[str] = []
    # Each begins with a number, so that none is like another.
    while sum(map(len, paragraphs)) < _PAGE_BYTES:
        number = len(paragraphs)
        some = [sentences[(number * 7 + place * 3) % len(sentences)] for place in range(4)]
        paragraphs.append(f"<p>{number} {' '.join(some)}</p>")
    body = "\n".join(paragraphs)
    return (
        f"<html><head><title>{heading}</title></head><body><article><h1>{heading}</h1>\n{body}</article></body></html>"
    )


def measure(command: Sequence[str], folder: Path) -> tuple[float, float]:
    """Run a command; return its seconds, and those of the processor."""
    before, begun = os.times(), time.perf_counter()
    subprocess.run([sys.executable, *command], cwd=folder, check=True, capture_output=True)
    seconds, after = time.perf_counter() - begun, os.times()
    of_children = after.children_user - before.children_user + after.children_system - before.children_system
    return seconds, of_children


def main(given: Sequence[str]) -> None:
    """Measure and print."""
    parser = make_parser(__doc__)
    parser.add_argument("--rounds", type=count, default=10, help="how often each command runs")
    rounds: int = parser.parse_args(given).rounds
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as name, progress("running", rounds * len(COMMANDS)) as advance:
        folder = Path(name)
        for file, heading in (("a.html", "Tides"), ("b.html", "Tides and ebbs")):
            (folder / file).write_text(page(heading), "utf-8")
        # The index that `explain` looks into.
        measure((*COMMANDS["crawldedup check"], "--store", "sqlite:///seen.sqlite"), folder)
        for _ in range(rounds):
            for what, command in COMMANDS.items():
                taken[what].append(measure(command, folder))
                advance(1)
    table = make_table("seconds of a process", "command", "least", "median", "processor, least")
    for what, times in taken.items():
        seconds, processor = zip(*times, strict=True)
        table.add_row(what, *(f"{each:.2f}" for each in (min(seconds), statistics.median(seconds), min(processor))))
    Console(width=100).print(table)


if __name__ == "__main__":
    run(main, "--rounds 1")
