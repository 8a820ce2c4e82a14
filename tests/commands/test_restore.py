"""`crawldedup restore`: items that were set aside come back, all or some of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from crawldedup import wire
from crawldedup.aside import EVIDENCE, FORMAT, VERSION, AsideFile, evidence_of, items_in
from crawldedup.cli import _RESTORED
from crawldedup.verdict import Coverage, Kind, Verdict
from tests.commands.conftest import Run

VERDICTS = [
    Verdict(Kind.EXACT_DUPLICATE, "https://shop.example/p/1", "https://shop.example/p/0", 1.0),
    Verdict(Kind.NEAR_DUPLICATE, "https://shop.example/p/2", "https://shop.example/p/0", 0.93),
    Verdict(Kind.NEAR_DUPLICATE, "https://www.news.example/x", "https://a.example/x", 0.97),
    Verdict(Kind.REVISIT, "https://shop.example/help", "https://shop.example/help"),
    Verdict(
        Kind.NEW, "https://news.example/y", coverage=Coverage(1, 99, 0, is_partial=True), words=100
    ),
]


def record_of(number: int, verdict: Verdict, **values: Any) -> str:
    item = {"id": number, "title": "é \ud800 \x1f\x8b\x08", **values}
    record = {"evidence": evidence_of(verdict), "cluster": verdict.original, "item": item}
    return json.dumps({FORMAT: VERSION, **record, "verdict": wire.plain(verdict)})


@pytest.fixture
def aside(run: Run) -> str:
    """The name of a file with an item for each verdict, in the folder that `run` works in."""
    file = AsideFile("aside.jl.gz")
    for number, verdict in enumerate(VERDICTS):
        file.put(record_of(number, verdict))
    file.close()
    return "aside.jl.gz"


def ids_in(path: Path) -> list[int]:
    return [json.loads(line)["id"] for line in path.read_text().splitlines()]


@pytest.mark.parametrize(
    ("conditions", "ids"),
    [
        ("", [0, 1, 2, 3, 4]),
        ("--site shop.example", [0, 1, 3]),
        ("--site news.example", [2, 4]),
        ("--pattern /p/[12]$", [0, 1]),
        ("--similarity 0.93 0.97", [1, 2]),
        ("--evidence exact_duplicate", [0]),
        ("--evidence unchanged", [3]),
        ("--evidence partial", [4]),
        ("--cluster https://shop.example/p/0", [0, 1]),
        ("--cluster https://shop.example/p/0 --similarity 0.9 0.95", [1]),
        ("--site other.example", []),
    ],
)
def test_items_come_back_in_their_order(
    run: Run, aside: str, conditions: str, ids: list[int]
) -> None:
    said = run(f"restore {aside} -o out.jl --json {conditions}")
    assert said.values == [{"output": "out.jl", "restored": len(ids), "set_aside": 5}]
    assert ids_in(Path("out.jl")) == ids
    assert said.err == ""


def test_the_options_have_every_reason() -> None:
    assert _RESTORED["--evidence"]["choices"] == EVIDENCE


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ("--similarity 0.95 0.9", "--similarity takes the least one first"),
        ("--pattern (a", "--pattern is '(a': missing )"),
        ("--site /", "--site is '/'; it must be a site"),
        ("--evidence copy", "invalid choice: 'copy'"),
    ],
)
def test_a_condition_that_is_not_allowed_is_refused(
    run: Run, aside: str, conditions: str, message: str
) -> None:
    said = run(f"restore {aside} -o out.jl {conditions}")
    assert (said.status, message in said.err) == (2, True)
    assert not Path("out.jl").exists()


def test_a_file_that_is_there_is_kept_and_standard_output_will_do(run: Run, aside: str) -> None:
    Path("out.jl").write_text("mine")
    assert run(f"restore {aside} -o out.jl").status == 2
    assert Path("out.jl").read_text() == "mine"
    assert run(f"restore {aside} -o out.jl --force").status == 0
    assert len(ids_in(Path("out.jl"))) == 5
    assert run(f"restore {aside} -o {aside} --force").status == 2


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_what_is_broken_costs_itself_alone(run: Run, aside: str, cut: int) -> None:
    whole = Path(aside).read_bytes()
    Path(aside).write_bytes(whole[:-cut])
    file = AsideFile(aside)  # another crawl goes on
    file.put(record_of(5, VERDICTS[0]))
    file.put('{"crawldedup_aside": 2, "item": {}, "verdict": {}}')
    file.close()
    said = run(f"restore {aside} -o out.jl")
    assert said.status == 1
    assert ids_in(Path("out.jl")) == [0, 1, 2, 3, 5]
    assert "cannot be read and were left out" in said.err


PROGRAM = """
import sys
from crawldedup.aside import AsideFile
file = AsideFile("aside.jl.gz")
for number in range(10**9):
    file.put(sys.argv[1].replace('"id": 0', f'"id": {number}'))
    print(number, flush=True)
"""


def test_a_kill_loses_nothing_that_was_set_aside(run: Run) -> None:
    record = record_of(0, VERDICTS[0], body="a long text " * 2_000)
    told = []
    for _ in range(5):
        program = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, record],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert program.stdout is not None
        for _ in range(30):
            program.stdout.readline()
        os.kill(program.pid, signal.SIGKILL)
        told.append(30 + len(program.stdout.read().splitlines()))
        program.wait()
    read = [aside.item["id"] for aside in items_in(Path("aside.jl.gz")) if aside is not None]
    starts = [place for place, number in enumerate(read) if number == 0]
    assert len(starts) == 5
    runs = [end - start for start, end in zip(starts, [*starts[1:], len(read)], strict=True)]
    # What was written, and not said any more, may be one item.
    assert all(told_of <= length <= told_of + 1 for told_of, length in zip(told, runs, strict=True))
