"""Name the processes that hold leases, so that the lease of a dead one can end early."""

import os
import socket
from pathlib import Path


def own_process() -> str:
    """Return the name of this process: host, process id, and start time (empty where that cannot be
    read).
    """
    return f"{socket.gethostname()}:{os.getpid()}:{_state_and_start(os.getpid())[1]}"


def has_exited(process: str) -> bool:
    """Return True if a process of this machine has exited.

    Processes of other machines count as running.
    """
    host, pid, started = process.rsplit(":", 2) if process.count(":") >= 2 else ("", "", "")
    if host != socket.gethostname() or not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except OSError as error:
        return isinstance(error, ProcessLookupError)
    state, started_now = _state_and_start(int(pid))
    # A zombie has exited, only its parent does not know.
    return state in ("Z", "X") or (bool(started and started_now) and started != started_now)


def _state_and_start(pid: int) -> tuple[str, str]:
    """Return the state of a process and its start time, as ids are reused; both are empty where
    they are unknown.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return fields[0], fields[19]
    except (OSError, IndexError):
        return "", ""
