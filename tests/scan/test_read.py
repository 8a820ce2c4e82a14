"""A scan reads pages in processes, outlives pages that end one, and goes on behind the last whole
chunk.
"""

import hashlib
import os
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
import numpy as np
import pytest

from crawldedup import Options, Page
from crawldedup.commands.command import Output
from crawldedup.commands.items import Item
from crawldedup.errors import ConfigurationError
from crawldedup.scan import read
from crawldedup.scan.engine import LAYOUT
from crawldedup.scan.read import Packed, ScanFolder, Step, opened_folder
from crawldedup.workers.reading import plain_page
from tests.processes import command_line, is_there
from tests.scan.pages import collection, columns_in, of_texts, packed, shop

TASK = {"similarity": 0.9}
URLS = [f"https://a.example/{number}/ä\udc80" for number in range(43)]


def urls_in(folder: ScanFolder) -> list[str]:
    pages, urls = folder.pages()
    return [urls[row].tobytes().decode("utf-8", "surrogatepass") for row in range(len(pages))]


def shingles_in(folder: ScanFolder) -> bytes:
    pages, _ = folder.pages()
    assert pages.shingles is not None
    return b"".join(pages.shingles[row].tobytes() for row in range(len(pages)))


def with_urls(answer: Packed, urls: Sequence[str]) -> Packed:
    encoded = [url.encode("utf-8", "surrogatepass") for url in urls]
    return answer | {
        "urls": b"".join(encoded),
        "url_sizes": np.array(list(map(len, encoded)), np.uint32).tobytes(),
    }


@pytest.fixture
def parts() -> list[Packed]:
    texts = collection(originals=24)
    return [
        with_urls(of_texts(texts[:20]), URLS[:20]),
        with_urls(of_texts(texts[20:]), URLS[20 : len(texts)]),
    ]


def added(path: Path, *parts: Packed) -> None:
    with opened_folder(path, TASK) as folder:
        for number, part in enumerate(parts, 1):
            folder.add((0, 20 * number, 1), [part], ["empty"])


def test_all_parts_make_one_collection(tmp_path: Path, parts: list[Packed]) -> None:
    added(tmp_path / "scan", parts[0])
    with opened_folder(tmp_path / "scan", TASK) as folder:
        assert folder.step == Step((0, 20, 1), 20, {"empty": 1})
        folder.add((1, 0, 1), [parts[1]], ["empty", "binary"])
        count = 20 + len(columns_in(parts[1]))
        assert folder.step == Step((1, 0, 1), count, {"empty": 2, "binary": 1})
    with opened_folder(tmp_path / "scan", TASK) as folder:
        pages, _ = folder.pages()
        assert urls_in(folder) == URLS[:count]
        for name in LAYOUT:
            expected = np.concatenate([getattr(columns_in(part), name) for part in parts])
            assert (getattr(pages, name) == expected).all()
            assert getattr(pages, name).dtype == expected.dtype
        assert shingles_in(folder) == parts[0]["shingles"] + parts[1]["shingles"]
        # Nothing new is no part.
        folder.add((1, 0, 1), [], [])
        assert len(list((tmp_path / "scan").glob("*.part"))) == 2


@pytest.mark.parametrize(
    "tear", [lambda part: part[:-1], lambda part: bytes(len(part)), lambda _: b"", None]
)
@pytest.mark.parametrize(("torn", "whole"), [(0, 0), (1, 20)])
def test_what_a_power_cut_has_torn_is_read_again(
    tmp_path: Path,
    parts: list[Packed],
    torn: int,
    whole: int,
    tear: Callable[[bytes], bytes] | None,
) -> None:
    added(tmp_path, *parts)
    (tmp_path / "columns-killed").mkdir()
    path = tmp_path / f"{torn:06}.part"
    path.write_bytes(tear(path.read_bytes())) if tear else path.unlink()
    with opened_folder(tmp_path, TASK) as folder:
        assert folder.step.pages == whole
        assert not (tmp_path / "columns-killed").exists()
        for part in parts[torn:]:
            folder.add((1, len(part["thin"]), 0), [part], [])
        assert urls_in(folder) == URLS[: sum(len(part["thin"]) for part in parts)]


@pytest.mark.parametrize(
    ("change", "task", "message"),
    [
        (None, {"similarity": 0.8}, "started with different similarity"),
        (lambda path: (path / "scan.json").write_bytes(b"short"), TASK, "damaged"),
        (lambda path: (path / "scan.json").unlink(), TASK, "something other than a scan"),
        *(
            (
                lambda path, change=change: forge(path / "000000.part", change),
                TASK,
                "not written by a scan",
            )
            for change in (
                lambda step, columns: ["\x1b[31m", columns],
                lambda step, columns: [step, [{}]],
                lambda step, columns: [step, [{**columns[0], "search": columns[0]["search"][:-3]}]],
                lambda step, columns: [step, [{**columns[0], "url_sizes": b"\xff" * 80}]],
                lambda step, columns: [[step[0], 2**50, step[2]], columns],
                lambda step, columns: [[*step[:2], {"\x1b[31m": 3}], columns],
            )
        ),
    ],
)
def test_a_folder_of_another_scan_or_of_none_is_refused_and_left_alone(
    tmp_path: Path,
    parts: list[Packed],
    change: Callable[[Path], object] | None,
    task: dict[str, object],
    message: str,
) -> None:
    added(tmp_path, *parts)
    if change is not None:
        change(tmp_path)
    before = {path.name for path in tmp_path.iterdir()}
    with pytest.raises(ConfigurationError, match=message), opened_folder(tmp_path, task):
        pass
    assert {path.name for path in tmp_path.iterdir()} == before


