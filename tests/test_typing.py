"""The public API is typed: mypy refuses misspelled keywords and values of other types."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

CALLS = Path(__file__).with_name("typed_calls.py")
EXPECTED = re.compile(r"# error: ([\w-]+)$")
REPORTED = re.compile(r"typed_calls\.py:(\d+): error: .*\[([\w-]+)\]$")


@pytest.mark.timeout(600)
def test_mypy_refuses_exactly_the_wrong_calls() -> None:
    """Without a cache, mypy takes a minute for the package and its imports."""
    lines = CALLS.read_text("utf-8").splitlines()
    expected = {
        f"{number}: {match[1]}"
        for number, line in enumerate(lines, start=1)
        if (match := EXPECTED.search(line))
    }
    command = [sys.executable, "-m", "mypy", "--no-pretty", "--no-error-summary", str(CALLS)]
    done = subprocess.run(
        command, cwd=CALLS.parents[1], capture_output=True, text=True, check=False
    )
    reported = {
        f"{match[1]}: {match[2]}"
        for line in done.stdout.splitlines()
        if (match := REPORTED.search(line))
    }
    assert done.returncode in (0, 1), done.stderr
    assert reported == expected, done.stdout
