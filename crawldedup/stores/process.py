"""Identify the process that holds a lease, so that the lease of a dead process can be expired early."""

from __future__ import annotations

import os
import socket
from pathlib import Path


def own_process() -> str:
    """Return the name of this process: host, process id, and start time (empty where that cannot be read)."""
    return f"{socket.gethostname()}:{os.getpid()}:{_started(os.getpid())}"


def has_exited(process: str) -> bool:
    """Return True if a process of this machine has exited. Processes of other machines count as running."""
    host, pid, started = process.rsplit(":", 2) if process.count(":") >= 2 else ("", "", "")
    if host != socket.gethostname() or not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    started_now = _started(int(pid))
    return bool(started and started_now) and started != started_now


def _started(pid: int) -> str:
    """Return the start time of a process in kernel ticks. Process ids are reused, so an id alone proves nothing."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
