"""A process that is forked loses no page, whatever of its parent's it inherits."""

from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from crawldedup import Deduplicator
from tests.stores.backends import Backend
from tests.stories import story


def forked(work: Callable[[], None]) -> int:
    """Run something in a child. It exits with 0 unless that raises."""
    child = os.fork()
    if not child:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return child


def exit_status(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def add(dedup: Deduplicator, first: int, end: int) -> None:
    for number in range(first, end):
        assert dedup.check(f"https://a.example/{number}", text=story(number, 80)).kind == "new"


@pytest.mark.parametrize("uses", ["inherited", "own"])
def test_a_child_outlives_what_its_parent_had_open(shared_backend: Backend, uses: str) -> None:
    parent = Deduplicator(shared_backend.url)
    add(parent, 0, 1)
    (is_ready, tell_ready), (may_go_on, tell_closed) = os.pipe(), os.pipe()

    def work() -> None:
        dedup = parent if uses == "inherited" else Deduplicator(shared_backend.url)
        add(dedup, 1, 6)
        os.write(tell_ready, b".")
        os.read(may_go_on, 1)
        add(dedup, 6, 11)
        again = dedup.check("https://a.example/0", text=story(0, 80))
        assert (again.kind == "revisit") == (uses == "inherited")

    session = parent.session
    child = forked(work)
    os.read(is_ready, 1)
    parent.close(leave=False)
    os.write(tell_closed, b".")
    assert exit_status(child) == 0
    with Deduplicator(shared_backend.url) as dedup:
        assert dedup.info().pages == 11
        assert dedup.session != session


def test_a_fork_does_not_wait_for_the_parents_threads(tmp_path: Path) -> None:
    dedup = Deduplicator(f"sqlite:///{tmp_path}/index.sqlite")
    add(dedup, 0, 1)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with dedup._index.store._locked():  # type: ignore[attr-defined]
            held.set()
            done.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(30)
    child = forked(lambda: None)
    done.set()
    thread.join()
    assert exit_status(child) == 0
    add(dedup, 1, 2)
    dedup.close()
