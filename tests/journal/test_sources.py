from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from crawldedup.errors import ConfigurationError
from crawldedup.journal import CrawlSummary, crawls, journals
from crawldedup.journal.files import FileJournal
from tests.journal.lines import END, START, header, page
from tests.journal.test_files import write

if TYPE_CHECKING:
    from pathlib import Path


def test_the_last_crawl_or_a_named_one_is_found_with_all_its_processes(tmp_path: Path) -> None:
    older = write(tmp_path, "z", page(1), END)
    newer = [write(tmp_path, "a", page(1), END, started=START + 5), write(tmp_path, "a", started=START + 9)]
    (tmp_path / "foreign.jsonl").write_text("{}\n")
    with journals(tmp_path) as found:
        assert sorted(found) == sorted(newer)
    with journals(str(tmp_path), "z") as found:
        assert found == [older]
    with journals(older) as found:
        assert found == [older]


def test_crawls_are_listed_latest_first_with_what_became_of_them(tmp_path: Path) -> None:
    write(tmp_path, "ended", page(1), page(2), END)
    killed = write(tmp_path, "killed", page(1), page(2), started=START + 1)
    with killed.open("ab") as file:
        file.write(b'{"t": 2, "url": "http')
    write(tmp_path, "fleet", page(1), END, started=START + 2)
    running = FileJournal(tmp_path, header("fleet", started=START + 3), "host-2", keep=9)
    assert crawls(tmp_path) == [
        CrawlSummary("fleet", "news", START + 2, 2, 2, "running"),
        CrawlSummary("killed", "news", START + 1, 1, 2, "unfinished"),
        CrawlSummary("ended", "news", START, 1, 2, "finished"),
    ]
    running.close()
    assert crawls(killed) == [CrawlSummary("killed", "news", START + 1, 1, 2, "unfinished")]


@pytest.mark.parametrize(
    ("source", "crawl", "message"),
    [
        ("missing", None, "there is nothing at"),
        ("foreign.jsonl", None, "its first line is no header"),
        ("empty", None, "there is no journal of a crawl in"),
        ("full", "b", "there is no crawl 'b' in .*; there are: a$"),
    ],
)
def test_a_source_without_the_crawl_says_what_is_wrong(
    tmp_path: Path, source: str, crawl: str | None, message: str
) -> None:
    (tmp_path / "foreign.jsonl").write_text("{}\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "full").mkdir()
    write(tmp_path / "full", "a")
    with pytest.raises(ConfigurationError, match=message), journals(tmp_path / source, crawl):
        pass
