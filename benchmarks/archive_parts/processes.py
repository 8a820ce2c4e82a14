"""A program run to its end: how long it took, and the most memory that it and its children held at once."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

MIB: Final = 1 << 20
_LOOK_EVERY: Final = 0.5
"""Seconds between two looks at the processes, each of which takes 10 ms for a GB."""


@dataclass(frozen=True)
class Run:
    """How a program ended: `failure` says why it did not end well.

    `peak` is the resident memory of all the processes in MiB, what they share counted once. Mapped files are in it;
    `peak_private` leaves them out, since the system takes their pages back when it needs them.
    """

    seconds: float
    peak: float
    peak_private: float
    output: str
    failure: str = ""


def run_program(command: Sequence[str], folder: Path, *, memory_limit: float, time_limit: float) -> Run:
    """Run a program in a folder, and end it once it holds more MiB or takes more seconds than it may."""
    log = folder / "log.txt"
    started = time.perf_counter()
    failure, peak, peak_private = "", 0.0, 0.0
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            # Lines that a program breaks to fit a terminal could not be read.
            env={**os.environ, "COLUMNS": "200"},
        )
        try:
            while process.poll() is None:
                resident, private = _memory(process.pid)
                peak, peak_private = max(peak, resident), max(peak_private, private)
                if private > memory_limit:
                    failure = f"ended at {memory_limit:,.0f} MiB"
                elif time.perf_counter() - started > time_limit:
                    failure = f"ended after {time_limit:,.0f} s"
                if failure:
                    break
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_LOOK_EVERY)
        finally:
            if process.poll() is None:
                # Its children, too: the session is theirs alone.
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    seconds = time.perf_counter() - started
    written = log.read_text(encoding="utf-8", errors="replace")
    if not failure and process.returncode:
        failure = f"exit code {process.returncode}; the end of its output: {written[-2000:]}"
    return Run(seconds, peak, peak_private, written, failure)


def _memory(pid: int) -> tuple[float, float]:
    """Return the MiB of a process and all that came from it: resident, and without mapped files."""
    resident = private = 0
    waiting = [pid]
    while waiting:
        folder = Path(f"/proc/{waiting.pop()}")
        try:
            rollup = (folder / "smaps_rollup").read_text().splitlines()[1:]
            waiting += [int(child) for task in (folder / "task").iterdir() for child in _children(task)]
        except OSError:
            # It has just ended.
            continue
        sizes = {key: int(size.split()[0]) << 10 for key, size in (line.split(":") for line in rollup)}
        # One that has ended, and is not yet waited for, has none.
        resident += sizes.get("Pss", 0)
        private += sizes.get("Pss_Anon", 0) + sizes.get("Pss_Shmem", 0)
    return resident / MIB, private / MIB


def _children(task: Path) -> list[str]:
    return (task / "children").read_text().split()
