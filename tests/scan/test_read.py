"""A scan reads pages in processes, outlives pages that end one, and goes on behind the last chunk that was written."""

import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import msgspec
import pytest

from crawldedup import Options, Page
from crawldedup.commands.archives import Item
from crawldedup.commands.output import Output
from crawldedup.scan import read
from crawldedup.scan.folder import ScanFolder, opened_folder
from tests.processes import is_there
from tests.scan.pages import collection, columns_in, packed
from tests.scan.test_folder import shingles_in, urls_in

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
    on_skipped: Callable[[Exception], object] = ignore,
    progress: Callable[[int], None] = ignore,
) -> None:
    items = [Item(page.url, page=page) for page in pages]
    output = Output(as_json=False)
    chunks = read.chunks_of(["pages"], folder.step.place, lambda _name, _on_error: iter(items), ignore)
    with patch.object(output, "error", on_skipped):
        for _ in read.read_into(folder, chunks, options or Options(), workers, output, "skipped"):
            progress(folder.step.pages)


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


def test_pages_are_read_as_one_process_reads_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "_PAGES_A_CHUNK", 3)
    texts = [*collection(originals=40), "half a surrogate pair ?", ""]
    skipped: list[Exception] = []
    with opened_folder(tmp_path, TASK) as folder:
        pages = pages_of([text.replace("?", "\ud800") for text in texts])
        collect(folder, pages, workers=3, on_skipped=skipped.append)
        found, _ = folder.pages()
        alone = packed(pages_of(texts[:-1]))
        for name, column in columns_in(alone).by_name().items():
            assert (getattr(found, name) == column).all()
        assert shingles_in(folder) == alone["shingles"]
        assert urls_in(folder) == [page.url for page in pages[:-1]]
        assert list(map(str, skipped)) == [f"{pages[-1].url}: skipped (empty)"]
        assert folder.step.skipped == {"empty": 1}
    assert not children()


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
    skipped: list[Exception] = []
    with opened_folder(tmp_path / "work", TASK) as folder:
        given = [*pages[:4], hostile, *pages[4:]]
        collect(folder, given, options, on_skipped=skipped.append)
        assert folder.pages()[0].digest.tolist() == columns_in(packed(pages, options)).digest.tolist()
    assert list(map(str, skipped)) == [f"{hostile.url}: skipped ({reason})"]


def test_the_same_bytes_are_read_once_for_each_area(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "counting_pages.py").write_text("seen = []\ndef extract(html):\n    seen.append(html)\n    return html")
    monkeypatch.syspath_prepend(tmp_path)
    html = b"<main>some text</main><p>other text</p>"
    hosts = ["a.example", "b.example", "a.example", "b.example"]
    options = Options(extractor="counting_pages.extract", content={"a.example": "main"})
    columns = columns_in(packed([Page(f"https://{host}/", html=html) for host in hosts], options))
    import counting_pages  # type: ignore[import-not-found]

    # Of the other host an area is compared, without an extractor.
    assert len(counting_pages.seen) == 1
    assert len(set(columns.digest.tolist())) == 2
    assert columns.digest[:2].tolist() == columns.digest[2:].tolist()


def test_an_interrupt_ends_the_processes(tmp_path: Path) -> None:
    running: list[int] = []

    def interrupt(_: int) -> None:
        running.extend(children())
        raise KeyboardInterrupt

    with opened_folder(tmp_path, TASK) as folder, pytest.raises(KeyboardInterrupt):
        collect(folder, pages_of(collection(originals=100)), progress=interrupt)
    assert running
    time.sleep(0.05)
    assert not any(map(is_there, running))


@pytest.mark.parametrize("change", [
    lambda columns, skipped: ({**columns, "search": columns["search"][:-8]}, skipped),
    lambda columns, skipped: ({**columns, "verify": columns["verify"][:-1]}, skipped),
    lambda columns, skipped: ({"search": columns["search"]}, skipped),
    lambda columns, skipped: ({**columns, "shingles": columns["shingles"][:-4]}, skipped),
    lambda columns, skipped: (columns, {0: "a page too many"}),
    lambda columns, skipped: (dict.fromkeys(columns, b""), {place + 1: "empty" for place in range(20)}),
])  # fmt: skip
def test_an_answer_that_is_none_is_refused(change: object) -> None:
    answer = packed(pages_of(collection(originals=17)[:20])), {}
    assert read.read_answer(msgspec.msgpack.encode(answer), 20) == answer
    with pytest.raises((LookupError, ValueError)):
        read.read_answer(msgspec.msgpack.encode(change(*answer)), 20)  # type: ignore[operator]
