"""Worker processes read pages in order, and outlive pages that end one."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from crawldedup import Options, Page
from crawldedup.batch import pool as pools
from crawldedup.batch.pool import WorkerPool
from crawldedup.batch.reading import BatchReader
from crawldedup.text.keys import NO_KEY
from crawldedup.workers.framing import WorkerError
from tests.batch.pages import collection

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EXTRACTOR = """
import os, time

def extract(html):
    if "KILL" in html:
        os.kill(os.getpid(), 9)
    if "SLOW" in html:
        time.sleep(600)
    return html.removeprefix("<p>")
"""


def setup(**options: object) -> dict[str, object]:
    return {"options": Options(**options), "key": NO_KEY, "ranks": False}  # type: ignore[arg-type]


def chunks(texts: list[str], size: int = 7) -> Iterator[tuple[int, list[Page]]]:
    for start in range(0, len(texts), size):
        part = texts[start : start + size]
        yield start, [Page(f"https://a.example/{start + at}", text=each) for at, each in enumerate(part)]


def test_pages_come_in_their_order_and_as_one_process_reads_them() -> None:
    texts = [*collection(originals=40), ""]
    with WorkerPool(3, setup()) as pool:
        found = list(pool.read(chunks(texts)))
    assert [tag for tag, _, _ in found] == list(range(0, len(texts), 7))
    reader = BatchReader(Options(), NO_KEY, ranks=False)
    for (_, pages, read), (_, expected) in zip(found, chunks(texts), strict=True):
        assert pages == expected
        alone = reader.read(expected)
        assert (read.columns.steps == alone.columns.steps).all()
        assert read.columns.digest.tolist() == alone.columns.digest.tolist()
        assert read.skipped == alone.skipped
    assert found[-1][2].skipped == {len(found[-1][1]) - 1: "empty"}


def test_a_killed_worker_costs_no_page() -> None:
    texts = collection(originals=60)
    with WorkerPool(2, setup()) as pool:
        found = []
        for number, each in enumerate(pool.read(chunks(texts, 3))):
            found.append(each)
            if number % 7 == 0:
                os.kill(pool._workers[0].process.pid, signal.SIGKILL)
    assert sum(len(read.columns) for _, _, read in found) == len(texts)
    assert not any(read.skipped for _, _, read in found)


@pytest.mark.parametrize(("word", "reason"), [("KILL", "crashed"), ("SLOW", "too_slow")])
def test_a_page_that_ends_its_process_is_skipped_alone(
    word: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hostile_pages.py").write_text(EXTRACTOR)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(pools, "_SECONDS", 1.0)
    monkeypatch.setattr(pools, "_SECONDS_A_PAGE", 0.05)
    texts = [f"<p>{each}" for each in collection(originals=3)]
    texts[4] = f"<p>{word} {texts[4]}"
    pages = [Page(f"https://a.example/{number}", html=each) for number, each in enumerate(texts)]
    with WorkerPool(2, setup(extractor="hostile_pages.extract")) as pool:
        ((_, _, read),) = pool.read(iter([("all", pages)]))
    assert read.skipped == {4: reason}
    assert len(read.columns) == len(texts) - 1
    alone = BatchReader(Options(extractor="hostile_pages.extract"), NO_KEY, ranks=False).read(pages[:4] + pages[5:])
    assert read.columns.digest.tolist() == alone.columns.digest.tolist()


def test_a_worker_that_cannot_start_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "command_of", lambda _: ["false"])
    with WorkerPool(2, setup()) as pool, pytest.raises(WorkerError, match="did not start"):
        next(pool.read(chunks(collection(originals=3))))


def test_no_process_is_left_behind() -> None:
    with WorkerPool(2, setup()) as pool:
        next(pool.read(chunks(collection(originals=20))))
        processes = [worker.process for worker in pool._workers]
    assert processes
    assert all(process.returncode is not None for process in processes)
