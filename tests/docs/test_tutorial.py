"""The tutorial, done as it is printed: every command in a copy of the example project, on the demo site.

Figures vary from crawl to crawl, so a printed line is found again with other numbers in their places.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from crawldedup.demo.site import DemoSite, serving
from tests.docs.pages import ROOT, SITE, Block, blocks
from tests.servers import RedisServer

DEMO, REDIS = "127.0.0.1:8000", "redis://localhost:6379/0"
# What a reader does once, and the tests have done already.
SET_UP = ("python3 -m venv", ". .venv", "pip install", "python -m crawldedup.demo.site", "cd ", "redis-server")
# A start page that is not there.
NOT_RUN = ("scrapy crawl pages -O mine.jsonl",)


@contextmanager
def project(folder: Path) -> Iterator[dict[str, str]]:
    """Copy the example project and serve the demo site. Yield what stands in place of the printed addresses."""
    shutil.copytree(ROOT / "example_project", folder, ignore=shutil.ignore_patterns(".scrapy", "*.jsonl"))
    with serving(DemoSite().reply) as base_url, RedisServer() as redis:
        addresses = {DEMO: base_url.removeprefix("http://"), REDIS: redis.url}
        settings = folder / "example" / "settings.py"
        settings.write_text(settings.read_text().replace(DEMO, addresses[DEMO]))
        yield addresses


class Shell:
    """A shell that stays, as the reader's does: it remembers variables and jobs."""

    def __init__(self, folder: Path, addresses: dict[str, str]) -> None:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self._run = {"cwd": folder, "env": {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "80"}}
        self._addresses, self._before = addresses, ""

    def run(self, commands: list[str]) -> str:
        """Run the commands of a block in their order, and return what they print."""
        script = "\n".join(commands)
        for printed, actual in self._addresses.items():
            script = script.replace(printed, actual)
        self._before += "".join(f"{line}\n" for line in script.splitlines() if line.startswith("export "))
        done = subprocess.run(
            ["bash", "-c", self._before + script],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=100,
            **self._run,  # type: ignore[call-overload]
        )
        output = str(done.stdout)
        for printed, actual in self._addresses.items():
            output = output.replace(actual, printed)
        assert done.returncode == 0 or commands[-1].startswith("timeout -s KILL"), output
        return output


def commands_of(block: Block) -> list[str]:
    """Return the commands of a block, without those that were done before."""
    lines = [line.removeprefix("$ ") for line in block.code.splitlines() if line.startswith("$ ")]
    return [line for line in lines if not line.startswith(SET_UP + NOT_RUN)]


def pattern(line: str) -> str:
    """Return a regular expression for a printed line, with other figures in it."""
    line = re.sub(r"^INFO: ", "", line.strip())
    return re.sub(r"\d+(?:\\?[.,]\d+)*", r"\\d[\\d.,]*", re.escape(line))


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["first-crawl", "fleet"])
def test_the_tutorial_does_what_it_prints(name: str, tmp_path: Path) -> None:
    page = SITE / "tutorial" / f"{name}.md"
    folder = tmp_path / "example_project"
    ran, output = 0, ""
    with project(folder) as addresses:
        shell = Shell(folder, addresses)
        for block in blocks("console", "text", pages=[page]):
            expected = block.code.splitlines()
            if block.language == "console":
                commands = commands_of(block)
                ran += len(commands)
                output = shell.run(commands) if commands else ""
                expected = [line for line in expected if not line.startswith("$ ")]
            for line in expected:
                assert re.search(pattern(line), output), (block.name, line, output)
    assert ran >= 2


@pytest.mark.nightly
def test_half_of_the_site_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "example_project"
    with project(folder) as addresses:
        Shell(folder, addresses).run(
            [
                "scrapy crawl pages -O pages.jsonl",
                "scrapy crawl pages -O all.jsonl -s CRAWLDEDUP_ENABLED=False",
                "scrapy crawl news -O stories.jsonl",
            ]
        )
    kept, everything, stories = (
        (folder / f"{name}.jsonl").read_text().splitlines() for name in ("pages", "all", "stories")
    )
    assert len(kept) < 0.6 * len(everything)
    assert 55 <= len(stories) <= 65
