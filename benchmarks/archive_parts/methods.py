"""Ways to leave the copies out of an archive, each run as a separate program, according to its
documentation.

    crawldedup   `crawldedup scan`, with its defaults
    text-dedup   `python -m text_dedup.minhash` and `text_dedup.simhash`, with as many processes as there are CPUs
    datatrove    its example of MinHash in four stages, with two workers; it splits English words with spaCy

Each MinHash has two rows: one with its defaults, which look for similarities of .7 in 5-grams, and
one for .85 in 3-grams, the similarity that is counted here. In the second row, datatrove splits
words at spaces, which is faster.

Each of the other tools has a separate environment in the folder `benchmarks/.peers`: see `install`.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import venv
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from benchmarks.archive_parts.texts import number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]

PEERS: Final = {"text-dedup": ["text-dedup"], "datatrove": ["datatrove[io,processing]", "spacy"]}
"""What pip installs into the environment of each peer."""

FOLDER: Final = Path(__file__).resolve().parents[1] / ".peers"
WORKERS: Final = 2
GIB: Final = 1 << 30
_LOOK_EVERY: Final = 0.5
"""Seconds between two looks at the processes, each of which takes 10 ms for a GB."""
_URLS_OF_DATASET: Final = """
import datasets, sys
for batch in datasets.load_from_disk(sys.argv[1]).select_columns("url").iter(10_000):
    print("\\n".join(batch["url"]))
