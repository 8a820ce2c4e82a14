"""Shorten the texts that a crawl delivers by the lines that a site repeats on most pages.

A line is boilerplate if it was found on five pages with different names, and on three quarters of
the last pages of a folder or a host. A rarer line may say something about its page, such as "Sold
out". This only shortens the texts that a crawl delivers, not the texts that are compared.
"""

from dataclasses import dataclass, field
from typing import Final

from crawldedup.recent import put_last
from crawldedup.scope import Folder, folder_of
from crawldedup.verdict import MainText

_LEAST_PAGES: Final = 5
_LEAST_SHARE: Final = 0.75
# A page may need the lines that its site repeats: a lamp in one color needs the lamp's description.
_LEAST_LEFT: Final = 1 / 3
_MOST_FOLDERS: Final = 200
_MOST_LINES: Final = 2_000  # the maximum number of lines per folder
_MOST_LINES_OF_PAGE: Final = 500
# After this many pages, all counts are halved, so the site may change.
_WINDOW: Final = 200


@dataclass(slots=True)
class _Line:
    pages: int = 0
    names: set[int] = field(default_factory=set)  # hashes of the names of some of these pages


@dataclass(slots=True)
class _Folder:
    """How often each line occurs on the pages of a folder.

    Lines are hashed, the most recent last.
    """

    pages: int = 0
    lines: dict[int, _Line] = field(default_factory=dict)

    def add(self, lines: set[int], name: int) -> None:
        """Count the lines of a page. Its name shows whether pages are different."""
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
        """Return whether nearly all pages of the folder have a line, given by its hash."""
        line = self.lines.get(hashed)
        if line is None or len(line.names) < _LEAST_PAGES:
            return False
        return line.pages >= max(_LEAST_PAGES, _LEAST_SHARE * self.pages)


class RepeatedLines:
    """Learns which lines a site repeats on most of its pages, and removes them from texts.

    On hosts with the pages of many users, each user's lines are counted separately, because no user
    may cause lines of another one to be removed. If a URL doesn't show the user, nothing is
    removed.
    """

    def __init__(self) -> None:
        self._folders: dict[tuple[str, ...], _Folder] = {}

    def own_text(self, url: str, main: MainText, *, is_copy: bool) -> str:
        """Return the text of a page without the lines that its site repeats.

        Args:
            url: The URL of the page.
            main: Its main text and its name.
            is_copy: Whether the page is a copy of another one. Copies aren't counted, because an
                article with ten addresses is not boilerplate.
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
        """Return the counts of lines for the page's folder and for all pages of the same owner."""
        folders = []
        for name in ((place.host, place.owner), (place.host, place.owner, place.form)):
            folder = self._folders.get(name, _Folder())
            put_last(self._folders, name, folder, _MOST_FOLDERS)
            folders.append(folder)
        return folders
