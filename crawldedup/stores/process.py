"""Which process a crawler is, so that one that died without a word is not taken for a fellow at work."""

from __future__ import annotations

import os
import socket
from pathlib import Path


def own_process() -> str:
    """Names this process: host, process id, and when it started (empty where that cannot be read)."""
    return f"{socket.gethostname()}:{os.getpid()}:{_started(os.getpid())}"


def is_gone(process: str) -> bool:
    """True if a process of this machine has ended; False for those of other machines, of which we know nothing."""
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
    """Start time of a process in the kernel's ticks: a process id alone may have been given again."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
