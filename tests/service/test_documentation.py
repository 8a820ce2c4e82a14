"""What the guide shows for curl, JavaScript and Python works as it is shown."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.docs.pages import SITE, blocks, shell_lines
from tests.servers import RedisServer, wait_until
from tests.service.serving import ServiceProcess, story

if TYPE_CHECKING:
    from collections.abc import Iterator

GUIDE = SITE / "how-to" / "service.md"
SHOWN = "http://localhost:8300"
CURL = [line for _, line in shell_lines("curl", [GUIDE])]


@pytest.fixture(scope="module")
def served() -> Iterator[ServiceProcess]:
    with ServiceProcess("--store", "memory://") as started:
        yield started


@pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl")
def test_the_lines_for_curl(served: ServiceProcess, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<p>The text of the page ...</p>")
    answers: list[Any] = []
    for line in CURL:
        command = f"{line.replace(SHOWN, served.url)} --silent --show-error --fail"
        done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, (line, done.stderr)
        answers.append([json.loads(each) for each in done.stdout.splitlines()])
    first, copy, batch, found, explained, compared, info, forgotten = answers
    assert (first[0]["kind"], copy[0]["kind"]) == ("thin", "exact_duplicate")
    (shown,) = (json.loads(block.code) for block in blocks("json", pages=[GUIDE]))
    assert shown.items() <= copy[0].items()
    assert [each["kind"] for each in batch[0]] == ["thin", "thin"]
    assert (found[0], explained[0]["verdict"]["kind"]) == ({"matches": []}, "exact_duplicate")
    assert compared[0]["verdict"]["kind"] == "thin"
    assert (forgotten[0], info[0]["namespace"]) == ({"forgotten": 1}, "default")


@pytest.mark.skipif(not shutil.which("node"), reason="there is no Node")
def test_the_script_for_node(served: ServiceProcess, tmp_path: Path) -> None:
    (block,) = blocks("js", pages=[GUIDE])
    script = tmp_path / "check.mjs"
    script.write_text(block.code.replace(SHOWN, served.url))
    done = subprocess.run(["node", script], capture_output=True, text=True, timeout=30)
    assert done.stdout in ("thin null\n", "exact_duplicate https://example.com/a\n"), done.stderr


@pytest.mark.skipif(not shutil.which("node"), reason="there is no Node")
def test_the_script_for_node_waits_for_the_store(tmp_path: Path) -> None:
    (block,) = blocks("js", pages=[GUIDE])
    with RedisServer() as server, ServiceProcess("--store", server.url) as served:
        script = tmp_path / "check.mjs"
        script.write_text(block.code.replace(SHOWN, served.url))
        server.stop()
        with subprocess.Popen(["node", script], stdout=subprocess.PIPE, text=True) as node:
            wait_until(lambda: "503" in served.log())
            server.start()
            assert node.communicate(timeout=30)[0] == "thin null\n"


def test_the_function_in_python(served: ServiceProcess) -> None:
    (block,) = blocks("python", pages=[GUIDE])
    names: dict[str, Any] = {}
    exec(f"from __future__ import annotations\n{block.code}", names)
    pages = {f"https://g.example/{number}": f"<p>{story(500 + number // 2)}</p>".encode() for number in range(6)}
    assert names["copies"](pages, served.url) == [f"https://g.example/{number}" for number in (1, 3, 5)]
