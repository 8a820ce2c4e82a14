"""Draw docs/images/demo.svg: the first part of what `crawldedup demo` prints."""

from __future__ import annotations

import io
import os
import subprocess
from pathlib import Path

from rich.console import Console
from rich.text import Text

COLUMNS = 74
CLUSTERS = 3


def main() -> None:
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
    console.save_svg(str(Path(__file__).with_suffix(".svg")), title="crawldedup demo", clear=False)


if __name__ == "__main__":
    main()
