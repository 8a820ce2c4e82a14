"""A directory of HTML files as a site: served as it is, and never anything from outside of it."""

from __future__ import annotations

import mimetypes
import os
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from crawldedup.demo.reply import NOT_FOUND, Reply, path_of
from crawldedup.errors import ConfigurationError

_PAGE_SUFFIXES = (".html", ".htm", ".xhtml", ".shtml")
_INDEX_NAMES = ("index.html", "index.htm", "index.xhtml")
_TYPES = {".xhtml": "application/xhtml+xml", ".shtml": "text/html", ".htm": "text/html", ".html": "text/html"}


class FolderSite:
    """Serves the files below `root`.

    A path that leads outside, through ``..`` or a symbolic link, is not found. The content type says no
    charset, so that what the pages declare themselves counts. Raises `ConfigurationError` if `root` is not a
    directory with HTML files in it.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = Path(root).resolve()
        if not self._root.is_dir():
            raise ConfigurationError(f"{os.fspath(root)!r} is not a directory; give one with HTML files in it.")
        self._start_paths = sorted(self._url_path(file) for file in self._html_files())
        if not self._start_paths:
            raise ConfigurationError(
                f"There is no HTML file below {os.fspath(root)!r}; looked for {', '.join(_PAGE_SUFFIXES)}."
            )

    @property
    def name(self) -> str:
        """The directory."""
        return str(self._root)

    @property
    def start_paths(self) -> list[str]:
        """Every HTML file, for not every file is linked from another."""
        return self._start_paths

    def reply(self, target: str) -> Reply:
        """Answer with a file, an index page, a redirect to a directory's slash, or 404."""
        path = path_of(target) or "/"
        file = self._file_at(path)
        if file is None:
            return NOT_FOUND
        if file.is_dir():
            if not path.endswith("/"):
                # A path of two slashes would be read as another host.
                return Reply(b"", status=301, headers={"Location": "/" + path.strip("/") + "/"})
            names = (name for name in _INDEX_NAMES if (file / name).is_file())
            index = self._file_at(path + next(names, ""))
            if index is None or index.is_dir():
                return NOT_FOUND
            file = index
        try:
            return Reply(file.read_bytes(), _content_type(file))
        except OSError:
            return NOT_FOUND

    def _html_files(self) -> list[Path]:
        return [
            file
            for folder, _, names in os.walk(self._root)
            for name in names
            if name.lower().endswith(_PAGE_SUFFIXES)
            if self._is_inside(file := Path(folder, name)) and file.is_file()
        ]

    def _url_path(self, file: Path) -> str:
        return "/" + quote(os.fsencode(file.relative_to(self._root).as_posix()))

    def _file_at(self, path: str) -> Path | None:
        """The file or directory of a URL path; None for what is not there, not a file, or not inside."""
        try:
            file = self._root / os.fsdecode(unquote_to_bytes(path.lstrip("/")))
            # A pipe would wait for ever; is_file is False for it.
            is_served = self._is_inside(file) and (file.is_file() or file.is_dir())
        except (OSError, ValueError):  # a name too long, a NUL in it
            return None
        return file if is_served else None

    def _is_inside(self, file: Path) -> bool:
        try:
            return file.resolve().is_relative_to(self._root)
        except (OSError, RuntimeError):  # a link that leads to itself
            return False


def _content_type(file: Path) -> str:
    known = _TYPES.get(file.suffix.lower())
    return known or mimetypes.guess_type(file.name)[0] or "application/octet-stream"
