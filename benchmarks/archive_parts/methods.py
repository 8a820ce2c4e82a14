"""Ways to leave the copies out of an archive, each run as a program of its own, as its documentation says.

    crawldedup   `crawldedup scan`, with its defaults
    text-dedup   `python -m text_dedup.minhash` and `text_dedup.simhash`, with as many processes as there are CPUs
    datatrove    its example of MinHash in four stages, two workers; for English it splits words by spaCy

The MinHashes have two rows each: with their defaults, which look for similarities of .7 in 5-grams, and for .85 in
3-grams, the similarity that is counted here. There datatrove splits words at spaces, which is quicker.

Each peer has an environment of its own, in the folder `benchmarks/.peers`: see `install`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import venv
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.archive_parts.processes import Run, run_program
from benchmarks.archive_parts.texts import number_of
from benchmarks.peers import FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]

PEERS: Final = {"text-dedup": ["text-dedup"], "datatrove": ["datatrove[io,processing]", "spacy"]}
"""What pip installs into the environment of each peer."""

WORKERS: Final = 2
_URLS_OF_DATASET: Final = """
import datasets, sys
for batch in datasets.load_from_disk(sys.argv[1]).select_columns("url").iter(10_000):
    print("\\n".join(batch["url"]))
"""


@dataclass(frozen=True)
class Task:
    """An archive that was written, a folder to work in, and the bounds of a program."""

    texts: Path
    pages: int
    folder: Path
    memory_limit: float
    time_limit: float

    def run(self, *command: str) -> Run:
        """Run a program in the folder."""
        return run_program(command, self.folder, memory_limit=self.memory_limit, time_limit=self.time_limit)


@dataclass(frozen=True)
class Outcome:
    """What a method did: the seconds of its stages, where it tells them, and which pages it kept; none if it failed."""

    run: Run
    stages: dict[str, float] = field(default_factory=dict)
    kept: Mask | None = None


@dataclass(frozen=True)
class Crawldedup:
    """The batch engine of crawldedup."""

    name: str = "crawldedup scan"
    peer: str = ""

    def measure(self, task: Task) -> Outcome:
        """Scan the archive."""
        return measure_ours(task)


@dataclass(frozen=True)
class TextDedup:
    """A program of text-dedup."""

    name: str
    program: str
    options: tuple[str, ...] = ()
    peer: str = "text-dedup"

    def measure(self, task: Task) -> Outcome:
        """Run the program on the archive."""
        python, output = str(python_of(self.peer)), task.folder / "output"
        given = ["--path", "json", "--data_files", str(task.texts), "--split", "train", "--column", "text"]
        given += ["--cache_dir", str(task.folder / "cache"), "--output", str(output), *self.options]
        run = task.run(python, "-m", self.program, *given)
        if run.failure:
            return Outcome(run)
        told = re.findall(r"(\w+) +: ([\d.]+)s", run.output)
        stages = {name: float(seconds) for name, seconds in told if name != "Total"}
        listed = subprocess.run(
            [python, "-c", _URLS_OF_DATASET, str(output)], capture_output=True, text=True, check=True
        )
        return Outcome(run, stages, _mask(listed.stdout.splitlines(), task.pages))


@dataclass(frozen=True)
class Datatrove:
    """MinHash of datatrove."""

    name: str
    config: dict[str, int]
    language: str = "eng"
    peer: str = "datatrove"

    def measure(self, task: Task) -> Outcome:
        """Run the four stages on the archive, cut in as many files as there are workers: a file is read by one."""
        texts, output = task.folder / "texts", task.folder / "output"
        texts.mkdir()
        a_file = -(-task.pages // WORKERS)
        with task.texts.open("rb") as lines:
            for number in range(WORKERS):
                with (texts / f"{number}.jsonl").open("wb") as part:
                    part.writelines(islice(lines, a_file))
        given = {"texts": str(texts), "output": str(output), "language": self.language, "config": self.config}
        program = Path(__file__).with_name("datatrove_minhash.py")
        run = task.run(str(python_of(self.peer)), str(program), json.dumps(given))
        if run.failure:
            return Outcome(run)
        kept = np.ones(task.pages, np.bool_)
        for number in range(WORKERS):
            removed = output / "removed" / f"{number:06d}.remove"
            if removed.exists():
                kept[number * a_file + np.fromfile(removed, "<u4").astype(np.int64)] = False
        return Outcome(run, json.loads(run.output.splitlines()[-1]), kept)


Method = Crawldedup | TextDedup | Datatrove

METHODS: Final[dict[str, Method]] = {
    "crawldedup": Crawldedup(),
    "text-dedup-.7": TextDedup("text-dedup MinHash .7 of 5-grams (defaults)", "text_dedup.minhash"),
    "text-dedup-.85": TextDedup(
        "text-dedup MinHash .85 of 3-grams", "text_dedup.minhash", ("--threshold", "0.85", "--ngram", "3")
    ),
    "text-dedup-simhash": TextDedup("text-dedup SimHash, k=3 (defaults)", "text_dedup.simhash"),
    "datatrove-.7": Datatrove("datatrove MinHash 14 x 8 of 5-grams (defaults)", {}),
    # A pair of similarity s is found with 1 - (1 - s ** 14) ** 16: half of those of .8, 82 % of those of .85.
    "datatrove-.85": Datatrove(
        "datatrove MinHash 16 x 14 of 3-grams, words split at spaces",
        {"n_grams": 3, "num_buckets": 16, "hashes_per_bucket": 14},
        language="",
    ),
}


def measure_ours(task: Task) -> Outcome:
    """Scan the archive with the program of this environment, and again what the first scan has read of it."""
    output = task.folder / "output.jsonl"
    command = ["scan", str(task.texts), "--work", str(task.folder / "read"), "--output", str(output), "--force"]
    run, again = (task.run(sys.executable, "-m", "crawldedup.cli", *command) for _ in range(2))
    if run.failure or again.failure:
        return Outcome(run if run.failure else again)
    stages = {"reading": run.seconds - again.seconds, "clusters and output": again.seconds}
    with output.open(encoding="utf-8") as lines:
        return Outcome(run, stages, _mask(_urls_kept(lines), task.pages))


def _urls_kept(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        row: dict[str, Any] = json.loads(line)
        if row["kind"] not in ("exact_duplicate", "near_duplicate"):
            yield row["url"]


def _mask(urls: Iterator[str] | list[str], pages: int) -> Mask:
    kept = np.zeros(pages, np.bool_)
    kept[np.fromiter((number_of(url) for url in urls), np.int64)] = True
    return kept


def python_of(peer: str) -> Path:
    """Return the Python that has a peer, or would have it."""
    return FOLDER / f"{peer}-env" / "bin" / "python"


def install(peer: str) -> None:
    """Make the environment of a peer."""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / ".gitignore").write_text("*\n")
    python = python_of(peer)
    venv.create(python.parent.parent, with_pip=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *PEERS[peer]], check=True)
