"""Several processes at once: a page is admitted once, whoever is quicker."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.synchronize import Barrier
from typing import TYPE_CHECKING

import numpy as np
import pytest

from crawldedup.stores.base import Status
from crawldedup.stores.sqlite.store import SqliteStore
from tests.stores.backends import CONTEXT, Backend, Clock
from tests.stores.pages import LAYOUT, checked, query, random_page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CRAWLERS = 6
CLUSTERS = 100
_together: Barrier


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessPoolExecutor]:
    """One process a crawler. Each task waits for all the others, so that no process takes two."""
    # The time limit is for the others when one of them fails.
    barrier = CONTEXT.Barrier(CRAWLERS, timeout=20)
    with ProcessPoolExecutor(CRAWLERS, CONTEXT, initializer=_start_together, initargs=(barrier,)) as pool:
        yield pool


def _start_together(barrier: Barrier) -> None:
    global _together
    _together = barrier


def visit(name: str, url: str, crawler: int) -> list[Status]:
    """Check the same URLs with the same texts as everyone else."""
    rng = np.random.default_rng(10)
    questions = [query(random_page(rng), f"https://example.com/{number}") for number in range(CLUSTERS)]
    store = Backend(name, url).store(LAYOUT, Clock())
    store.open()
    _together.wait()
    statuses = [checked(store, question).status for question in questions]
    _together.wait()
    store.close()
    return statuses


def open_new_files(folder: str, crawler: int) -> list[int]:
    """Open files that do not exist yet, each at the same moment as everyone else."""
    pages = []
    for number in range(12):
        store = SqliteStore(f"sqlite:///{folder}/{number}.sqlite", LAYOUT)
        _together.wait()
        pages.append(store.open())
        store.close()
    return pages


def run(
    pool: ProcessPoolExecutor, task: Callable[[str, str, int], list[Status]], backend: Backend
) -> list[list[Status]]:
    crawlers = [pool.submit(task, backend.name, backend.url, crawler) for crawler in range(CRAWLERS)]
    return [crawler.result(timeout=60) for crawler in crawlers]


def test_a_new_sqlite_file_may_be_opened_by_many_at_once(processes: ProcessPoolExecutor, tmp_path: Path) -> None:
    crawlers = [processes.submit(open_new_files, str(tmp_path), crawler) for crawler in range(CRAWLERS)]
    assert [crawler.result(timeout=60) for crawler in crawlers] == [[0] * 12] * CRAWLERS


def test_of_racing_visits_of_one_url_one_is_new_and_the_others_are_copies(
    processes: ProcessPoolExecutor, shared_backend: Backend
) -> None:
    statuses = run(processes, visit, shared_backend)
    for visits in zip(*statuses, strict=True):
        assert Counter(visits) == {Status.NEW: 1, Status.EXACT: CRAWLERS - 1}
    assert shared_backend.store(LAYOUT, Clock()).open() == CLUSTERS
