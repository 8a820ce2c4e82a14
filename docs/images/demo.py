"""Draw demo.svg: the first part of what `crawldedup demo` prints."""

from __future__ import annotations

import io
import os
import subprocess
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = 74
CLUSTERS = 3


def draw(path: Path) -> None:
    """Run the demo and draw it."""
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    done = subprocess.run(["crawldedup", "demo"], env=environment, stdout=subprocess.PIPE, check=True, text=True)
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print("[bold]$ crawldedup demo")
    clusters = 0
    for line in Text.from_ansi(done.stdout).split():
        # A cluster begins with the path of its original.
        clusters += line.plain.startswith("/")
        if clusters > CLUSTERS:
            break
        console.print(line)
    console.save_svg(str(path), title="crawldedup demo", clear=False)
