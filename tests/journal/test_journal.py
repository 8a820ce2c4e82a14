"""Journals in files: written, pruned, named, found again, and read as evidence."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from crawldedup.checks import namespace
from crawldedup.errors import ConfigurationError
from crawldedup.journal import (
    LONGEST_URL,
    CrawlSummary,
    FileJournal,
    check_journal,
    crawl_of,
    crawls,
    journals,
    line_of,
    shown,
)
from tests.journal.lines import END, START, header, page


def write(
    folder: Path, crawl: str, *records: dict[str, Any], started: float = START, keep: int = 1000
) -> Path:
    """Write a journal, and return its path."""
    before = set(folder.glob("*"))
    journal = FileJournal(folder, header(crawl, started=started), keep=keep)
    for record in records:
        journal.write(line_of(record))
    journal.close()
    (path,) = set(folder.glob("*")) - before
    return path


def lines_in(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def names_in(folder: Path) -> list[str]:
    return sorted(crawl.name for crawl in crawls(folder) for _ in range(crawl.processes))


def test_a_line_is_in_the_file_as_soon_as_it_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    journal = FileJournal(folder, header("a"), keep=1)
    journal.write(line_of(page(1)))
    assert lines_in(folder / "a-host-1.jsonl") == [header("a"), page(1)]
    assert crawls(folder)[0].state == "running"
    journal.close()
    assert crawls(folder)[0].state == "unfinished"
    # Another of its name is another file.
    assert lines_in(write(folder, "a", page(2))) == [header("a"), page(2)]
    assert names_in(folder) == ["a", "a"]


def test_the_oldest_crawls_make_room_and_nothing_else_does(tmp_path: Path) -> None:
    for number in range(6):
        write(tmp_path, f"c{number}", page(1), started=START + number)
    write(tmp_path, "c4", page(1), started=START + 10)
    running = FileJournal(tmp_path, header("c1", started=START + 1, pid=2), keep=1000)
    foreign = [tmp_path / "notes.txt", tmp_path / "items.jsonl", tmp_path / "empty.jsonl"]
    for path, text in zip(foreign, ["crawldedup_journal", '{"crawl": "c0"}\n', ""], strict=True):
        path.write_text(text)
    os.mkfifo(tmp_path / "pipe.jsonl")
    FileJournal(tmp_path, header("c9"), keep=3).close()
    # Of a crawl that still runs, what other processes have left stays, too.
    assert names_in(tmp_path) == ["c1", "c1", "c4", "c4", "c5", "c9"]
    assert all(path.exists() for path in foreign)
    running.close()


def test_failed_starts_and_other_spiders_do_not_push_out_a_crawl(tmp_path: Path) -> None:
    write(tmp_path, "good", page(1), END)
    for number in range(5):
        write(tmp_path, f"failed{number}", END, started=START + 1 + number, keep=2)
        about = header(f"other{number}", started=START + 10 + number) | {"spider": "other"}
        FileJournal(tmp_path, about, keep=2).close()
    assert names_in(tmp_path) == ["failed3", "failed4", "good", "other3", "other4"]


def test_a_full_disk_and_a_directory_that_cannot_be_used_cost_lines_alone(tmp_path: Path) -> None:
    journal = FileJournal(tmp_path, header("a"), keep=1)
    with mock.patch("os.write", side_effect=OSError("No space left")):
        journal.write(line_of(page(1)))
    assert journal.trouble == "No space left"
    journal.write(line_of(page(2)))
    assert lines_in(tmp_path / "a-host-1.jsonl") == [header("a"), page(2)]
    journal = FileJournal(tmp_path / "a-host-1.jsonl" / "below", header("a"), keep=1)
    journal.write(line_of(page(1)))
    journal.close()
    assert journal.trouble is not None


SPIDERS = [
    "news",
    "../../etc/news",
    "..",
    "a/b",
    "a_b",
    "a\\b",
    "täglich",
    "\udce9",
    "x" * 300,
    "x" * 301,
    "",
]


def test_every_spider_has_a_crawl_of_its_own_whose_file_is_in_the_directory(tmp_path: Path) -> None:
    names = [crawl_of(spider, START) for spider in SPIDERS]
    assert names[0] == "news-20261118T110640.000"
    for name in names:
        assert namespace("CRAWL", name) == name
        FileJournal(tmp_path / "journals", header(name), keep=20).close()
    assert sorted(names_in(tmp_path / "journals")) == sorted(set(names))
    assert [path.name for path in tmp_path.iterdir()] == ["journals"]


def test_a_place_of_journals_is_a_directory_or_false() -> None:
    assert [check_journal("JOURNAL", each) for each in (Path("/var/a"), "False")] == [
        "/var/a",
        False,
    ]
    for place in ("redis://h", True, "", 7, None):
        with pytest.raises(ConfigurationError, match=r"^JOURNAL is .*a directory, or False"):
            check_journal("JOURNAL", place)


HOSTILE = [
    "https://e.com/\"}\n{'",
    "https://e.com/\u202e\u2028\x1b[31m\udce9",
    "\U0001f600" * 10_000,
]


@pytest.mark.parametrize("url", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_url_stays_in_its_line(url: str) -> None:
    line = line_of({"url": shown(url)})
    assert line.isascii()
    assert line.splitlines(keepends=True) == [line]
    arrived = json.loads(line)["url"]
    # DuckDB and others refuse what is no Unicode text.
    arrived.encode("utf-8")
    assert arrived[:14] == url[:14]
    assert len(arrived) <= LONGEST_URL


def test_long_urls_that_differ_at_their_ends_stay_different() -> None:
    cut = {shown("https://e.com/" + "a" * 10_000 + end) for end in "xyz"}
    assert len(cut) == 3
    assert all(len(url) == LONGEST_URL and url.endswith("…") for url in cut)
    assert shown("x" * LONGEST_URL) == "x" * LONGEST_URL


def test_the_last_crawl_or_a_named_one_is_found_with_all_its_processes(tmp_path: Path) -> None:
    older = write(tmp_path, "z", page(1), END)
    newer = [
        write(tmp_path, "a", page(1), END, started=START + 5),
        write(tmp_path, "a", started=START + 9),
    ]
    (tmp_path / "foreign.jsonl").write_text("{}\n")
    assert journals(tmp_path) == newer
    assert journals(str(tmp_path), "z") == journals(older) == [older]


def test_crawls_are_listed_latest_first_with_what_became_of_them(tmp_path: Path) -> None:
    write(tmp_path, "ended", page(1), page(2), END)
    killed = write(tmp_path, "killed", page(1), page(2), started=START + 1)
    with killed.open("ab") as file:
        file.write(b'{"t": 2, "url": "http')
    write(tmp_path, "fleet", page(1), END, started=START + 2)
    running = FileJournal(tmp_path, header("fleet", started=START + 3, pid=2), keep=9)
    assert crawls(tmp_path) == [
        CrawlSummary("fleet", "news", START + 2, 2, 1, "running"),
        CrawlSummary("killed", "news", START + 1, 1, 2, "unfinished"),
        CrawlSummary("ended", "news", START, 1, 2, "finished"),
    ]
    running.close()


NO_HEADERS = [
    *("", "{", "[1]", "[" * 100_000, "a" * 3_000_000, '{"a": 1}'),
    *(
        json.dumps(header("a") | change)
        for change in ({"crawldedup_journal": 2}, {"crawl": 7}, {"started": 1e300})
    ),
]


def test_a_file_without_a_header_is_not_a_journal(tmp_path: Path) -> None:
    for line in NO_HEADERS:
        (tmp_path / "a.jsonl").write_text(line)
        assert crawls(tmp_path) == [], line[:50]
        with pytest.raises(ConfigurationError, match="is not the journal of a crawl"):
            crawls(tmp_path / "a.jsonl")
