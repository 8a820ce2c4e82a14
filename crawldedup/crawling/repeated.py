"""Leave out of the texts of pages what their site repeats on nearly all of them.

A line is boilerplate once it was met on five pages of different names, and on three quarters of the
last pages of a folder or of a host. A rarer line may say something of its page, such as "Sold out".
Only what a crawl delivers is shortened: what is compared stays as it is.
"""

from dataclasses import dataclass, field
from typing import Final

from crawldedup.recent import put_last
from crawldedup.scope import Folder, folder_of
from crawldedup.verdict import MainText

_LEAST_PAGES: Final = 5
_LEAST_SHARE: Final = 0.75
# A page may live from what its site repeats, such as a color of a lamp from the lamp's description.
_LEAST_LEFT: Final = 1 / 3
_MOST_FOLDERS: Final = 200
_MOST_LINES: Final = 2_000  # of a folder
_MOST_LINES_OF_PAGE: Final = 500
# After so many pages all counts are halved, so that a site may change.
_WINDOW: Final = 200


@dataclass(slots=True)
class _Line:
    pages: int = 0
    names: set[int] = field(default_factory=set)  # hashes of some names of these pages


@dataclass(slots=True)
class _Folder:
    """The lines of the pages in a folder, by their hashes; those that were met last come last."""

    pages: int = 0
    lines: dict[int, _Line] = field(default_factory=dict)

    def add(self, lines: set[int], name: int) -> None:
        """Count the lines of a page with this name."""
        self.pages += 1
        for hashed in lines:
            line = self.lines.get(hashed)
            if line is None:
                line = _Line()
            line.pages += 1
            if len(line.names) < _LEAST_PAGES:
                line.names.add(name)
            put_last(self.lines, hashed, line, _MOST_LINES)
        if self.pages >= _WINDOW:
            self.pages //= 2
            for line in self.lines.values():
                line.pages //= 2

    def repeats(self, hashed: int) -> bool:
        """Return whether nearly all pages of the folder have a line."""
        line = self.lines.get(hashed)
        if line is None or len(line.names) < _LEAST_PAGES:
            return False
        return line.pages >= max(_LEAST_PAGES, _LEAST_SHARE * self.pages)


class RepeatedLines:
    """Knows the lines that sites repeat, and what is left of a text without them.

    Where the pages of many users stand side by side, nothing is left out, because nobody may have
    lines of others left out.
    """

    def __init__(self) -> None:
        self._folders: dict[tuple[str, ...], _Folder] = {}

    def own_text(self, url: str, main: MainText, *, is_copy: bool) -> str:
        """Return the text of a page without what its site repeats.

        Args:
            url: The URL of the page.
            main: Its main text and its name.
            is_copy: Whether the page is a copy of another one. The lines of an article with ten
                addresses are not repeated by its site.
        """
        place = folder_of(url)
        if place.is_shared and not place.owner:
            return main.text
        folders = self._folders_of(place)
        lines = [line.strip() for line in main.text.split("\n")]
        hashes = [hash(line) for line in lines]
        if not is_copy:
            name = hash(main.name or main.text)
            for folder in folders:
                folder.add(set(hashes[:_MOST_LINES_OF_PAGE]), name)
        left = [
            line
            for line, hashed in zip(lines, hashes, strict=True)
            if not any(folder.repeats(hashed) for folder in folders)
        ]
        is_enough = sum(map(len, left)) >= _LEAST_LEFT * sum(map(len, lines))
        return "\n".join(left) if len(left) < len(lines) and is_enough else main.text

    def _folders_of(self, place: Folder) -> list[_Folder]:
        """Return what is known of the folder of a page, and of all that its owner has there."""
        folders = []
        for name in ((place.host, place.owner), (place.host, place.owner, place.form)):
            folder = self._folders.get(name, _Folder())
            put_last(self._folders, name, folder, _MOST_FOLDERS)
            folders.append(folder)
        return folders