def forge(part: Path, change: Callable[[Any, Any], object]) -> None:
    """Change a part, and give it the digest that it should have."""
    step, columns = msgspec.msgpack.decode(part.read_bytes()[16:])
    content = msgspec.msgpack.encode(change(step, columns))
    part.write_bytes(hashlib.blake2b(content, digest_size=16).digest() + content)


def test_a_folder_at_work_is_refused(tmp_path: Path) -> None:
    with (
        opened_folder(tmp_path, TASK),
        pytest.raises(ConfigurationError, match="another scan is running"),
    ):
        added(tmp_path)


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
    chunks = read.chunks_of(
        ["pages"], folder.step.place, lambda _name, _on_error: iter(items), ignore
    )
    with patch.object(output, "error", on_skipped):
        for _ in read.read_into(folder, chunks, options or Options(), workers, output, "skipped"):
            progress(folder.step.pages)


def pages_of(texts: list[str], kind: str = "text") -> list[Page]:
    return [
        Page(f"https://a.example/{number}/ä\udc80", **{kind: text})
        for number, text in enumerate(texts)
    ]


def children() -> list[int]:
    """Return the worker processes of this one, which may have servers of other tests, too."""
    path = Path(f"/proc/self/task/{os.getpid()}/children")
    is_worker = re.compile(rb"crawldedup\.workers\.program")
    return [
        pid for pid in map(int, path.read_text().split()) if is_worker.search(command_line(pid))
    ]


def test_pages_are_read_as_one_process_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "_PAGES_A_CHUNK", 3)
    texts = [*collection(originals=40), "half a surrogate pair ?", ""]
    skipped: list[Exception] = []
    with opened_folder(tmp_path, TASK) as folder:
        pages = pages_of([text.replace("?", "\ud800") for text in texts])
        collect(folder, pages, workers=3, on_skipped=skipped.append)
        found, _ = folder.pages()
        alone = packed(pages_of(texts[:-1]))
        for name in LAYOUT:
            assert (getattr(found, name) == getattr(columns_in(alone), name)).all()
        assert shingles_in(folder) == alone["shingles"]
        assert urls_in(folder) == [page.url for page in pages[:-1]]
        assert list(map(str, skipped)) == [f"{pages[-1].url}: skipped (empty)"]
        assert folder.step.skipped == {"empty": 1}
    assert not children()


def test_the_same_html_is_a_shell_where_its_title_says_nothing() -> None:
    html = "<title>Blue lamp</title><script src=/a.js></script><div id=root></div>"
    paths = ("blue-lamp", "4711", "blue-lamp?utm_source=x", "4712")
    pages = [plain_page(Page(f"https://acme.example/{path}", html=html)) for path in paths]
    _, skipped = read.reader(Options().index_values())(pages)
    assert skipped == {1: "shell", 3: "shell"}


@pytest.mark.parametrize(
    ("word", "reason"), [("KILL", "crashed"), ("SLOW", "too_slow"), ("STOP", "too_slow")]
)
def test_a_page_that_ends_its_process_is_skipped_alone(
    word: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hostile_pages.py").write_text(EXTRACTOR)
    monkeypatch.syspath_prepend(tmp_path)
    # Healthy pages must have the time they need on a busy machine.
    monkeypatch.setattr(read, "_SECONDS", 4.0)
    monkeypatch.setattr(read, "_SECONDS_A_PAGE", 0.05)
    pages = pages_of([f"<p>{each}" for each in collection(originals=3)], "html")
    hostile = Page("https://hostile.example/", html=f"<p>{word} {pages[4].html!r}")
    options = Options(extractor="hostile_pages.extract")
    skipped: list[Exception] = []
    with opened_folder(tmp_path / "work", TASK) as folder:
        given = [*pages[:4], hostile, *pages[4:]]
        collect(folder, given, options, on_skipped=skipped.append)
        assert (
            folder.pages()[0].digest.tolist() == columns_in(packed(pages, options)).digest.tolist()
        )
    assert list(map(str, skipped)) == [f"{hostile.url}: skipped ({reason})"]


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


def test_a_folder_keeps_the_marks_of_each_page(tmp_path: Path) -> None:
    pages = shop(1, pages=6)
    for part in (pages[:4], pages[4:]):
        with opened_folder(tmp_path / "scan", TASK) as folder:
            place = (0, folder.step.pages + len(part), 0)
            folder.add(place, [with_urls(packed(part), [page.url for page in part])], [])
    with opened_folder(tmp_path / "scan", TASK) as folder:
        kept, _ = folder.pages()
    expected = columns_in(packed(pages))
    assert kept.marks is not None
    assert expected.marks is not None
    for row in range(len(pages)):
        assert len(kept.marks[row])
        assert kept.marks[row].tolist() == expected.marks[row].tolist()
