"""Find the journals of a crawl, and read their first lines."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from crawldedup.errors import ConfigurationError
from crawldedup.journal import files
from crawldedup.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

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


def find_journals(
    sources: Iterable[str], crawl: str | None = None, refuse: Callable[[ConfigurationError], object] = lambda _: None
) -> list[Journal]:
    """Return the journals of the named crawl, or of the last one, in files and folders.

    All given files belong to the crawl if no folder is given. Raises ConfigurationError for a file that is no journal,
    and where there is none. What is no journal in a folder is left alone. If others can be read, `refuse` is called for
    each journal that a newer version wrote.
    """
    found: list[Journal] = []
    named = crawl
    newer: list[files.Journal] = []
    only_files = True
    for source in sources:
        path = Path(source)
        if path.is_dir():
            only_files = False
            found += filter(None, (_journal(each, header) for each, header in files.journals_in(path)))
            newer += files.newer_in(path)
        elif not path.exists():
            raise ConfigurationError(f"there is no file or folder {printable(source)!r} to read journals from")
        elif journal := _journal(path, files.header_of(path)):
            found.append(journal)
        elif (header := files.newer_header_of(path)) is not None:
            newer.append(files.Journal(path, header))
        else:
            raise files.refusal_of(path)
    if crawl is None and found and not only_files:
        crawl = max(found, key=lambda journal: journal.started).crawl
    chosen = [journal for journal in found if crawl in (None, journal.crawl)]
    refused = [files.refusal_of(path) for path, header in newer if named in (None, header.get("crawl"))]
    if not chosen and refused:
        raise refused[0]
    for each in refused:
        refuse(each)
    if not chosen:
        known = ", ".join(sorted({printable(journal.crawl) for journal in found}))
        raise ConfigurationError(
            f"there is no journal of a crawl {printable(crawl or '')!r}; those that are there: {known}"
            if found
            else f"there are no journals (*.jsonl) in {', '.join(map(printable, sources))}"
        )
    return sorted(chosen, key=lambda journal: (journal.started, journal.path))


def have_one_index(journals: Iterable[Journal]) -> bool:
    """Return True for crawls whose pages were remembered in one index, so that their digests can be compared."""
    indexes = {(str(journal.settings.get("store")), str(journal.settings.get("namespace"))) for journal in journals}
    return len(indexes) == 1 and not any(store.startswith("memory:") for store, _ in indexes)


def _journal(path: Path, header: dict[str, Any] | None) -> Journal | None:
    """Return a journal, or None for a file that is none."""
    if header is None or not 0 <= header["started"] < _LATEST:
        return None
    known, settings, pid = header.get("known"), header.get("settings"), header.get("pid")
    return Journal(
        path=path.absolute(),
        crawl=header["crawl"],
        spider=header["spider"],
        started=float(header["started"]),
        host=str(header.get("host", "")),
        pid=pid if isinstance(pid, int) else 0,
        version=str(header.get("version", "")),
        known=known if isinstance(known, int) else None,
        settings=settings if isinstance(settings, dict) else {},
    )
