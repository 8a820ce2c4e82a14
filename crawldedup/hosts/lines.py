"""Learn which numbers of a host change with every load.

The only evidence is to load one page twice within minutes. Two similar pages prove nothing, and
numbers that have changed since yesterday are news.

Three pages of a host with different headings must show that a line changes. Then it is left out on
the whole host, unless many users share the host. On such a host, a line is left out in a folder if
it changed on a page in that folder, and in everything below a top-level folder if it changed on
three pages directly in it. So no user can cause numbers of others to be left out. What was learned
for the folder of a page's canonical URL also applies to the page. A line that stays the same more
than four times as often as it changes is content again.
"""

from typing import Final

import msgspec

from crawldedup.reading.volatile import (
    EVERYWHERE,
    MOST_LINES,
    Known,
    KnownLine,
    Numbers,
    below_folder,
    in_folder,
)
from crawldedup.recent import put_last
from crawldedup.scope import Folder

_WITNESSES: Final = 3
_MOST_SAME: Final = 4  # how many times as often as it changes a line may stay the same
_MOST_FOLDERS: Final = 32  # the maximum number of folders per line


class LineInFolder(msgspec.Struct, array_like=True):
    """How a line has changed when pages in a folder were loaded again."""

    numbers: set[int] = set()
    """The places of the numbers that changed, counted within the line."""

    pages: int = 0
    """The number of pages on which they changed."""


class Line(msgspec.Struct, array_like=True):
    """How a line has changed when pages of its host were loaded again.

    If pages with the same headings differ only in their numbers, these may be their content. So
    pages with three different headings have to show that the numbers of a line change.
    """

    folders: dict[str, LineInFolder] = {}
    """The evidence in each folder."""

    same: int = 0
    """How often all numbers stayed the same."""

    headings: set[int] = set()
    """Hashes of the headings of pages where numbers have changed, three at most."""

    @property
    def changes(self) -> int:
        """How many times the numbers have changed."""
        return sum(folder.pages for folder in self.folders.values())

    @property
    def evidence(self) -> int:
        """How many pairs of loads were compared."""
        return self.changes + self.same

    @property
    def is_volatile(self) -> bool:
        """Whether the line has numbers that are known to change with every load."""
        return len(self.headings) >= _WITNESSES and self.same <= _MOST_SAME * self.changes

    def known(self, host: str, *, is_shared: bool) -> KnownLine:
        """Return which numbers of the line change, and on which pages.

        Args:
            host: The host.
            is_shared: Whether the page is on a host with many users.
        """
        if not is_shared and not any(Folder(host, path).is_shared for path in self.folders):
            numbers = {number for seen in self.folders.values() for number in seen.numbers}
            return {EVERYWHERE: tuple(sorted(numbers))}
        known: KnownLine = {}
        for path, seen in self.folders.items():
            # No user may cause other numbers to be left out where others write the line.
            known[in_folder(path)] = tuple(sorted(seen.numbers))
            if seen.pages >= _WITNESSES:
                known[below_folder(path)] = tuple(sorted(seen.numbers))
        return known

    def add(self, folder: str, changed: set[int], headings: tuple[int, ...]) -> None:
        """Add the evidence from loading a page again.

        Args:
            folder: The path of the page's folder.
            changed: The places of the numbers that have changed.
            headings: The hash of the headings of the page.
        """
        if not changed:
            self.same += 1
            return
        if len(self.headings) < _WITNESSES:
            self.headings |= set(headings)
        seen = self.folders.get(folder)
        if seen is None:
            seen = LineInFolder()
        seen.numbers |= changed
        seen.pages += 1
        put_last(self.folders, folder, seen, _MOST_FOLDERS)


Lines = dict[int, Line]
"""The lines of a host, by the hash of a line without its numbers."""


def compare_loads(lines: Lines, folder: Folder, numbers: Numbers, earlier: Numbers) -> None:
    """Find out which numbers differ between two loads of a page, and note it."""
    for name in (numbers.keys() & earlier.keys()) - {0}:
        pairs = enumerate(zip(numbers[name], earlier[name], strict=False))
        changed = {place for place, (one, other) in pairs if one != other}
        if name in lines or (changed and len(lines) < MOST_LINES):
            line = lines.setdefault(name, Line())
            line.add(folder.path, changed, numbers.get(0, ()))


def known_lines(lines: Lines, folder: Folder) -> Known:
    """Return which lines of a host change, as far as this matters for pages in a folder."""
    is_shared = folder.is_shared
    return {
        name: line.known(folder.host, is_shared=is_shared)
        for name, line in lines.items()
        if line.is_volatile
    }
