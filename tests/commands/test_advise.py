"""`crawldedup advise`, on journals."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from crawldedup.advice.rules import read_rules
from tests.advice.known_site import BUILT_WITH, known_site, verdicts
from tests.commands.conftest import Run

HEADER = {"crawldedup_journal": 1, "crawl": "known", "spider": "known", "started": 1.0}


def journal(folder: Path, *more: str) -> str:
    pages = [json.dumps({"t": 1.0, **asdict(seen), "bytes": 9}) for seen in verdicts(known_site())]
    (folder / "known.jsonl").write_text("\n".join([json.dumps(HEADER), *pages, *more]))
    return str(folder)


def rules_in(rules: list[dict[str, Any]]) -> set[tuple[str, ...]]:
    return {(rule["kind"], rule["site"], rule["find"], rule["replace"]) for rule in rules}


def test_rules_of_journals_are_told_and_written(run: Run) -> None:
    journal(Path())
    assert rules_in(json.loads(run("advise --json .").out)) == {*BUILT_WITH}
    assert run("advise . --output rules.json").status == 0
    assert {rule.id for rule in read_rules(Path("rules.json"))} == {*BUILT_WITH}
    # The parts of a fleet, from several machines.
    lines = Path("known.jsonl").read_text().splitlines()
    for name, part in (("a", lines[1::2]), ("b", lines[2::2])):
        Path(name).write_text("\n".join([lines[0], *part]))
    assert "?utm_campaign&utm_source in /forum/, /guides/, /news/ (" in run("advise a b").out


def test_a_crawl_is_named_or_is_the_last_one(run: Run) -> None:
    journal(Path())
    Path("later.jsonl").write_text(json.dumps(HEADER | {"crawl": "later", "started": 2.0}))
    for name, rules in (("", set()), ("--crawl known", {*BUILT_WITH})):
        assert rules_in(json.loads(run(f"advise --json . {name}").out)) == rules
    assert run("advise . --crawl other").status == 2


def test_without_a_source_the_journals_of_the_project_are_read(run: Run) -> None:
    assert "there is no file or folder '.scrapy/crawldedup'" in run("advise").err
    folder = Path(".scrapy/crawldedup")
    folder.mkdir(parents=True)
    journal(folder)
    assert rules_in(json.loads(run("advise --json").out)) == {*BUILT_WITH}


def test_what_cannot_be_read_is_said(run: Run) -> None:
    journal(Path(), '{"t": 3, "url": "https://e')
    said = run("advise --json .")
    assert (said.status, rules_in(json.loads(said.out)), "1 line cannot be" in said.err) == (
        1,
        {*BUILT_WITH},
        True,
    )
    Path("other.jsonl").write_text('{"url": "https://e.com"}\n')
    said = run("advise other.jsonl")
    assert (said.status, "is not the journal of a crawl" in said.err) == (2, True)


def test_other_formats_say_what_they_leave_out(run: Run) -> None:
    journal(Path())
    said = run("advise --format duplicate-url-discarder .")
    assert (len(json.loads(said.out)), "saved 144 of 444 downloads" in said.err) == (4, True)
    assert isinstance(json.loads(run("advise --format deny .").out), list)


def test_a_rule_that_proved_wrong_is_named(run: Run) -> None:
    rule = {
        "kind": "query",
        "site": "https://e.com",
        "find": "page",
        "replace": "",
        "folders": ["/"],
    }
    journal(Path(), json.dumps({"t": 2, "withdrawn": rule, "rule": "https://e.com: ?page"}))
    for form in ("rules", "deny"):
        assert (
            "the rule https://e.com: ?page is left out: it proved wrong"
            in run(f"advise --format {form} .").err
        )


def test_what_a_journal_holds_is_safe_to_show(run: Run) -> None:
    urls = [f"https://e.com/{number}" for number in range(9)]
    pages = [{"url": url, "outcome": "new"} for url in urls]
    pages += [{"url": f"{url}?\x1b[31msid=1", "outcome": "exact", "original": url} for url in urls]
    Path("a.jsonl").write_text("\n".join(map(json.dumps, [HEADER, *pages])))
    out = run("advise .").out
    assert ("\\x1b[31msid" in out, "\x1b[31m" in out) == (True, False)


def test_patterns_of_copies_without_a_rule_are_named(run: Run) -> None:
    urls = [f"https://e.com/news/{number}" for number in range(25)]
    prints = [{"url": f"{url}/print", "outcome": "near", "original": url} for url in urls]
    # They lead to other pages than their own, so no rule can be made of them.
    for number, page in enumerate(prints):
        page["original"] = urls[number - 1]
    for page in prints[:4]:
        page["outcome"] = "new"
    pages = [{"url": url, "outcome": "new"} for url in urls]
    few = [{"url": f"{url}/few", "outcome": "near", "original": url} for url in urls[:9]]
    Path("a.jsonl").write_text("\n".join(map(json.dumps, [HEADER, *pages, *prints, *few])))
    said = run("advise .")
    named = [line for line in said.err.splitlines() if "no rule for" in line]
    assert (said.status, named) == (
        0,
        [
            "crawldedup: no rule for e.com/news/{n}/print: 4 of 25 pages were kept, but no change "
            "to the URLs reliably leads to the pages that the others repeat"
        ],
    )


def test_a_pattern_without_a_rule_of_which_nothing_was_kept_is_named(run: Run) -> None:
    # They lead to other pages than their own, so no rule can be made of them.
    prints = [
        {
            "url": f"https://e.com/news/{n}/print",
            "outcome": "near",
            "original": f"https://e.com/{n}",
        }
        for n in range(25)
    ]
    pages = [{"url": line["original"], "outcome": "new"} for line in prints]
    Path("a.jsonl").write_text("\n".join(map(json.dumps, [HEADER, *pages, *prints])))
    assert "e.com/news/{n}/print: none of 25 pages was kept" in run("advise .").err


def test_a_rule_that_leads_to_another_copy_explains_a_pattern(run: Run) -> None:
    numbers = range(40)
    # The mobile view has other pages than the print view repeats, but the same content.
    views = [
        {
            "url": f"https://e.com/news/{n}/{view}",
            "outcome": "near",
            "original": f"https://e.com/{n * n}",
        }
        for n in numbers
        for view in ("amp", "print")
    ]
    pages = [{"url": f"https://e.com/{n * n}", "outcome": "new"} for n in numbers]
    Path("a.jsonl").write_text("\n".join(map(json.dumps, [HEADER, *pages, *views])))
    said = run("advise .")
    assert "/news/" in said.out, said.out
    named = [line for line in said.err.splitlines() if "no rule for" in line]
    assert len(named) == 1, named


def test_patterns_that_a_rule_explains_are_not_named(run: Run) -> None:
    urls = [f"https://e.com/news/{number}" for number in range(9)]
    pages = [{"url": url, "outcome": "new"} for url in urls]
    pages += [
        {"url": f"{url}?sid={sid}", "outcome": "exact", "original": url}
        for url in urls
        for sid in range(6)
    ]
    Path("a.jsonl").write_text("\n".join(map(json.dumps, [HEADER, *pages])))
    said = run("advise .")
    assert ("?sid" in said.out, "no rule for" in said.err) == (True, False)
    # The same copies at other addresses, of which no rule can be made.
    for number, page in enumerate(pages[9:]):
        page["url"] = f"https://e.com/news/{number}00"
    Path("a.jsonl").write_text("\n".join(map(json.dumps, [HEADER, *pages])))
    said = run("advise .")
    assert ("?sid" in said.out, "no rule for e.com/news/{n}: 9 of 63 pages were" in said.err) == (
        False,
        True,
    )
