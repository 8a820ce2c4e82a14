"""Run a benchmark's web server in another process, so that its work does not count as the crawl's."""

from __future__ import annotations

import contextlib
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection

START_SECONDS: Final = 60.0


@contextlib.contextmanager
def serving_apart(serve: Callable[[Any, Connection], None], site: object) -> Iterator[int]:
    """Call `serve` with the site in another process; yields the port that it sends."""
    context = get_context("spawn")
    own_end, other_end = context.Pipe()
    process = context.Process(target=serve, args=(site, other_end), daemon=True)
    process.start()
    other_end.close()
    try:
        if not own_end.poll(START_SECONDS):
            raise TimeoutError(f"the web server did not start within {START_SECONDS:.0f} s")
        yield own_end.recv()
    finally:
        process.terminate()
        process.join()
