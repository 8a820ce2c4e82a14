"""Find the journals of a crawl, and read their first lines."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from crawldedup.errors import ConfigurationError
from crawldedup.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

SUFFIX: Final = ".jsonl"
_LONGEST_HEADER: Final = 1 << 20
_LATEST: Final = 2**37
"""Seconds since 1970 that are still a date."""


@dataclass(frozen=True, slots=True)
class Journal:
    """A journal's file, and what its first line says."""

    path: Path
    crawl: str
    spider: str
    started: float
    host: str
    pid: int
    version: str
    known: int | None
    settings: dict[str, Any]


def find_journals(sources: Iterable[str], crawl: str | None = None) -> list[Journal]:
    """Return the journals of the named crawl, or of the last one, in files and folders.

    All given files belong to the crawl if no folder is given. Raises ConfigurationError for a file that is no journal,
    and where there is none. What is no journal in a folder is left alone.
    """
    found: list[Journal] = []
    only_files = True
    for source in sources:
        path = Path(source)
        if path.is_dir():
            only_files = False
            found += filter(None, (_header(each) for each in sorted(path.glob(f"*{SUFFIX}")) if each.is_file()))
        elif not path.exists():
            raise ConfigurationError(f"there is no file or folder {printable(source)!r} to read journals from")
        elif journal := _header(path):
            found.append(journal)
        else:
            raise ConfigurationError(f"{printable(source)!r} is no journal of crawldedup: its first line is no header")
    if crawl is None and found and not only_files:
        crawl = max(found, key=lambda journal: journal.started).crawl
    chosen = [journal for journal in found if crawl in (None, journal.crawl)]
    if not chosen:
        known = ", ".join(sorted({printable(journal.crawl) for journal in found}))
        raise ConfigurationError(
            f"there is no journal of a crawl {printable(crawl or '')!r}; those that are there: {known}"
            if found
            else f"there are no journals (*{SUFFIX}) in {', '.join(map(printable, sources))}"
        )
    return sorted(chosen, key=lambda journal: (journal.started, journal.path))


def _header(path: Path) -> Journal | None:
    """Return a journal, or None for a file that is none."""
    with path.open("rb") as file:
        line = file.readline(_LONGEST_HEADER)
    try:
        given = json.loads(line)
        if given["crawldedup_journal"] != 1 or not 0 <= given["started"] < _LATEST:
            return None
        known, settings = given.get("known"), given.get("settings")
        return Journal(
            path=path.absolute(),
            crawl=str(given["crawl"]),
            spider=str(given.get("spider", "")),
            started=float(given["started"]),
            host=str(given.get("host", "")),
            pid=int(given.get("pid", 0)),
            version=str(given.get("version", "")),
            known=known if isinstance(known, int) else None,
            settings=settings if isinstance(settings, dict) else {},
        )
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return None
