"""Processes that tests look at."""

from pathlib import Path


def is_there(pid: int) -> bool:
    """Return True for a process that runs; one that has ended may wait for its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
