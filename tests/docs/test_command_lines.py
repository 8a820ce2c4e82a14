"""Every command line of crawldedup that the documentation shows is one that its parser takes."""

from __future__ import annotations

import re
import shlex
from argparse import ArgumentParser

import pytest
from scrapy.settings import Settings

from crawldedup.cli import parser
from crawldedup.scrapy_plugin.command import Command
from tests.docs.pages import PAGES, ROOT, shell_lines

LINES = shell_lines("crawldedup")
PROJECT_LINES = [(place, line) for place, line in shell_lines("scrapy") if line.split()[1] == "dedup"]


@pytest.mark.parametrize(("place", "line"), LINES, ids=[f"{place} {line}" for place, line in LINES])
def test_a_line_is_understood(place: str, line: str) -> None:
    # A wrong line ends the program.
    assert parser().parse_args(shlex.split(line)[1:])


@pytest.mark.parametrize(("place", "line"), PROJECT_LINES, ids=[f"{place} {line}" for place, line in PROJECT_LINES])
def test_a_line_of_scrapy_dedup_is_understood(place: str, line: str) -> None:
    parser = ArgumentParser()
    command = Command()
    command.settings = Settings()
    command.add_options(parser)
    _, unknown = parser.parse_known_args(shlex.split(line)[2:])
    assert not [each for each in unknown if each.startswith("-")]


def test_lines_of_benchmarks_name_their_options() -> None:
    shown = re.findall(r"python benchmarks/(\w+)\.py([^`&]*)", "".join(page.read_text("utf-8") for page in PAGES))
    assert len(shown) > 10
    programs = "".join(path.read_text("utf-8") for path in (ROOT / "benchmarks").glob("*.py"))
    for script, arguments in shown:
        assert (ROOT / "benchmarks" / f"{script}.py").exists(), script
        for option in re.findall(r"--[\w-]+", arguments):
            assert f'"{option}"' in programs, (script, option)
