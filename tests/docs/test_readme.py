"""The README: short, and its command lines are those that are tested."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, PROJECT_PAGES, README, ROOT, anchors_of, blocks

LINES = README.read_text("utf-8").splitlines()
COMMANDS = [block.code.strip() for block in blocks("sh", pages=[README])]


def test_it_is_short() -> None:
    assert len(LINES) <= 150
    assert max(map(len, LINES)) <= 120


def test_its_figures_are_those_of_the_benchmark() -> None:
    tools = {
        "nothing": "nothing",
        "**crawldedup**": "**crawldedup, `drop-items`, blocks (the defaults)**",
        "URL rules (duplicate-url-discarder)": "duplicate-url-discarder 0.3.0, rules for the site",
        "simhash, k=3": "simhash 2.1.2, k=3 of trafilatura's text",
        "md5 of paragraphs": "md5 of all `<p>`",
    }
    measured = {row[0]: row for row in rows((ROOT / "docs" / "benchmarks" / "whole_site.md").read_text("utf-8"))}
    shown = {row[0]: row[1:] for row in rows(README.read_text("utf-8"))}
    for tool, name in tools.items():
        row = measured[name]
        assert [cell.strip("*") for cell in shown[tool]] == [row[3], row[4], row[5], row[9], row[10]], tool
    first, second = (
        measured[f"datasketch 2.0.0, MinHashLSH {threshold} of trafilatura's text"] for threshold in ("0.9", "0.8")
    )
    assert shown["datasketch MinHash LSH, 0.9 / 0.8"] == [
        f"{first[column]} / {second[column]}" if column != 5 else "0" for column in (3, 4, 5, 9, 10)
    ]


def rows(page: str) -> list[list[str]]:
    """Return the cells of the rows of all tables of a page."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("|")]


def test_its_first_line_installs_and_runs_the_demo() -> None:
    assert COMMANDS[0] == "python3 -m venv .venv && .venv/bin/pip install -q . && .venv/bin/crawldedup demo"
    assert 'session.run(str(programs / "crawldedup"), "demo",' in (ROOT / "noxfile.py").read_text("utf-8")


def test_its_second_line_runs_the_tests_as_ci_does() -> None:
    assert COMMANDS[1] == "python3 -m venv .venv && .venv/bin/pip install -q -e '.[test]' && .venv/bin/pytest"
    nox = (ROOT / "noxfile.py").read_text("utf-8")
    assert 'session.install("-q", "-e", ".[test]")\n    run_pytest(session)' in nox
    assert 'session "tests-$python"' in (ROOT / ".ci" / "run").read_text("utf-8")


@pytest.mark.parametrize("page", [*PAGES, *PROJECT_PAGES], ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_their_headings(page: Path) -> None:
    text = page.read_text("utf-8")
    for target, anchor in re.findall(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)", text):
        found = page.parent / target if target else page
        assert found.exists(), target
        assert not anchor or anchor in anchors_of(found), f"{target}#{anchor}"
    for target in re.findall(r"\{doc\}`(?:[^`<]*<)?([^`>]+)>?`", text):
        assert (page.parent / f"{target}.md").exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_are_named_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    named = re.findall(r"(?<![\w/.])((?:crawldedup|tests|benchmarks|docs)/[\w./-]*\.(?:py|lua|md))", text)
    dated = re.findall(r"`(benchmarks/\w+\.py)` of commit \w{7}", text)
    missing = [name for name in named if not (ROOT / name).exists() and name not in dated]
    assert missing == []
