"""`crawldedup advise`, on journals."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from crawldedup.advice.rules import read_rules
from crawldedup.cli import main
from tests.advice.known_site import BUILT_WITH, known_site, verdicts


def journal(folder: Path, *more: str) -> str:
    header = json.dumps({"crawldedup_journal": 1, "crawl": "known", "spider": "known", "started": 1.0})
    pages = [json.dumps({"t": 1.0, **asdict(seen), "bytes": 9}) for seen in verdicts(known_site())]
    (folder / "known.jsonl").write_text("\n".join([header, *pages, *more]))
    return str(folder)


def rules_in(rules: list[dict[str, Any]]) -> set[tuple[str, ...]]:
    return {(rule["kind"], rule["site"], rule["find"], rule["replace"]) for rule in rules}


def test_rules_of_journals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", "--json", journal(tmp_path)]) == 0
    assert rules_in(json.loads(capsys.readouterr().out)) == {*BUILT_WITH}
    # The parts of a fleet, from several machines.
    lines = (tmp_path / "known.jsonl").read_text().splitlines()
    for name, part in (("a", lines[1::2]), ("b", lines[2::2])):
        (tmp_path / name).write_text("\n".join([lines[0], *part]))
    assert main(["advise", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    assert "?utm_campaign&utm_source in /forum/, /guides/, /news/ (" in capsys.readouterr().out


def test_rules_are_written_for_the_next_crawl(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rules.json"
    assert main(["advise", journal(tmp_path), "--output", str(path)]) == 0
    assert capsys.readouterr().out == f"{len(BUILT_WITH)} rules written into {path}\n"
    assert {rule.id for rule in read_rules(path)} == {*BUILT_WITH}


def test_rules_of_a_crawl_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    later = {"crawldedup_journal": 1, "crawl": "later", "spider": "known", "started": 2.0}
    (tmp_path / "later.jsonl").write_text(json.dumps(later))
    for names, rules in (((), set()), (("--crawl", "known"), {*BUILT_WITH})):
        assert main(["advise", "--json", journal(tmp_path), *names]) == 0
        assert rules_in(json.loads(capsys.readouterr().out)) == rules
    assert main(["advise", journal(tmp_path), "--crawl", "other"]) == 2
    assert "there is no crawl 'other'" in capsys.readouterr().err


def test_a_cut_off_line_is_left_out_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", "--json", journal(tmp_path, '{"t": 3, "url": "https://e')]) == 1
    out, err = capsys.readouterr()
    assert rules_in(json.loads(out)) == {*BUILT_WITH}
    assert "1 line cannot be read" in err


def test_other_formats_say_what_they_leave_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", "--format", "duplicate-url-discarder", journal(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert len(json.loads(out)) == 4
    assert err.count(" is left out: the tool can only remove parts of URLs\n") == len(BUILT_WITH) - 4
    assert "these would have saved 144 of 444 pages" in err
    assert main(["advise", "--format", "deny", str(tmp_path)]) == 0
    assert isinstance(json.loads(capsys.readouterr().out), list)


def test_what_a_journal_holds_is_safe_to_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = {"crawldedup_journal": 1, "crawl": "known", "spider": "known", "started": 1.0}
    pages = [{"url": f"https://e.com/{n}", "outcome": "new"} for n in range(9)]
    copies = [
        {"url": f"{page['url']}?\x1b[31msid={n}", "outcome": "exact", "original": page["url"]}
        for n, page in enumerate(pages)
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, [header, *pages, *copies])))
    assert main(["advise", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "\\x1b[31msid" in out
    assert "\x1b[31m" not in out


def test_what_is_no_journal_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "other.jsonl").write_text('{"url": "https://e.com"}\n')
    assert main(["advise", str(tmp_path / "other.jsonl")]) == 2
    assert "is no journal of a crawl" in capsys.readouterr().err
