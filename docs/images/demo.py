"""Draw demo.svg: the largest clusters that `crawldedup demo` prints, and its comparison with the
truth.
"""

from __future__ import annotations

import io
import os
import subprocess
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = 84
# The other tables are those of any report.
LEFT_OUT = (
    "Patterns of paths",
    "Query parameters",
    "With another similarity",
    "Not checked",
    "Of each page",
)


def draw(path: Path) -> None:
    """Run the demo and draw it."""
    environment = {
        **os.environ,
        "COLUMNS": str(COLUMNS),
        "FORCE_COLOR": "1",
        "TERM": "xterm-256color",
    }
    done = subprocess.run(
        ["crawldedup", "demo"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
        text=True,
    )
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print("[bold]$ crawldedup demo")
    for part in Text.from_ansi(done.stdout.strip()).split("\n\n"):
        if not part.plain.startswith(LEFT_OUT):
            console.print(part, end="\n\n")
    console.save_svg(str(path), title="crawldedup demo", clear=False)
