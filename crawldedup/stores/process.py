"""Identify processes, so that the lease of a crawler whose process has died can end early."""

import os
import socket
from pathlib import Path
from typing import NamedTuple


class _Status(NamedTuple):
    """The state of a process and when it started, or two empty strings if unknown."""

    state: str
    started: str  # ids are reused, so an id names a process only together with this time


_UNKNOWN = _Status("", "")


def own_process() -> str:
    """Return a name for this process: "host:pid:start", where the start may be empty."""
    pid = os.getpid()
    return f"{socket.gethostname()}:{pid}:{_status(pid).started}"


def has_exited(process: str) -> bool:
    """Return whether a process on this machine has exited.

    Processes on other machines, and names that can't be understood, count as running.

    Args:
        process: The name of a process, as `own_process` returns it.
    """
    if process.count(":") < 2:
        return False
    host, pid, started = process.rsplit(":", 2)
    if host != socket.gethostname() or not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except OSError as error:
        return isinstance(error, ProcessLookupError)
    status = _status(int(pid))
    # A zombie has exited; it only waits for its parent to take notice.
    if status.state in ("Z", "X"):
        return True
    return bool(started and status.started) and started != status.started


def _status(pid: int) -> _Status:
    """Return the state of a process and when it started. Both are "" if they can't be read."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return _Status(state=fields[0], started=fields[19])
    except (OSError, IndexError):
        return _UNKNOWN
