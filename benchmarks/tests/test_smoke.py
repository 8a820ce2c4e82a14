"""Every benchmark, run whole in a tiny size, so that none goes stale."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1]
# Every module at the top of the folder is a script; what they share is in folders below it.
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py"))


# Longer than the time limit of the suite's tests: some benchmarks start servers and crawls. The
# subprocess has its own limit, which ends it.
@pytest.mark.timeout(330)
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_benchmark_runs(script: str) -> None:
    command = [sys.executable, f"benchmarks/{script}.py", "--smoke"]
    done = subprocess.run(command, cwd=FOLDER.parent, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"$ {script}.py ")
    assert "Traceback" not in done.stderr


def test_every_benchmark_says_how_to_run_it() -> None:
    assert len(SCRIPTS) == 10
    for script in SCRIPTS:
        source = (FOLDER / f"{script}.py").read_text(encoding="utf-8")
        assert f"python benchmarks/{script}.py" in source.partition('"""\n')[0], script
