from __future__ import annotations

from pathlib import Path

import pytest

from crawldedup.errors import ConfigurationError
from crawldedup.journal.files import FileJournal, journals_in
from crawldedup.journal.names import check_crawl, check_journal, crawl_of, is_name
from tests.journal.lines import START, header

SPIDERS = [
    "news",
    "../../etc/news",
    "..",
    "a/b",
    "a_b",
    "a\\b",
    "nachrichten täglich",
    "\udce9",
    "x" * 300,
    "x" * 301,
    "",
]


def test_every_spider_has_a_crawl_of_its_own_whose_file_is_in_the_directory(tmp_path: Path) -> None:
    names = [crawl_of(spider, START) for spider in SPIDERS]
    assert names[0] == "news-20261118T110640.000"
    assert len(set(names)) == len(SPIDERS)
    for name in names:
        assert is_name(name)
        FileJournal(tmp_path / "journals", header(name), "host-1", keep=20).close()
    assert len(list(journals_in(tmp_path / "journals"))) == len(SPIDERS)
    assert [path.name for path in tmp_path.iterdir()] == ["journals"]


@pytest.mark.parametrize("value", ["crawldedup", "/var/journals", "store", "redis://host", "redis+cluster://a:1,b:2"])
def test_places_of_journals(value: str) -> None:
    assert check_journal("JOURNAL", value) == value


@pytest.mark.parametrize("value", [False, "False", "0"])
def test_no_journal(value: object) -> None:
    assert check_journal("JOURNAL", value) is False


def test_a_path_is_a_place() -> None:
    assert check_journal("JOURNAL", Path("/var/journals")) == "/var/journals"


@pytest.mark.parametrize("value", [True, "", 7, None, "sqlite:///x.sqlite", "redis://host/x", "http://host"])
def test_what_is_no_place_is_refused(value: object) -> None:
    with pytest.raises(ConfigurationError, match=r"^JOURNAL"):
        check_journal("JOURNAL", value)


@pytest.mark.parametrize("value", ["", "a/b", "a b", "x" * 101, 7, "ä", "a\n"])
def test_what_is_no_name_of_a_crawl_is_refused(value: object) -> None:
    with pytest.raises(ConfigurationError, match=r"^CRAWL"):
        check_crawl("CRAWL", value)
