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


def test_headings_and_labels_are_places_to_link_to(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# The `check` of [a page](b.md), now\n\n(a-label)=\n## 2. What's new?\n```sh\n# no heading\n```\n")
    assert anchors_of(page) == {"the-check-of-a-page-now", "2-whats-new", "a-label"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_are_named_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    named = re.findall(r"(?<![\w/.])((?:crawldedup|tests|benchmarks|docs)/[\w./-]*\.(?:py|lua|md))", text)
    missing = [name for name in named if not (ROOT / name).exists()]
    assert missing == []
