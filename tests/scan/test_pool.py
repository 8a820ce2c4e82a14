"""A scan's worker processes read chunks of pages, and outlive pages that end one."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawldedup import Options, Page
from crawldedup.errors import NoWorkerError
from crawldedup.reading.keys import NO_KEY
from crawldedup.scan import collect
from crawldedup.scan.collect import ChunkReader
from crawldedup.scan.reading import BatchReader
from crawldedup.workers import pool as pools
from tests.processes import is_there
from tests.scan.pages import collection

EXTRACTOR = """
import os, time

def extract(html):
    if "KILL" in html:
        os.kill(os.getpid(), 9)
    if "STOP" in html:
        os.kill(os.getpid(), 19)
    if "SLOW" in html:
        time.sleep(600)
    return html.removeprefix("<p>")
"""


def setup(**options: object) -> dict[str, object]:
    return {"options": Options(**options), "key": NO_KEY, "ranks": False}  # type: ignore[arg-type]


def chunks(texts: list[str], size: int = 7) -> Iterator[list[Page]]:
    for start in range(0, len(texts), size):
        part = texts[start : start + size]
        yield [Page(f"https://a.example/{start + at}", text=each) for at, each in enumerate(part)]


def pids(reader: ChunkReader) -> list[int]:
    return [worker.process.pid for worker in reader._pool._workers]


def test_pages_are_read_as_one_process_reads_them() -> None:
    texts = [*collection(originals=40), "half a surrogate pair ?", ""]
    with ChunkReader(setup(), 3) as reader:
        given = [text.replace("?", "\ud800") for text in texts]
        read = [each.result() for each in map(reader.read, chunks(given))]
    alone = BatchReader(Options(), NO_KEY, ranks=False)
    for found, pages in zip(read, chunks(texts), strict=True):
        expected = alone.read(pages)
        assert (found.columns.steps == expected.columns.steps).all()
        assert found.columns.digest.tolist() == expected.columns.digest.tolist()
        assert found.skipped == expected.skipped
    assert "empty" in read[-1].skipped.values()


def test_killed_workers_cost_no_page() -> None:
    texts = collection(originals=60)
    with ChunkReader(setup(), 2) as reader:
        coming = [reader.read(pages) for pages in chunks(texts, 3)]
        for number, each in enumerate(coming):
            each.result()
            if number % 7 == 0 and (running := pids(reader)):
                os.kill(running[0], signal.SIGKILL)
    assert sum(len(each.result().columns) for each in coming) == len(texts)
    assert not any(each.result().skipped for each in coming)


@pytest.mark.parametrize(("word", "reason"), [("KILL", "crashed"), ("SLOW", "too_slow"), ("STOP", "too_slow")])
def test_a_page_that_ends_its_process_is_skipped_alone(
    word: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hostile_pages.py").write_text(EXTRACTOR)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(collect, "_SECONDS", 1.0)
    monkeypatch.setattr(collect, "_SECONDS_A_PAGE", 0.05)
    texts = [f"<p>{each}" for each in collection(originals=3)]
    texts[4] = f"<p>{word} {texts[4]}"
    pages = [Page(f"https://a.example/{number}", html=each) for number, each in enumerate(texts)]
    with ChunkReader(setup(extractor="hostile_pages.extract"), 2) as reader:
        read = reader.read(pages).result()
    assert read.skipped == {4: reason}
    alone = BatchReader(Options(extractor="hostile_pages.extract"), NO_KEY, ranks=False).read(pages[:4] + pages[5:])
    assert read.columns.digest.tolist() == alone.columns.digest.tolist()


def test_a_worker_that_cannot_start_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "command_of", lambda *_: ["false"])
    with ChunkReader(setup(), 2) as reader, pytest.raises(NoWorkerError, match="exit status 1"):
        reader.read(next(chunks(collection(originals=3)))).result()


def test_no_process_and_no_thread_is_left_behind() -> None:
    before = threading.active_count()
    with ChunkReader(setup(), 2) as reader:
        coming = [reader.read(pages) for pages in chunks(collection(originals=20))]
        coming[0].result()
        running = pids(reader)
    assert running
    time.sleep(0.05)
    assert not any(map(is_there, running))
    assert threading.active_count() == before
