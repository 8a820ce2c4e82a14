"""Processes that tests look at, and that may end at any moment."""

from pathlib import Path


def is_there(pid: int) -> bool:
    """Return True for a process that runs; one that has ended may wait for its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def command_line(pid: int) -> bytes:
    """Return the arguments of a process, each ended by a NUL byte; of one that has ended, none."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
