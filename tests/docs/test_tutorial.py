"""The tutorial, done as it is printed: every command in a copy of the example project, on the demo
site.

Figures vary from crawl to crawl, so a printed line is found again with other numbers in their
places.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from crawldedup.demo.site import DemoSite, serving
from tests.docs.pages import ROOT, SITE, blocks
from tests.servers import RedisServer

DEMO, REDIS = "127.0.0.1:8000", "redis://localhost:6379/0"
# What a reader does once, and the tests have done already.
SET_UP = (
    "python3 -m venv",
    ". .venv",
    "pip install",
    "python -m crawldedup.demo.site",
    "cd ",
    "redis-server",
)
# A start page that is not there.
NOT_RUN = ("scrapy crawl pages -O mine.jsonl",)


class Reader:
    """Does what a reader does in a copy of the example project, in a shell that remembers
    variables.
    """

    def __init__(self, folder: Path, addresses: dict[str, str]) -> None:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self._addresses, self._before = addresses, ""
        self._run = partial(
            subprocess.run,
            cwd=folder,
            env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "80"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=100,
        )

    def run(self, *commands: str) -> str:
        """Run the commands of a block in their order, and return what they print."""
        script = "\n".join(commands)
        for printed, actual in self._addresses.items():
            script = script.replace(printed, actual)
        self._before += "".join(
            f"{line}\n" for line in script.splitlines() if line.startswith("export ")
        )
        done = self._run(["bash", "-c", self._before + script])
        output = str(done.stdout)
        for printed, actual in self._addresses.items():
            output = output.replace(actual, printed)
        # Whether a copy comes before a better one depends on the order of the answers.
        output = re.sub(r", \d+ of them delivered as better copies", "", output)
        assert done.returncode == 0 or commands[-1].startswith("timeout -s KILL"), output
        return output


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    """A reader with the demo site and a Redis server at other addresses than those printed."""
    folder = tmp_path / "example_project"
    shutil.copytree(
        ROOT / "example_project", folder, ignore=shutil.ignore_patterns(".scrapy", "*.jsonl")
    )
    with serving(DemoSite().reply) as base_url, RedisServer() as redis:
        address = base_url.removeprefix("http://")
        module = folder / "example" / "site_spider.py"
        text = module.read_text()
        assert DEMO in text
        module.write_text(text.replace(DEMO, address))
        yield Reader(folder, {DEMO: address, REDIS: redis.url})


def pattern(line: str) -> str:
    """Return a regular expression for a printed line, with other figures in it."""
    line = re.sub(r"^INFO: ", "", line.strip())
    return re.sub(r"\d+(?:\\?[.,]\d+)*", r"\\d[\\d.,]*", re.escape(line))


@pytest.mark.nightly
@pytest.mark.timeout(400)
@pytest.mark.parametrize("name", ["first-crawl", "fleet"])
def test_the_tutorial_does_what_it_prints(reader: Reader, name: str) -> None:
    ran, output = 0, ""
    for block in blocks("console", "text", pages=[SITE / "tutorial" / f"{name}.md"]):
        lines = block.code.splitlines()
        if block.language == "console":
            shown = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
            commands = [line for line in shown if not line.startswith(SET_UP + NOT_RUN)]
            ran += len(commands)
            output = reader.run(*commands) if commands else ""
        for line in lines:
            assert line.startswith("$ ") or re.search(pattern(line), output), (
                block.name,
                line,
                output,
            )
    assert ran >= 2
