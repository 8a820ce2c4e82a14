"""Every benchmark, run whole in a tiny size, so that none goes stale."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
# Modules that scripts import have no main; this one is a program that `scrapy_throughput` starts.
NOT_RUN_ALONE = {"scrapy_crawl"}
SCRIPTS = sorted(
    path.stem
    for path in FOLDER.glob("*.py")
    if path.stem not in NOT_RUN_ALONE and 'if __name__ == "__main__"' in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_benchmark_runs(script: str) -> None:
    command = [sys.executable, f"benchmarks/{script}.py", "--smoke"]
    done = subprocess.run(command, cwd=FOLDER.parent, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"$ {script}.py ")
    assert "Traceback" not in done.stderr


def test_every_benchmark_says_how_to_run_it() -> None:
    assert len(SCRIPTS) > 10
    for script in SCRIPTS:
        source = (FOLDER / f"{script}.py").read_text(encoding="utf-8")
        assert f"python benchmarks/{script}.py" in source.partition('"""\n')[0], script
