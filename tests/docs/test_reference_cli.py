"""The reference names what commands print as JSON, their exit statuses, and the variables that are read."""

from __future__ import annotations

import importlib
import inspect
import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

from crawldedup.cli import main, parser
from tests.commands.test_advise import journal
from tests.docs.pages import SITE, module_at, section

PAGE: Final = SITE / "reference" / "commands.md"
TEXT: Final = " ".join(f"word{number}" for number in range(120))
ROWS: Final = dict(re.findall(r"^\| `([\w ]+)` \| (.*) \|$", section(PAGE, "JSON output"), re.MULTILINE))


def test_every_command_has_a_row_for_its_json() -> None:
    generated = module_at(SITE / "_ext" / "reference_markdown.py")
    commands = {each.prog.removeprefix("crawldedup ") for each in generated.leaf_parsers(parser())}
    assert ROWS.keys() == commands - {"serve"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CRAWLDEDUP_STORE", raising=False)
    pages = [{"url": f"https://e.example/{number}", "text": TEXT} for number in range(2)]
    (tmp_path / "pages.jl").write_text("".join(f"{json.dumps(page)}\n" for page in pages))
    for name in ("a", "b"):
        (tmp_path / f"{name}.txt").write_text(TEXT)
    (tmp_path / "empty.html").write_text("")
    return tmp_path


def lines_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[Any]:
    assert main([*arguments, "--json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def fields_in(row: str) -> set[str]:
    """The names in a row, and the fields of the classes that it names."""
    names = set(re.findall(r"(?<!})`(\w+)`", row))
    for module, name in re.findall(r"\{py:class\}`~(crawldedup[\w.]*)\.(\w+)`", row):
        cls = getattr(importlib.import_module(module), name)
        names |= {each for each in inspect.signature(cls).parameters if not each.startswith("_")}
    if shared := re.search(r"what `(\w+)` prints", row):
        names |= fields_in(ROWS[shared[1]])
    return names


def test_what_commands_print_is_in_their_rows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps: list[tuple[str, ...]] = [
        ("check", "pages.jl", "empty.html"),
        ("find", "a.txt"),
        ("compare", "a.txt", "b.txt"),
        ("explain", "a.txt"),
        ("info",),
        ("scan", "pages.jl"),
        ("advise", journal(folder)),
        ("filter", "pages.jl", "-o", "kept.jl"),
        ("forget", "https://e.example/0"),
        ("clear", "--yes"),
    ]
    for command, *arguments in steps:
        printed = lines_of(capsys, command, *arguments)
        assert printed
        for value in printed:
            for one in value if isinstance(value, list) else [value]:
                assert one.keys() - fields_in(ROWS[command]) == set(), command
    # The rows of these have no name of a class, so that nothing else may be in them either.
    scanned, filtered = lines_of(capsys, "scan", "pages.jl"), lines_of(capsys, "filter", "pages.jl", "-o", "again.jl")
    told = {name for cluster in scanned[0]["clusters"] for name in (*cluster, *cluster["duplicates"][0])}
    assert fields_in(ROWS["scan"]) == {*scanned[0], *told}
    assert fields_in(ROWS["filter"]) == {*filtered[0], "records", "records_written"}