"""


@dataclass
class Outcome:
    """What a method did: its seconds and those of its stages, its memory in GB, and which pages it
    kept.

    `peak` is the resident memory of all its processes, what they share counted once. Mapped files
    are in it; `peak_private` leaves them out, since the system takes their pages back when it needs
    them. `failure` says why it did not end well.
    """

    seconds: float = 0.0
    peak: float = 0.0
    peak_private: float = 0.0
    output: str = ""
    failure: str = ""
    stages: dict[str, float] = field(default_factory=dict)
    kept: Mask | None = None


@dataclass(frozen=True)
class Task:
    """An archive that was written, a folder to work in, and the GB and minutes that a program may
    take.
    """

    texts: Path
    pages: int
    folder: Path
    memory_limit: float
    time_limit: float

    def run(self, *command: str) -> Outcome:
        """Run a program in the folder, and end it once it takes more than it may."""
        log, started, outcome = self.folder / "log.txt", time.perf_counter(), Outcome()
        # Lines that a program breaks to fit a terminal could not be read.
        environment = {**os.environ, "COLUMNS": "200"}
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                env=environment,
            )
            try:
                while process.poll() is None and not outcome.failure:
                    resident, private = _memory(process.pid)
                    outcome.peak = max(outcome.peak, resident)
                    outcome.peak_private = max(outcome.peak_private, private)
                    if (
                        private > self.memory_limit
                        or time.perf_counter() - started > 60 * self.time_limit
                    ):
                        outcome.failure = (
                            f"ended at {private:.1f} GB, after "
                            f"{time.perf_counter() - started:,.0f} s"
                        )
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(_LOOK_EVERY)
            finally:
                if process.poll() is None:
                    # Its children, too: the session is theirs alone.
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        outcome.seconds = time.perf_counter() - started
        outcome.output = log.read_text(encoding="utf-8", errors="replace")
        if process.returncode and not outcome.failure:
            outcome.failure = (
                f"exit code {process.returncode}; the end of its output: {outcome.output[-2000:]}"
            )
        return outcome


def _memory(pid: int) -> tuple[float, float]:
    """Return the GB of a process and all that came from it: resident, and without mapped files."""
    resident = private = 0
    waiting = [pid]
    while waiting:
        folder = Path(f"/proc/{waiting.pop()}")
        try:
            rollup = (folder / "smaps_rollup").read_text().splitlines()[1:]
            for task in (folder / "task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
        except OSError:
            # It has just ended.
            continue
        sizes = {
            key: int(size.split()[0]) << 10 for key, size in (line.split(":") for line in rollup)
        }
        # One that has ended, and is not yet waited for, has none.
        resident += sizes.get("Pss", 0)
        private += sizes.get("Pss_Anon", 0) + sizes.get("Pss_Shmem", 0)
    return resident / GIB, private / GIB


def scan(task: Task) -> Outcome:
    """Scan the archive with the program of this environment, and again what the first scan has read
    of it.
    """
    output = task.folder / "output.jsonl"
    command = [
        "scan",
        str(task.texts),
        "--work",
        str(task.folder / "read"),
        "--output",
        str(output),
        "--force",
    ]
    outcome, again = (task.run(sys.executable, "-m", "crawldedup.cli", *command) for _ in range(2))
    outcome.failure = outcome.failure or again.failure
    if not outcome.failure:
        outcome.stages = {
            "reading": outcome.seconds - again.seconds,
            "clusters and output": again.seconds,
        }
        with output.open(encoding="utf-8") as lines:
            rows = map(json.loads, lines)
            copies = ("exact_duplicate", "near_duplicate")
            outcome.kept = _mask(
                (row["url"] for row in rows if row["kind"] not in copies), task.pages
            )
    return outcome


def text_dedup(task: Task, *, program: str, options: tuple[str, ...] = ()) -> Outcome:
    """Run a program of text-dedup on the archive."""
    python, output = str(python_of("text-dedup")), task.folder / "output"
    given = [
        "--path",
        "json",
        "--data_files",
        str(task.texts),
        "--split",
        "train",
        "--column",
        "text",
    ]
    given += ["--cache_dir", str(task.folder / "cache"), "--output", str(output), *options]
    outcome = task.run(python, "-m", program, *given)
    if not outcome.failure:
        told = re.findall(r"(\w+) +: ([\d.]+)s", outcome.output)
        outcome.stages = {name: float(seconds) for name, seconds in told if name != "Total"}
        command = [python, "-c", _URLS_OF_DATASET, str(output)]
        listed = subprocess.run(command, capture_output=True, text=True, check=True)
        outcome.kept = _mask(listed.stdout.splitlines(), task.pages)
    return outcome


def datatrove(task: Task, *, config: dict[str, int], language: str = "eng") -> Outcome:
    """Run the four stages on the archive, cut in as many files as there are workers: a file is read
    by one.
    """
    texts, output = task.folder / "texts", task.folder / "output"
    texts.mkdir()
    a_file = -(-task.pages // WORKERS)
    with task.texts.open("rb") as lines:
        for number in range(WORKERS):
            with (texts / f"{number}.jsonl").open("wb") as part:
                part.writelines(islice(lines, a_file))
    given = {"texts": str(texts), "output": str(output), "language": language, "config": config}
    program = Path(__file__).with_name("datatrove_minhash.py")
    outcome = task.run(str(python_of("datatrove")), str(program), json.dumps(given))
    if not outcome.failure:
        outcome.kept = np.ones(task.pages, np.bool_)
        outcome.stages = json.loads(outcome.output.splitlines()[-1])
        for number in range(WORKERS):
            removed = output / "removed" / f"{number:06d}.remove"
            if removed.exists():
                outcome.kept[number * a_file + np.fromfile(removed, "<u4").astype(np.int64)] = False
    return outcome


class Method(NamedTuple):
    """A method, and the peer whose environment it needs."""

    name: str
    peer: str
    run: Callable[[Task], Outcome]


_MINHASH, _SIMHASH = "text_dedup.minhash", "text_dedup.simhash"
METHODS: Final[dict[str, Method]] = {
    "crawldedup": Method("crawldedup scan", "", scan),
    "text-dedup-.7": Method(
        "text-dedup MinHash .7 of 5-grams (defaults)",
        "text-dedup",
        partial(text_dedup, program=_MINHASH),
    ),
    "text-dedup-.85": Method(
        "text-dedup MinHash .85 of 3-grams",
        "text-dedup",
        partial(text_dedup, program=_MINHASH, options=("--threshold", "0.85", "--ngram", "3")),
    ),
    "text-dedup-simhash": Method(
        "text-dedup SimHash, k=3 (defaults)", "text-dedup", partial(text_dedup, program=_SIMHASH)
    ),
    "datatrove-.7": Method(
        "datatrove MinHash 14 x 8 of 5-grams (defaults)", "datatrove", partial(datatrove, config={})
    ),
    # A pair of similarity s is found with 1 - (1 - s ** 14) ** 16: half of those of .8, 82 % of
    # those of .85.
    "datatrove-.85": Method(
        "datatrove MinHash 16 x 14 of 3-grams, words split at spaces",
        "datatrove",
        partial(
            datatrove,
            config={"n_grams": 3, "num_buckets": 16, "hashes_per_bucket": 14},
            language="",
        ),
    ),
}


def _mask(urls: Iterable[str], pages: int) -> Mask:
    kept = np.zeros(pages, np.bool_)
    kept[np.fromiter(map(number_of, urls), np.int64)] = True
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
