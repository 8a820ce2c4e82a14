"""A scan reads pages in processes, outlives pages that end one, and goes on from the last step that was written."""

import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest

from crawldedup import Options, Page
from crawldedup.errors import ConfigurationError, NoWorkerError
from crawldedup.reading.keys import NO_KEY
from crawldedup.scan import read
from crawldedup.scan.read import BatchReader, ReadPages, ScanFolder
from crawldedup.workers import pool as pools
from tests.processes import is_there
from tests.scan.pages import collection

TASK = {"similarity": 0.9}
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


def ignore(*_: object) -> None:
    return None


def collect(
    folder: ScanFolder,
    pages: list[Page],
    options: Options | None = None,
    *,
    workers: int = 2,
    on_skipped: Callable[[str, str], None] = ignore,
    progress: Callable[[int], None] = ignore,
) -> None:
    setup = {"options": (options or Options()).index_values(), "key": NO_KEY.secret, "ranks": False}
    chunks = read.chunks_of(["pages"], folder.step, lambda _name, _on_error: iter(pages), ignore)
    read.collect(folder, chunks, setup, workers=workers, on_skipped=on_skipped, progress=progress)


def pages_of(texts: list[str], kind: str = "text") -> list[Page]:
    return [Page(f"https://a.example/{number}/ä\udc80", **{kind: text}) for number, text in enumerate(texts)]


def children() -> list[int]:
    """Return the worker processes of this one, which may have servers of other tests, too."""
    path = Path(f"/proc/self/task/{os.getpid()}/children")
    is_worker = re.compile(rb"crawldedup\.workers\.program")
    return [pid for pid in map(int, path.read_text().split()) if is_worker.search(command_line(pid))]


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "_PAGES_A_CHUNK", 3)
    monkeypatch.setattr(read, "_STEP_SECONDS", 0)


@pytest.fixture
def parts() -> list[tuple[ReadPages, list[str]]]:
    pages = pages_of(collection(originals=30))
    reader = BatchReader(Options(), NO_KEY, ranks=False)
    return [(reader.read(some), [page.url for page in some]) for some in (pages[:20], pages[20:])]


@pytest.mark.usefixtures("small_chunks")
def test_pages_are_read_as_one_process_reads_them(tmp_path: Path) -> None:
    texts = [*collection(originals=40), "half a surrogate pair ?", ""]
    skipped: list[str] = []
    with ScanFolder(tmp_path, TASK) as folder:
        pages = pages_of([text.replace("?", "\ud800") for text in texts])
        collect(folder, pages, workers=3, on_skipped=lambda url, reason: skipped.append(f"{url} {reason}"))
        columns, url = folder.columns(), folder.urls()
        alone = BatchReader(Options(), NO_KEY, ranks=False).read(pages_of(texts))
        for name, column in alone.columns.by_name().items():
            assert (getattr(columns, name) == column).all()
        assert [url(row) for row in range(len(columns))] == [page.url for page in pages[:-1]]
        assert skipped == [f"{pages[-1].url} empty"]
        assert folder.step.skipped == {"empty": 1}
    assert not children()


@pytest.mark.usefixtures("small_chunks")
def test_killed_workers_cost_no_page(tmp_path: Path) -> None:
    texts = collection(originals=60)
    kills = 0

    def kill(pages: int) -> None:
        nonlocal kills
        if pages % 7 == 0 and (running := children()):
            os.kill(running[0], signal.SIGKILL)
            kills += 1

    with ScanFolder(tmp_path, TASK) as folder:
        collect(folder, pages_of(texts), progress=kill)
        assert (folder.step.pages, folder.step.skipped) == (len(texts), {})
    assert kills > 3


@pytest.mark.parametrize(("word", "reason"), [("KILL", "crashed"), ("SLOW", "too_slow"), ("STOP", "too_slow")])
def test_a_page_that_ends_its_process_is_skipped_alone(
    word: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hostile_pages.py").write_text(EXTRACTOR)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(read, "_SECONDS", 1.0)
    monkeypatch.setattr(read, "_SECONDS_A_PAGE", 0.05)
    pages = pages_of([f"<p>{each}" for each in collection(originals=3)], "html")
    hostile = Page("https://hostile.example/", html=f"<p>{word} {pages[4].html!r}")
    options = Options(extractor="hostile_pages.extract")
    skipped: list[tuple[str, str]] = []
    with ScanFolder(tmp_path / "work", TASK) as folder:
        given = [*pages[:4], hostile, *pages[4:]]
        collect(folder, given, options, on_skipped=lambda url, reason: skipped.append((url, reason)))
        alone = BatchReader(options, NO_KEY, ranks=False).read(pages)
        assert folder.columns().digest.tolist() == alone.columns.digest.tolist()
    assert skipped == [(hostile.url, reason)]


def test_a_worker_that_cannot_start_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "command_of", lambda *_: ["false"])
    with ScanFolder(tmp_path, TASK) as folder, pytest.raises(NoWorkerError, match="exit status 1"):
        collect(folder, pages_of(["some text"]))


