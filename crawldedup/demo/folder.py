"""Serve a folder of HTML files as it is, and nothing from outside of it."""

from __future__ import annotations

import mimetypes
import os
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from crawldedup.demo.server import NOT_FOUND, Reply, path_of
from crawldedup.errors import ConfigurationError

_TYPES = {".xhtml": "application/xhtml+xml", ".shtml": "text/html", ".htm": "text/html", ".html": "text/html"}
_INDEX_NAMES = ("index.html", "index.htm", "index.xhtml")


class FolderSite:
    """Serves the files below a folder.

    A path that leads outside, through ``..`` or a symbolic link, is not found. Pages declare their charset themselves.
    Every HTML file is a start, since not every file is linked. Raises ConfigurationError if there is none.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = Path(root).resolve()
        self.name = str(self._root)
        if not self._root.is_dir():
            raise ConfigurationError(f"{os.fspath(root)!r} is not a directory; give one with HTML files in it.")
        names = (Path(folder, name) for folder, _, names in os.walk(self._root) for name in names)
        pages = (file.relative_to(self._root) for file in names if file.suffix.lower() in _TYPES)
        paths = ("/" + quote(os.fsencode(page.as_posix())) for page in pages)
        self.start_paths = sorted(path for path in paths if (file := self._file_at(path)) and file.is_file())
        if not self.start_paths:
            raise ConfigurationError(f"No HTML file is below {os.fspath(root)!r}; looked for {', '.join(_TYPES)}.")

    def reply(self, target: str) -> Reply:
        """Answer with a file, an index page, a redirect to a folder's slash, or 404."""
        path = path_of(target) or "/"
        file = self._file_at(path)
        if file is not None and file.is_dir():
            if not path.endswith("/"):
                # A path that begins with two slashes would be read as another host.
                return Reply(b"", status=301, headers={"Location": "/" + path.strip("/") + "/"})
            path += next((name for name in _INDEX_NAMES if (file / name).is_file()), "")
            file = self._file_at(path)
        try:
            if file is None or file.is_dir():
                return NOT_FOUND
            known = _TYPES.get(Path(path).suffix.lower()) or mimetypes.guess_type(path)[0]
            return Reply(file.read_bytes(), known or "application/octet-stream")
        except OSError:
            return NOT_FOUND

    def _file_at(self, path: str) -> Path | None:
        """Return the file or folder of a URL path; None for what is missing, special or outside."""
        try:
            file = (self._root / os.fsdecode(unquote_to_bytes(path.lstrip("/")))).resolve()
            # A pipe is neither a file nor a folder: to read it would wait for ever.
            return file if file.is_relative_to(self._root) and (file.is_file() or file.is_dir()) else None
        except (OSError, ValueError, RuntimeError):  # a name too long, a NUL in it, a link that leads to itself
            return None
