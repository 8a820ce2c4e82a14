"""Print how many lines the package and each of its rooms have: `python .ci/print_sizes.py`.

A room is a folder of the package, or a module beside the folders. Nothing fails because of these
numbers: they show where the package grows. Needs the standard library alone.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "crawldedup"


def lines_by_room(package: Path) -> Counter[str]:
    """Return the number of lines of Python in each room."""
    lines: Counter[str] = Counter()
    for path in package.rglob("*.py"):
        room = path.relative_to(package).parts[0]
        lines[room.removesuffix(".py")] += len(path.read_text("utf-8").splitlines())
    return lines


def main() -> None:
    """Print a table, the largest room first."""
    rooms = lines_by_room(PACKAGE)
    for room, lines in [(PACKAGE.name, rooms.total()), *rooms.most_common()]:
        print(f"{lines:>7,}  {room}")


if __name__ == "__main__":
    main()
