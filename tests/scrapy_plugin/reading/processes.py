"""What tests ask about worker processes."""

from __future__ import annotations

import os


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
