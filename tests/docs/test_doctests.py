"""The examples in docstrings run as they are shown."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

from crawldedup.journal import FileJournal, line_of
from tests.docs.pages import ROOT
from tests.journal.lines import END, header, page

EXAMPLES = [path for path in sorted((ROOT / "crawldedup").rglob("*.py")) if ">>>" in path.read_text("utf-8")]


@pytest.mark.usefixtures("own_keys")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    tests = [test for test in doctest.DocTestFinder().find(module) if test.examples]
    assert tests
    said: list[str] = []
    for number, test in enumerate(tests):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        write_journal(folder / "journals")
        doctest.DocTestRunner().run(test, out=said.append)
    assert "".join(said) == ""


def write_journal(directory: Path) -> None:
    journal = FileJournal(directory, header("news"), keep=1)
    for line in (page(1), page(2), END):
        journal.write(line_of(line))
    journal.close()
