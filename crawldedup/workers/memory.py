"""Bound the memory of a worker process: what one page may take, and what may stay behind when it is read."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE_BYTES: Final = 1 << 30
"""Bytes that reading a page may take. The most hostile pages known take half of it."""
KEPT_BYTES: Final = 300 << 20
"""Bytes by which a process may have grown between two pages, since C libraries give little back."""

_STATM: Final = Path("/proc/self/statm")


def bound_memory() -> Callable[[], bool]:
    """Let allocations fail beyond `PAGE_BYTES` more than now; return what tells if far more is held than now.

    Where there is no /proc there are no bounds.
    """
    try:
        held, allocated = _held()
    except OSError:
        return lambda: False
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    bounds = [bound for bound in (allocated + PAGE_BYTES, soft, hard) if bound != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(bounds), hard))
    return lambda: _held()[0] > held + KEPT_BYTES


def _held() -> tuple[int, int]:
    """Return the bytes of own memory that are in use, and those of all that was allocated. Raises OSError."""
    _, resident, shared, _, _, data, _ = map(int, _STATM.read_text("ascii").split())
    page = resource.getpagesize()
    return (resident - shared) * page, data * page
