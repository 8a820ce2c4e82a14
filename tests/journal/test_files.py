from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from crawldedup.journal import files
from crawldedup.journal.files import FileJournal, end_of, is_written, journals_in, prune
from crawldedup.journal.records import line_of, record_in
from tests.journal.lines import END, START, header, page

if TYPE_CHECKING:
    from pathlib import Path


def write(folder: Path, crawl: str, *records: dict[str, object], started: float = START) -> Path:
    """Write a journal, and return its path."""
    before = set(folder.glob("*"))
    journal = FileJournal(folder, header(crawl, started=started), "host-1", keep=1000)
    for record in records:
        journal.write(line_of(record))
    journal.close()
    (path,) = set(folder.glob("*")) - before
    return path


def crawls_in(folder: Path) -> list[str]:
    return [journal.header["crawl"] for journal in journals_in(folder)]


def test_a_line_is_in_the_file_as_soon_as_it_is_written(tmp_path: Path) -> None:
    journal = FileJournal(tmp_path / "new" / "folder", header("a"), "host-1", keep=1)
    journal.write(line_of(page(1)))
    path = tmp_path / "new" / "folder" / "a-host-1.jsonl"
    assert [record_in(line) for line in path.read_bytes().splitlines()] == [header("a"), page(1)]
    assert is_written(path)
    journal.close()
    assert not is_written(path)


def test_two_journals_of_one_name_are_two_files(tmp_path: Path) -> None:
    assert write(tmp_path, "a", page(1)) != write(tmp_path, "a", page(2))
    assert crawls_in(tmp_path) == ["a", "a"]


def test_the_oldest_crawls_make_room_and_nothing_else_does(tmp_path: Path) -> None:
    for number in range(6):
        write(tmp_path, f"c{number}", page(1), started=START + number)
    write(tmp_path, "c4", page(1), started=START + 10)
    running = FileJournal(tmp_path, header("c1", started=START + 1), "host-2", keep=1000)
    foreign = [tmp_path / "notes.txt", tmp_path / "items.jsonl", tmp_path / "empty.jsonl"]
    for path, text in zip(foreign, ["crawldedup_journal", '{"crawl": "c0"}\n', ""], strict=True):
        path.write_text(text)
    os.mkfifo(tmp_path / "pipe.jsonl")
    prune(tmp_path, 3, present="c9")
    # Of a crawl that still runs, what other processes have left stays, too.
    assert crawls_in(tmp_path) == ["c1", "c1", "c4", "c4", "c5"]
    assert all(path.exists() for path in foreign)
    running.close()
    prune(tmp_path, 1, present="c4")
    assert crawls_in(tmp_path) == ["c4", "c4"]


def test_earlier_crawls_are_bounded_in_bytes_but_for_the_last_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [write(tmp_path, f"c{number}", *[page(1)] * 50, started=START + number) for number in range(4)]
    monkeypatch.setattr(files, "MOST_BYTES", 2 * paths[0].stat().st_size)
    prune(tmp_path, 20, present="c9")
    assert crawls_in(tmp_path) == ["c2", "c3"]
    monkeypatch.setattr(files, "MOST_BYTES", 1)
    prune(tmp_path, 20, present="c9")
    assert crawls_in(tmp_path) == ["c3"]


def test_a_journal_goes_on_after_a_full_disk_and_tells_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_all, room = os.write, 10

    def write_what_fits(file: int, lines: bytes) -> int:
        return write_all(file, lines[:room])

    monkeypatch.setattr(os, "write", write_what_fits)
    journal = FileJournal(tmp_path, header("a"), "host-1", keep=1)
    journal.write(line_of(page(1)))
    assert "No space left" in (journal.trouble or "")
    room = 1000
    journal.write(line_of(page(2)))
    room = 10
    journal.write(line_of(page(3)))
    journal.write(line_of(page(4)))
    room = 1000
    journal.write(line_of(END))
    assert journal.lost == 3
    lines = (tmp_path / "a-host-1.jsonl").read_bytes().splitlines()
    assert [record_in(line) for line in lines] == [header("a"), {"lost": 1}, page(2), {"lost": 3}, END]


def test_a_directory_that_cannot_be_used_costs_lines_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    journal = FileJournal(tmp_path / "file" / "below", header("a"), "host-1", keep=1)
    journal.write(line_of(page(1)))
    journal.close()
    assert journal.trouble is not None
    assert journal.lost == 1


@pytest.mark.parametrize("tail", [b"", b'{"t": 9, "ur', b'{"t": 9}\n'])
def test_a_journal_has_an_end_if_it_is_the_last_line(tmp_path: Path, tail: bytes) -> None:
    path = write(tmp_path, "a", page(1), END)
    with path.open("ab") as file:
        file.write(tail)
    assert end_of(path) == (None if tail else END)
