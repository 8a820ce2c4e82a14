"""Measure what a report takes: seconds, memory, the size of its page, and the time until a browser shows it.

    python benchmarks/report.py                                  # a million verdicts of two processes
    python benchmarks/report.py --pages 10000000 --folder BIG    # BIG keeps the journals for another run

The journals are made up. Without Chromium and playwright, no time is measured for the browser.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.shared.common import count, make_parser, make_table, run
from tests.report.synthetic_journal import Crawl, write_journal

if TYPE_CHECKING:
    from collections.abc import Sequence

_FORMATS = (".html", ".json", ".csv", ".jsonl", ".parquet")
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_PROCESSES = 2


def write_journals(folder: Path, pages: int) -> None:
    """Write the journals of two processes, of which one was killed. Those that are there are taken as they are."""
    for pid in range(_PROCESSES):
        journal = folder / f"{pages}-{pid}.jsonl"
        if not journal.exists():
            write_journal(journal, Crawl(pages // _PROCESSES, pid=pid, ended=pid > 0, is_hostile=True))


def report(folder: Path, output: Path) -> tuple[float, float, float]:
    """Return the seconds of a report, those of processors, and the most memory of any report so far, in MB."""
    started, worked = time.perf_counter(), processor_seconds()
    command = [sys.executable, "-m", "crawldedup.cli", "report", str(folder), "--output", str(output)]
    subprocess.run(command, check=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return time.perf_counter() - started, processor_seconds() - worked, peak


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seconds_to_open(page: Path) -> float | None:
    """Return the seconds until a browser has laid out the page, or None without a browser."""
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if browser is None:
        return None
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        tab = opened.new_page()
        started = time.perf_counter()
        tab.goto(page.as_uri())
        tab.evaluate("document.body.getBoundingClientRect().height")
        seconds = time.perf_counter() - started
        opened.close()
    return seconds


def main(given: Sequence[str]) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--pages", type=count, default=1_000_000, help="verdicts (1000000)")
    parser.add_argument("--folder", type=Path, help="keep the journals here")
    arguments = parser.parse_args(given)
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary) / "journals"
        folder.mkdir(exist_ok=True)
        write_journals(folder, arguments.pages)
        size = sum(journal.stat().st_size for journal in folder.glob("*.jsonl"))
        table = make_table(
            f"{arguments.pages:,} verdicts, {size / 1e6:,.0f} MB", "", "seconds", "of processors", "peak MB", "file kB"
        )
        for suffix in _FORMATS:
            output = Path(temporary) / f"report{suffix}"
            seconds, worked, peak = report(folder, output)
            table.add_row(
                suffix, f"{seconds:.1f}", f"{worked:.1f}", f"{peak:,.0f}", f"{output.stat().st_size / 1000:,.0f}"
            )
        opened = seconds_to_open(Path(temporary) / "report.html")
    console = Console(markup=False)
    console.print(table)
    if opened is not None:
        console.print(f"The page is open in Chromium after {opened:.2f} s.")


if __name__ == "__main__":
    run(main, "--pages 400")
