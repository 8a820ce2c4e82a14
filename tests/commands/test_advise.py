"""`crawldedup advise`, on journals and on the rules that an index keeps."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from crawldedup import Deduplicator
from crawldedup.advice.kept import NOTE, KeptRules
from crawldedup.advice.rules import Rule
from crawldedup.cli import main
from tests.advice.known_site import BUILT_WITH, known_site, verdicts


def journal(folder: Path, *more: str) -> str:
    header = json.dumps({"crawldedup_journal": 1, "crawl": "known", "spider": "known", "started": 1.0})
    pages = [json.dumps({"t": 1.0, **asdict(seen), "bytes": 9}) for seen in verdicts(known_site())]
    (folder / "known.jsonl").write_text("\n".join([header, *pages, *more]))
    return str(folder)


def rules_in(out: str) -> set[tuple[str, ...]]:
    return {Rule.from_dict(each).id for each in json.loads(out)}


def test_rules_of_journals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", "--json", journal(tmp_path)]) == 0
    assert rules_in(capsys.readouterr().out) == BUILT_WITH
    assert main(["advise", str(tmp_path)]) == 0
    assert "?utm_campaign&utm_source" in capsys.readouterr().out


def test_a_cut_off_line_is_left_out_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", "--json", journal(tmp_path, '{"t": 3, "url": "https://e')]) == 1
    out, err = capsys.readouterr()
    assert rules_in(out) == BUILT_WITH
    assert "1 line cannot be read" in err


def test_other_formats_say_what_they_leave_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", "--format", "duplicate-url-discarder", journal(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert len(json.loads(out)) == 4
    assert f"{len(BUILT_WITH) - 4} rules left out" in err
    assert main(["advise", "--format", "deny", str(tmp_path)]) == 0
    assert isinstance(json.loads(capsys.readouterr().out), list)


def test_rules_of_an_index(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = f"sqlite:///{tmp_path}/index.sqlite"
    hostile = Rule("query", "https://e.com", "\x1b[31msid", support=7)
    with Deduplicator(store) as dedup:
        dedup.note(NOTE, KeptRules((hostile,)).to_text())
    assert main(["advise", "--store", store]) == 0
    out = capsys.readouterr().out
    assert "\\x1b[31msid" in out
    assert "\x1b[31m" not in out


def test_what_is_no_journal_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "other.jsonl").write_text('{"url": "https://e.com"}\n')
    assert main(["advise", str(tmp_path)]) == 2
    assert "is no journal of a crawl" in capsys.readouterr().err
