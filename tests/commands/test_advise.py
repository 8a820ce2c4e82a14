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

HEADER = {"crawldedup_journal": 1, "crawl": "known", "spider": "known", "started": 1.0}


def journal(folder: Path, *more: str) -> str:
    pages = [json.dumps({"t": 1.0, **asdict(seen), "bytes": 9}) for seen in verdicts(known_site())]
    (folder / "known.jsonl").write_text("\n".join([json.dumps(HEADER), *pages, *more]))
    return str(folder)


def rules_in(rules: list[dict[str, Any]]) -> set[tuple[str, ...]]:
    return {(rule["kind"], rule["site"], rule["find"], rule["replace"]) for rule in rules}


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["advise", *arguments])
    return status, *capsys.readouterr()


def test_rules_of_journals_are_told_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "--json", journal(tmp_path))
    assert (status, rules_in(json.loads(out))) == (0, {*BUILT_WITH})
    assert run(capsys, str(tmp_path), "--output", str(tmp_path / "rules.json"))[0] == 0
    assert {rule.id for rule in read_rules(tmp_path / "rules.json")} == {*BUILT_WITH}
    # The parts of a fleet, from several machines.
    lines = (tmp_path / "known.jsonl").read_text().splitlines()
    for name, part in (("a", lines[1::2]), ("b", lines[2::2])):
        (tmp_path / name).write_text("\n".join([lines[0], *part]))
    assert "?utm_campaign&utm_source in /forum/, /gu" in run(capsys, str(tmp_path / "a"), str(tmp_path / "b"))[1]


def test_a_crawl_is_named_or_is_the_last_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "later.jsonl").write_text(json.dumps(HEADER | {"crawl": "later", "started": 2.0}))
    for names, rules in (((), set()), (("--crawl", "known"), {*BUILT_WITH})):
        assert rules_in(json.loads(run(capsys, "--json", journal(tmp_path), *names)[1])) == rules
    assert run(capsys, journal(tmp_path), "--crawl", "other")[0] == 2


def test_what_cannot_be_read_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "--json", journal(tmp_path, '{"t": 3, "url": "https://e'))
    assert (status, rules_in(json.loads(out)), "1 line cannot be read" in err) == (1, {*BUILT_WITH}, True)
    (tmp_path / "other.jsonl").write_text('{"url": "https://e.com"}\n')
    status, _, err = run(capsys, str(tmp_path / "other.jsonl"))
    assert (status, "is no journal of a crawl" in err) == (2, True)


def test_other_formats_say_what_they_leave_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, err = run(capsys, "--format", "duplicate-url-discarder", journal(tmp_path))
    assert (len(json.loads(out)), f"{len(BUILT_WITH) - 4} rules left out" in err) == (4, True)
    assert isinstance(json.loads(run(capsys, "--format", "deny", str(tmp_path))[1]), list)


def test_what_a_journal_holds_is_safe_to_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    urls = [f"https://e.com/{number}" for number in range(9)]
    pages = [{"url": url, "outcome": "new"} for url in urls]
    pages += [{"url": f"{url}?\x1b[31msid=1", "outcome": "exact", "original": url} for url in urls]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, [HEADER, *pages])))
    _, out, _ = run(capsys, str(tmp_path))
    assert ("\\x1b[31msid" in out, "\x1b[31m" in out) == (True, False)
