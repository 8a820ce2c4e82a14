"""What a scan has read outlives it, up to the last step that was written whole."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from crawldedup import Options, Page
from crawldedup.errors import ConfigurationError
from crawldedup.reading.keys import NO_KEY
from crawldedup.scan.folder import ScanFolder
from crawldedup.scan.reading import BatchReader, ReadPages, UnsoundError
from tests.scan.pages import collection

TASK = {"similarity": 0.9}


def read(texts: list[str], first: int = 0) -> tuple[ReadPages, list[str]]:
    urls = [f"https://a.example/{first + number}/ä\udc80" for number in range(len(texts))]
    pages = [Page(url, text=text) for url, text in zip(urls, texts, strict=True)]
    return BatchReader(Options(), NO_KEY, ranks=False).read(pages), urls


@pytest.fixture
def parts() -> list[tuple[ReadPages, list[str]]]:
    texts = collection(originals=30)
    return [read(texts[:20]), read(texts[20:], 20)]


def test_a_folder_holds_what_was_added(tmp_path: Path, parts: list[tuple[ReadPages, list[str]]]) -> None:
    with ScanFolder(tmp_path / "scan", TASK) as folder:
        for part in parts:
            folder.add(*part)
        folder.finish_step(1, 0, 2, {"empty": 3})
        columns, urls = folder.columns(), folder.urls()
        for name, column in columns.by_name().items():
            expected = np.concatenate([getattr(part.columns, name) for part, _ in parts])
            assert (column == expected).all()
            assert column.dtype == expected.dtype
        assert [urls[row] for row in range(len(columns))] == [url for _, each in parts for url in each]
        assert (folder.step.errors, folder.step.skipped) == (2, {"empty": 3})


def test_a_step_counts_what_the_disk_has(
    tmp_path: Path, parts: list[tuple[ReadPages, list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a power cut, a step that was written must find its columns."""
    synced: list[str] = []
    monkeypatch.setattr(os, "fdatasync", lambda number: synced.append(Path(f"/proc/self/fd/{number}").readlink().name))
    with ScanFolder(tmp_path / "scan", TASK) as folder:
        folder.add(*parts[0])
        folder.finish_step(0, 20, 0, {})
    *columns, last = synced
    assert sorted(columns) == sorted(path.name for path in (tmp_path / "scan").glob("*.bin"))
    assert last == "steps.jsonl"


@pytest.mark.parametrize("torn", ["nothing", "columns", "step", "both"])
def test_what_is_behind_the_last_step_is_dropped(
    tmp_path: Path, parts: list[tuple[ReadPages, list[str]]], torn: str
) -> None:
    with ScanFolder(tmp_path / "scan", TASK) as folder:
        folder.add(*parts[0])
        folder.finish_step(0, 20, 0, {})
        if torn in ("columns", "both"):
            folder.add(*parts[1])
    if torn in ("step", "both"):
        with (tmp_path / "scan" / "steps.jsonl").open("ab") as steps:
            steps.write(b"[0, 40, 4")
    with ScanFolder(tmp_path / "scan", TASK) as folder:
        assert (folder.step.source, folder.step.items, folder.step.pages) == (0, 20, 20)
        folder.add(*parts[1])
        folder.finish_step(1, 0, 0, {})
    with ScanFolder(tmp_path / "scan", TASK) as folder:
        urls = folder.urls()
        assert [urls[row] for row in range(folder.step.pages)] == [url for _, each in parts for url in each]
        assert folder.columns().words.tolist() == [*parts[0][0].columns.words, *parts[1][0].columns.words]


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


def test_a_damaged_folder_is_refused(tmp_path: Path, parts: list[tuple[ReadPages, list[str]]]) -> None:
    with ScanFolder(tmp_path / "scan", TASK) as folder:
        folder.add(*parts[0])
        folder.finish_step(1, 0, 0, {})
    (tmp_path / "scan" / "search.bin").write_bytes(b"short")
    with pytest.raises(ConfigurationError, match="damaged"):
        ScanFolder(tmp_path / "scan", TASK)


def test_a_message_of_a_worker_is_what_was_read(parts: list[tuple[ReadPages, list[str]]]) -> None:
    part = parts[0][0]
    message = ReadPages.unpacked(part.packed(), 20)
    for name, column in part.columns.by_name().items():
        assert (getattr(message.columns, name) == column).all()


@pytest.mark.parametrize("change", [
    lambda message: message[:-1],
    lambda message: message + b"x",
    lambda message: b"",
    lambda message: message[:4] + b"{" * 60 + message[64:],
    lambda message: message.replace(b'"pages": 20', b'"pages": -1'),
    lambda message: message.replace(b'"skipped": {}', b'"skipped": 7 '),
])  # fmt: skip
def test_a_message_that_is_none_is_refused(change: object, parts: list[tuple[ReadPages, list[str]]]) -> None:
    message = parts[0][0].packed()
    changed = change(message)  # type: ignore[operator]
    assert changed != message
    with pytest.raises(UnsoundError):
        ReadPages.unpacked(changed, 20)
