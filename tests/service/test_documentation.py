"""What the guide shows for curl, JavaScript and Python works as it is shown."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import SITE, blocks, shell_lines
from tests.servers import RedisServer, wait_until
from tests.service.serving import Service, service_here, story

GUIDE = SITE / "how-to" / "service.md"
SHOWN = "http://localhost:8300"
PROBES = r'"probes": \d+, '


@pytest.fixture(scope="module")
def served() -> Iterator[Service]:
    with service_here() as started:
        yield started


@pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl")
def test_the_lines_for_curl(served: Service, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<p>The text of the page ...</p>")
    answers: list[Any] = []
    printed: list[str] = []
    (tmp_path / "page.html.gz").write_bytes(gzip.compress((tmp_path / "page.html").read_bytes()))
    for _, line in shell_lines("curl", [GUIDE]):
        command = f"{line.replace(SHOWN, served.url)} --silent --show-error --fail"
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=30
        )
        assert done.returncode == 0, (line, done.stderr)
        printed.append(done.stdout)
        answers.append(json.loads(done.stdout))
    health, first, copy, packed, batch, found, explained, compared, info, forgotten = answers
    (shown,) = blocks("json", pages=[GUIDE])
    # The number of probes depends on the key of the index.
    assert [re.sub(PROBES, "", line) for line in printed[1:3]] == [
        re.sub(PROBES, "", line) for line in shown.code.splitlines()
    ]
    assert (health, first["kind"], copy["kind"]) == ({"status": "ready"}, "new", "exact_duplicate")
    assert [each["kind"] for each in (packed, *batch, compared["verdict"])] == ["thin"] * 4
    assert [match["url"] for match in found["matches"]] == [first["url"]]
    assert explained["verdict"]["kind"] == "exact_duplicate"
    assert (forgotten, info["namespace"]) == ({"forgotten": 1}, "default")


@pytest.mark.skipif(not shutil.which("node"), reason="there is no Node")
def test_the_script_for_node_waits_for_the_store(tmp_path: Path) -> None:
    (block,) = blocks("js", pages=[GUIDE])
    script = tmp_path / "check.mjs"
    with RedisServer() as server, service_here(store=server.url) as service:
        script.write_text(block.code.replace(SHOWN, service.url))
        server.stop()
        with subprocess.Popen(["node", script], stdout=subprocess.PIPE, text=True) as node:
            wait_until(
                lambda: 'endpoint="/v1/check",status="503"' in service.http.get("/metrics").text
            )
            server.start()
            assert node.communicate(timeout=30)[0] == "thin null\n"


def test_the_function_in_python(served: Service) -> None:
    (block,) = blocks("python", pages=[GUIDE])
    names: dict[str, Any] = {}
    exec(f"from __future__ import annotations\n{block.code}", names)
    pages = {
        f"https://g.example/{number}": f"<p>{story(500 + number // 2)}</p>".encode()
        for number in range(6)
    }
    assert names["copies"](pages, served.url) == [
        f"https://g.example/{number}" for number in (1, 3, 5)
    ]
