"""Journals as evidence."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from crawldedup.advice.evidence import Evidence, Seen
from crawldedup.advice.rules import Rule
from crawldedup.errors import ConfigurationError
from crawldedup.journal.records import line_of
from crawldedup.journal.verdicts import collect, verdicts

HEADER = json.dumps({"crawldedup_journal": 1, "crawl": "x"})
SEEN = Seen("https://e.com/a", "near", "https://e.com/b", "0123456789abcdef", "https://e.com/", replaces=True)


def journal_of(folder: Path, *lines: str) -> Path:
    journal = folder / "a.jsonl"
    journal.write_text("\n".join(lines), encoding="utf-8")
    return journal


def test_page_lines_are_read_and_others_are_not(tmp_path: Path) -> None:
    page = json.dumps({"t": 1.0, **asdict(SEEN), "bytes": 9})
    wall, end = json.dumps({"t": 2, "wall": "https://e.com/a"}), json.dumps({"t": 3, "end": "finished", "stats": {}})
    rule = Rule("query", "https://e.com", "sid", section="/a/")
    withdrawn = json.dumps({"t": 3, "withdrawn": rule.id_as_dict()})
    assert list(verdicts(journal_of(tmp_path, HEADER, page, wall, withdrawn, end))) == [SEEN, rule]


def test_what_cannot_be_read_is_counted(tmp_path: Path) -> None:
    bad = ['{"url": "https://e.com/a", "outc', "[]", '{"url": 1}', '{"url": "x", "outcome": "new", "referer": 1}', "["]
    bad += ['{"withdrawn": {"kind": "query"}}', '{"withdrawn": 1}']
    assert list(verdicts(journal_of(tmp_path, HEADER, *bad))) == [None] * len(bad)


@pytest.mark.parametrize("first", ["", "{}", "[1]", "\x00", '{"url": "https://e.com/a"}'])
def test_another_file_is_refused(tmp_path: Path, first: str) -> None:
    with pytest.raises(ConfigurationError, match="is no journal of a crawl"):
        list(verdicts(journal_of(tmp_path, first)))


def test_pages_are_collected_until_there_are_enough(tmp_path: Path) -> None:
    pages = [json.dumps({**asdict(SEEN), "url": f"https://e{number}.com/"}) for number in range(9)]
    rule = Rule("query", "https://e.com", "sid")
    withdrawn = line_of({"withdrawn": rule.id_as_dict()}).decode()
    journal = journal_of(tmp_path, HEADER, "[", *pages, "[", withdrawn)
    for most, unreadable in ((30, 2), (3, 1)):
        evidence = Evidence(most)
        assert collect([journal], evidence) == unreadable
    assert len(evidence.pages) == 3
    # A crawl may find it wrong at its end.
    assert evidence.withdrawn == [rule]
