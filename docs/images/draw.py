"""Draw the pictures of the documentation.

    python docs/images/draw.py --list
    python docs/images/draw.py way probes
    python docs/images/draw.py flips --corpus manuals.pages.jsonl

Without names it draws all that need no corpus. Each picture has a module of its own beside this one, or is drawn by a
benchmark. Some need the extras `plot`, `report` and `server`, Playwright and Chromium.
"""

from __future__ import annotations

import argparse
import importlib
import shlex
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
# The modules beside this one import the benchmarks.
sys.path.insert(0, str(ROOT))

DRAWN_HERE = ("way.svg", "probes.svg", "crowd.svg", "demo.svg", "report.png", "service.png")
CORPUS = "CORPUS.pages.jsonl"
# Those of other methods that are known best, beside our own.
_METHODS = (
    "crawldedup",
    "minhash",
    "simhash of 3-shingles",
    "(1e0ng)",
    "SimHash 64",
    "MinHash 0.9",
    "MinHashLSH 0.9",
    "verified at .9",
    "RMinHashDeduplicator 0.9",
)
BY_BENCHMARK = {
    "quality-d-i.svg": ("quality.py", CORPUS, *(word for name in _METHODS for word in ("--only", name))),
}
"""The benchmark and its arguments; the path of the picture comes behind them."""


def main() -> None:
    """Draw the pictures that are named on the command line."""
    names = {Path(file).stem: file for file in (*DRAWN_HERE, *BY_BENCHMARK)}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(names)}")
    parser.add_argument("--list", action="store_true", help="tell the command that draws each picture, and stop")
    parser.add_argument("--to", type=Path, default=FOLDER, metavar="FOLDER", help="write the pictures there")
    parser.add_argument("--corpus", metavar=CORPUS, help="the pages that a benchmark measures")
    given = parser.parse_args()
    if given.list:
        for file in names.values():
            print(f"{file}: {command(file)}")
        return
    if unknown := sorted(set(given.names) - set(names)):
        parser.error(f"there is no picture {', '.join(unknown)}: see --list")
    drawn = [names[name] for name in given.names] or [file for file in names.values() if not needs_corpus(file)]
    if any(map(needs_corpus, drawn)) and given.corpus is None:
        parser.error("what measures a corpus needs --corpus")
    for file in drawn:
        path = (given.to / file).resolve()
        if file in BY_BENCHMARK:
            subprocess.run(benchmark(file, given.corpus, path), cwd=ROOT, check=True)
        else:
            importlib.import_module(path.stem).draw(path)
        print(path)


def needs_corpus(file: str) -> bool:
    """Tell whether the benchmark of a picture measures a corpus."""
    return CORPUS in BY_BENCHMARK.get(file, ())


def benchmark(file: str, corpus: str | None, path: Path) -> list[str]:
    """Return the command that draws a picture with a benchmark."""
    script, *arguments = BY_BENCHMARK[file]
    words = [str(Path(corpus).resolve()) if word == CORPUS and corpus else word for word in arguments]
    return [sys.executable, f"benchmarks/{script}", *words, "--plot", str(path)]


def command(file: str) -> str:
    """Return the command to type for a picture."""
    if file not in BY_BENCHMARK:
        return f"python docs/images/draw.py {Path(file).stem}"
    return shlex.join(["python", *benchmark(file, None, FOLDER.relative_to(ROOT) / file)[1:]])


if __name__ == "__main__":
    main()
