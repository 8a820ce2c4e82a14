"""Read the pages in single files, and find those in folders."""

import os
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from w3lib.encoding import read_bom

from crawldedup.commands.captures import checked_text
from crawldedup.commands.forms import (
    HTML_SUFFIXES,
    TEXT_SUFFIXES,
    form_of,
    is_page_name,
    is_text_name,
    may_be_page,
    suffix_of,
    why_not_read,
)
from crawldedup.commands.items import (
    MOST_BYTES,
    MOST_TOLD,
    Item,
    OnError,
    OnNote,
    Unread,
    counted,
    ignore_note,
    refuse,
)
from crawldedup.commands.packing import read_at_most
from crawldedup.errors import ConfigurationError, PageError
from crawldedup.page import Page
from crawldedup.reading.html import decode
from crawldedup.reading.markup import is_html
from crawldedup.text import pluralize, printable

_HEAD_BYTES: Final = 4096
# Reading one of these might block forever.
_KINDS: Final = (
    (stat.S_ISDIR, "link to a folder"),
    (stat.S_ISFIFO, "pipe"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISCHR, "device"),
    (stat.S_ISBLK, "device"),
)


def item_of_file(path: Path) -> Item:
    """Read the page in a file of HTML or text, which may be compressed.

    The page of a text file is `Unread` if it isn't text in UTF-8, or in the encoding that its byte
    order mark shows.

    Raises:
        ConfigurationError: Files with this suffix aren't supported, or the file can't be
            decompressed.
        OSError: The file can't be read.
    """
    why = why_not_read(path.name)
    if why is not None:
        raise ConfigurationError(f"{path}: {why}")
    body = read_at_most(path, MOST_BYTES)
    url = path.absolute().as_uri()
    # HTML may declare its own encoding.
    page = _page_of_text(url, body) if is_text_name(path.name) else Page(url, html=body)
    return Item(str(path), page=page)


def _page_of_text(url: str, body: bytes) -> Page | Unread:
    encoding, mark = read_bom(body)
    try:
        return Page(url, text=checked_text(body[len(mark or b"") :].decode(encoding or "utf-8")))
    except UnicodeError:
        # Replacing a letter would lose it, and it may be what tells two texts apart.
        message = "it is not UTF-8, which text files must be; convert it, for example with iconv"
        return Unread(url, PageError("encoding", message))


def pages_below(
    folder: Path, on_error: OnError = refuse, on_note: OnNote = ignore_note
) -> list[Path]:
    """Find the HTML and text files below a folder, and return their paths, sorted.

    They are recognized by their names. Other files, such as `view.php?id=3`, count if they begin
    like HTML, unless they have the names of images, programs and the like.

    Args:
        folder: The folder.
        on_error: Takes the errors of folders and files that can't be opened.
        on_note: Takes a note that counts the other files by suffix, and one that lists everything
            that is neither a file nor a folder.
    """
    paths: list[Path] = []
    others: Counter[str] = Counter()
    odd_entries: list[str] = []
    for path in _entries_below(folder, on_error):
        try:
            kind = _kind_of(path)
            is_page = not kind and _is_page(path)
        except OSError as error:
            on_error(error)
            continue
        if kind:
            odd_entries.append(f"{printable(str(path.relative_to(folder)))} ({kind})")
        elif is_page:
            paths.append(path)
        else:
            others[suffix_of(path.name) or "without a suffix"] += 1
    if others:
        on_note(
            f"{folder}: {pluralize(others.total(), 'file')} not read, by suffix: {counted(others)}"
        )
    if odd_entries:
        on_note(
            f"{folder}: {len(odd_entries):,} not read, because they are not files: "
            f"{_list(odd_entries)}"
        )
    return sorted(paths)


def _list(names: list[str]) -> str:
    shown = sorted(names)[:MOST_TOLD]
    rest = len(names) - len(shown)
    return ", ".join([*shown, f"and {rest:,} more"] if rest else shown)


def _entries_below(folder: Path, on_error: OnError) -> Iterator[Path]:
    """Yield everything below a folder except folders. Links to folders are not followed."""
    for parent, folders, names in os.walk(folder, onerror=on_error):
        for name in folders:
            path = Path(parent, name)
            if path.is_symlink():
                yield path
        for name in names:
            yield Path(parent, name)


def _kind_of(path: Path) -> str:
    """Return what is at a path, in words, or "" if it is a regular file. Raises OSError."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return "link to nothing"
    for is_of_kind, kind in _KINDS:
        if is_of_kind(mode):
            return kind
    return "" if stat.S_ISREG(mode) else "no file"


def _is_page(path: Path) -> bool:
    if is_page_name(path.name):
        return True
    if not may_be_page(path.name):
        return False
    try:
        return is_html(decode(read_at_most(path, _HEAD_BYTES), None))
    # It is not text, or it is compressed and damaged.
    except (ConfigurationError, PageError):
        return False


def folder_without_pages(folder: Path) -> ConfigurationError:
    """Make the error for a folder without pages, which may contain feeds instead."""
    suffixes = ", ".join(HTML_SUFFIXES + TEXT_SUFFIXES)
    feeds = sorted(path.name for path in folder.iterdir() if form_of(path.name) is not None)
    hint = f". Name the files that contain pages, such as {feeds[0]!r}" if feeds else ""
    return ConfigurationError(f"the folder {str(folder)!r} contains no pages: no {suffixes}{hint}")
