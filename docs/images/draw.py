"""Draw the pictures of the documentation.

    python docs/images/draw.py
    python docs/images/draw.py way probes

Each picture has its own module next to this one. Some need the extras `plot`, `report` and
`server`, Playwright and Chromium. `quality-d-i.svg` was drawn at commit 13ed716.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
# The modules next to this one import the tests.
sys.path.insert(0, str(FOLDER.parents[1]))

PICTURES = (
    "problem.svg",
    "way.svg",
    "probes.svg",
    "crowd.svg",
    "found.svg",
    "report.png",
    "service.png",
)


def main() -> None:
    """Draw the pictures that are named on the command line, or all."""
    names = {Path(file).stem: file for file in PICTURES}
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(names)} (default: all)"
    )
    parser.add_argument(
        "--to", type=Path, default=FOLDER, metavar="FOLDER", help="write the pictures there"
    )
    given = parser.parse_args()
    if unknown := sorted(set(given.names) - set(names)):
        parser.error(f"there is no picture {', '.join(unknown)}: choose from {', '.join(names)}")
    for name in given.names or names:
        path = (given.to / names[name]).resolve()
        importlib.import_module(name).draw(path)
        print(path)


if __name__ == "__main__":
    main()
