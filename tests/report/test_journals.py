from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from crawldedup.errors import ConfigurationError
from crawldedup.journal import journals
from crawldedup.report.journals import find_journals
from tests.report.synthetic_journal import STARTED, header, write_lines

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two processes of the last crawl, one of an earlier one, and what is no journal."""
    for number, name, started in ((1, "old", 0), (2, "new", 60), (3, "new", 70)):
        write_lines(tmp_path / f"{name}-{number}.jsonl", [header(name, pid=number, started=STARTED + started)])
    (tmp_path / "items.jsonl").write_text('{"url": "https://example.com/"}\n')
    (tmp_path / "empty.jsonl").touch()
    return tmp_path


def test_the_last_crawl_of_a_folder_is_found_with_all_its_processes(folder: Path) -> None:
    assert [journal.pid for journal in find_journals([str(folder)])] == [2, 3]
    assert [journal.pid for journal in find_journals([str(folder)], "old")] == [1]


def test_files_are_taken_as_one_crawl(folder: Path) -> None:
    names = [str(folder / name) for name in ("old-1.jsonl", "new-2.jsonl")]
    assert [journal.pid for journal in find_journals(names)] == [1, 2]


def test_what_cannot_be_reported_is_named(folder: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"no journal of a crawl: its first line is no header"):
        find_journals([str(folder / "items.jsonl")])
    with pytest.raises(ConfigurationError, match="those that are there: new, old"):
        find_journals([str(folder)], "newer")
    with pytest.raises(ConfigurationError, match="there is no file or folder"):
        find_journals([str(folder / "nothing")])
    (folder / "void").mkdir()
    with pytest.raises(ConfigurationError, match="there are no journals"):
        find_journals([str(folder / "void")])


def test_a_journal_of_a_newer_version_is_named_and_others_are_read(folder: Path) -> None:
    write_lines(folder / "newest.jsonl", [header("newest", crawldedup_journal=99)])
    message = r"newest.jsonl was written by a newer crawldedup: it has version 99 .* this crawldedup reads version 1"
    for sources in ([str(folder)], [str(folder / "newest.jsonl"), str(folder / "new-2.jsonl")]):
        told: list[ConfigurationError] = []
        assert {journal.crawl for journal in find_journals(sources, refuse=told.append)} == {"new"}
        (error,) = told
        assert re.search(message, str(error))
        assert find_journals(sources[-1:], "new", told.append)
        assert told == [error]
    for crawl in (None, "newest"):
        with pytest.raises(ConfigurationError, match=message):
            find_journals([str(folder / "newest.jsonl" if crawl is None else folder)], crawl)
    for path in folder.glob("[on]*-*"):
        path.unlink()
    with pytest.raises(ConfigurationError, match=message), journals(folder):
        pass


@pytest.mark.parametrize(
    "changes",
    [{"started": float("nan")}, {"started": 1e300}, {"started": "now"}, {"crawldedup_journal": 2}],
)
def test_a_broken_header_is_none(tmp_path: Path, changes: dict[str, Any]) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text(json.dumps(header(**changes)))
    with pytest.raises(ConfigurationError):
        find_journals([str(path)])


def test_deeply_nested_and_endless_first_lines_are_none(tmp_path: Path) -> None:
    for number, text in enumerate(("[" * 100_000, "a" * 3_000_000, "\0" * 10)):
        (tmp_path / f"{number}.jsonl").write_text(text)
    with pytest.raises(ConfigurationError, match="there are no journals"):
        find_journals([str(tmp_path)])