def test_an_interrupt_ends_the_processes(tmp_path: Path) -> None:
    running: list[int] = []

    def interrupt(_: int) -> None:
        running.extend(children())
        raise KeyboardInterrupt

    with ScanFolder(tmp_path, TASK) as folder, pytest.raises(KeyboardInterrupt):
        collect(folder, pages_of(collection(originals=100)), progress=interrupt)
    assert running
    time.sleep(0.05)
    assert not any(map(is_there, running))


@pytest.mark.usefixtures("small_chunks")
def test_a_scan_goes_on_from_the_last_step(tmp_path: Path) -> None:
    pages = pages_of(collection(originals=30))

    def stop(count: int) -> None:
        if count > 10:
            raise OSError("no room")

    with ScanFolder(tmp_path, TASK) as folder, pytest.raises(OSError, match="no room"):
        collect(folder, pages, progress=stop)
    with ScanFolder(tmp_path, TASK) as folder:
        begun = folder.step.pages
        assert 0 < begun < len(pages)
        collect(folder, pages)
        url = folder.urls()
        assert [url(row) for row in range(folder.step.pages)] == [page.url for page in pages]


def test_a_step_counts_what_the_disk_has(
    tmp_path: Path, parts: list[tuple[ReadPages, list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a power cut, a step that was written must find its columns."""
    synced: list[str] = []
    with ScanFolder(tmp_path / "scan", TASK) as folder:
        folder.add(*parts[0])
        monkeypatch.setattr(os, "fdatasync", lambda file: synced.append(Path(f"/proc/self/fd/{file}").readlink().name))
        folder.finish_step(0, 20, 0, {})
    *columns, last = synced
    assert sorted(columns) == sorted(path.name for path in (tmp_path / "scan").glob("*.bin"))
    assert last == "scan.json.part"


@pytest.mark.parametrize("torn", [False, True])
def test_what_is_behind_the_last_step_is_dropped(
    tmp_path: Path, parts: list[tuple[ReadPages, list[str]]], torn: bool
) -> None:
    with ScanFolder(tmp_path / "scan", TASK) as folder:
        folder.add(*parts[0])
        folder.finish_step(0, 20, 1, {"empty": 2})
        if torn:
            folder.add(*parts[1])
    with ScanFolder(tmp_path / "scan", TASK) as folder:
        assert folder.step[:3] == (0, 20, 20)
        assert folder.step[4:] == (1, {"empty": 2})
        folder.add(*parts[1])
        folder.finish_step(1, 0, 0, {})
    with ScanFolder(tmp_path / "scan", TASK) as folder:
        url = folder.urls()
        assert [url(row) for row in range(folder.step.pages)] == [each for _, urls in parts for each in urls]
        for name, column in folder.columns().by_name().items():
            expected = np.concatenate([getattr(part.columns, name) for part, _ in parts])
            assert (column == expected).all()
            assert column.dtype == expected.dtype


def test_a_folder_of_another_scan_is_refused(tmp_path: Path) -> None:
    ScanFolder(tmp_path / "scan", TASK).close()
    with pytest.raises(ConfigurationError, match="begun with other similarity"):
        ScanFolder(tmp_path / "scan", {"similarity": 0.8})
    ScanFolder(tmp_path / "scan", TASK).close()


def test_a_folder_at_work_is_refused(tmp_path: Path) -> None:
    with ScanFolder(tmp_path / "scan", TASK), pytest.raises(ConfigurationError, match="another scan is at work"):
        ScanFolder(tmp_path / "scan", TASK)


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter").write_text("dear")
    with pytest.raises(ConfigurationError, match="something else"):
        ScanFolder(tmp_path, TASK)
    assert [path.name for path in tmp_path.iterdir()] == ["letter"]


@pytest.mark.parametrize("name", ["search.bin", "scan.json"])
def test_a_damaged_folder_is_refused(tmp_path: Path, parts: list[tuple[ReadPages, list[str]]], name: str) -> None:
    with ScanFolder(tmp_path / "scan", TASK) as folder:
        folder.add(*parts[0])
        folder.finish_step(1, 0, 0, {})
    (tmp_path / "scan" / name).write_bytes(b"short")
    with pytest.raises(ConfigurationError, match="damaged"):
        ScanFolder(tmp_path / "scan", TASK)


@pytest.mark.parametrize("change", [
    lambda columns, skipped: ({**columns, "search": columns["search"][:-8]}, skipped),
    lambda columns, skipped: ({**columns, "verify": columns["verify"][:-1]}, skipped),
    lambda columns, skipped: ({"search": columns["search"]}, skipped),
    lambda columns, skipped: (columns, {0: "a page too many"}),
    lambda columns, skipped: (dict.fromkeys(columns, b""), {place + 1: "empty" for place in range(20)}),
])  # fmt: skip
def test_an_answer_that_is_none_is_refused(change: object, parts: list[tuple[ReadPages, list[str]]]) -> None:
    plain = parts[0][0].plain()
    assert ReadPages.of_answer(msgspec.msgpack.encode(plain), 20).columns.digest.tolist()
    with pytest.raises((LookupError, ValueError)):
        ReadPages.of_answer(msgspec.msgpack.encode(change(*plain)), 20)  # type: ignore[operator]
