"""The journals of crawls: files of JSON lines that record what happened to each response.

The first line is a header, and the last line says how the crawl ended. If a process is killed, only
the last line is missing.
"""

import fcntl
import hashlib
import json
import os
import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Annotated, Any, Final, Literal

import msgspec

from crawldedup.checks import namespace, refused
from crawldedup.errors import ConfigurationError
from crawldedup.text import pluralize, printable
from crawldedup.verdict import Kind

__all__ = ["CrawlSummary", "crawls", "journals"]

# A key that only the header has. Its value is the version.
FORMAT: Final = "crawldedup_journal"
VERSION: Final = 1
# The file with the name of the crawl, in the directory of a job that may be paused.
NAME_FILE: Final = "crawldedup.crawl"
LONGEST_URL: Final = 2048
_FIRST_BYTES: Final = 1 << 18  # of a journal: the header, and the first pages if there are any

OUTCOMES: Final = {  # the names of kinds in the lines of checked pages
    Kind.NEW: "new",
    Kind.NEAR_DUPLICATE: "near",
    Kind.EXACT_DUPLICATE: "exact",
    Kind.REVISIT: "revisit",
    Kind.THIN: "thin",
}


@dataclass(frozen=True, slots=True)
class Journal:
    """A journal that was found: its file, and the values of its first line."""

    crawldedup_journal: Literal[1]
    crawl: str
    spider: str
    started: Annotated[float, msgspec.Meta(ge=0, lt=2**37)]
    host: str = ""
    pid: int = 0
    version: str = ""
    known: int | None = None
    index: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    path: Path = Path()


@dataclass(frozen=True, slots=True)
class CrawlSummary:
    """A crawl that has left journals, and how it ended.

    Attributes:
        name: The name of the crawl, unique within its source.
        spider: The name of its spider.
        started: When its first process started, in seconds since 1970 (UTC).
        processes: The number of processes that wrote a journal, at least 1.
        pages: The number of responses.
        state: "running", "unfinished" for a crawl that was killed, or the reason why it ended, such
            as "finished".
    """

    name: str
    spider: str
    started: float
    processes: int
    pages: int
    state: str


def line_of(record: Mapping[str, Any]) -> bytes:
    """Return a record as a line of a journal."""
    return json.dumps(record, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"


def shown(url: str) -> str:
    """Make a URL safe to write: without lone surrogates, and cut off at `LONGEST_URL`.

    If it's cut off, it ends with a hash of the whole URL and "…".
    """
    if not url.isascii():
        url = url.encode("utf-8", "replace").decode("utf-8")
    whole = _hash_of(url, 8)
    return url if len(url) <= LONGEST_URL else f"{url[: LONGEST_URL - len(whole) - 1]}{whole}…"


def check_journal(name: str, value: object) -> str | bool:
    """Check the option with the directory of journals, and return the path, or False for none.

    The texts "false" and "0" also mean none. Raises ConfigurationError for "", "store" and URLs,
    and for anything that isn't a path.
    """
    if value is False or (isinstance(value, str) and value.lower() in ("false", "0")):
        return False
    if not isinstance(value, str | PurePath) or str(value) in ("", "store") or "://" in str(value):
        how = "`crawldedup report A B C` joins the files of several machines"
        raise refused(name, value, f"a directory, or False. Journals are files: {how}")
    return str(value)


def crawl_of(spider: str, started: float) -> str:
    """Name a crawl by its spider and its start in UTC, to the millisecond."""
    second = time.strftime("%Y%m%dT%H%M%S", time.gmtime(started))
    return f"{_safe(spider)}-{second}.{int(started * 1000) % 1000:03d}"


def name_of_job(job: Path | None, name: str) -> str:
    """Return the name of a job's first run, or write down `name` as that if this is the first one.

    Without a job, or if its directory can't be read or written, `name` is returned.
    """
    with suppress(OSError, ValueError):
        if job is not None and (job / NAME_FILE).exists():
            return namespace(NAME_FILE, (job / NAME_FILE).read_text("ascii"))
        if job is not None:
            (job / NAME_FILE).write_text(name, "ascii")
    return name


def _safe(text: str) -> str:
    """Make a text safe for the name of a file: replace other characters, and keep 60 at most.

    If that changes it, it ends with a hash of the text, so names stay different.
    """
    safe = re.sub(r"[^A-Za-z0-9._-]+", "_", text)[:60]
    return safe if safe == text else f"{safe}-{_hash_of(text, 4)}"


def _hash_of(text: str, size: int) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=size).hexdigest()


class FileJournal:
    """A new journal, written line by line.

    The journals of the oldest crawls of the same spider are removed, so those of `keep` crawls are
    left, including this one. Crawls without a page, such as failed starts, are counted apart, so
    that they don't push out the others. No errors are raised: if something fails, lines are lost,
    and `trouble` says why.
    """

    def __init__(self, directory: Path, header: Mapping[str, Any], *, keep: int) -> None:
        self.trouble: str | None = None
        self._file: int | None = None
        try:
            directory.mkdir(parents=True, exist_ok=True)
            _prune(directory, keep, spider=header["spider"], present=header["crawl"])
            stem = f"{header['crawl']}-{_safe(header['host'])}-{header['pid']}"
            number = 1
            path = directory / f"{stem}.jsonl"
            # Process ids are reused, and one process may run several crawls.
            while path.exists():
                number += 1
                path = directory / f"{stem}-{number}.jsonl"
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
            with suppress(OSError):
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.trouble = str(error)
        self.write(line_of(header))

    def write(self, line: bytes) -> None:
        """Append a line. If that fails, the line is lost, and `trouble` says why."""
        if self._file is not None:
            try:
                # If a full disk has cut off a line, its end begins the next one.
                os.write(self._file, line)
            except OSError as error:
                self.trouble = str(error)

    def close(self) -> None:
        """Close the file. Closing it more than once is harmless."""
        if self._file is not None:
            with suppress(OSError):
                os.close(self._file)
            self._file = None


def _prune(directory: Path, keep: int, *, spider: str, present: str) -> None:
    """Remove the journals of a spider's oldest crawls, so `keep` crawls are left with the present.

    As many crawls without a page stay as well. Other files stay, and so do the journals of running
    crawls and those that can't be removed.
    """
    earlier = _by_crawl(
        journal
        for journal in _journals_at(directory)
        if journal.spider == spider and journal.crawl != present
    )
    kept: Counter[bool] = Counter()
    for crawl in earlier.values():
        # Other crawls may be doing the same, and files may belong to another user.
        with suppress(OSError):
            has_pages = any(_has_pages(journal.path) for journal in crawl)
            kept[has_pages] += 1
            is_old = kept[has_pages] > max(0, keep - 1)
            if is_old and not any(_is_written(journal.path) for journal in crawl):
                for journal in crawl:
                    journal.path.unlink(missing_ok=True)


def _has_pages(path: Path) -> bool:
    """Return whether a journal has a page among its first lines."""
    with path.open("rb") as file:
        return b'"outcome":' in file.read(_FIRST_BYTES)


def _is_written(path: Path) -> bool:
    """Return whether a journal is still being written, because its crawl is running.

    A running crawl holds a lock on it. On a file system without locks, the result is True. Raises
    OSError if the journal cannot be opened.
    """
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            # Or the file system has no locks, so it doesn't show that a crawl has ended.
            return True
    return False


def find_journals(sources: Iterable[str | Path], crawl: str | None = None) -> list[Journal]:
    """Find the journals of a crawl, by its name or else the last one, in the order of their starts.

    If there are neither a name nor folders, all files count as one crawl. In a folder, files that
    aren't journals are ignored. Raises ConfigurationError for a file that isn't a journal, and if
    no journal is found.
    """
    places = [Path(source) for source in sources]
    of_crawls = _by_crawl(journal for place in places for journal in _journals_at(place))
    if crawl is None and any(place.is_dir() for place in places):
        crawl = next(iter(of_crawls), None)
    # A file may be named twice, by itself and by its folder.
    chosen: dict[Path, Journal] = {}
    for name, of_crawl in of_crawls.items():
        if crawl in (None, name):
            chosen.update((journal.path, journal) for journal in of_crawl)
    if not chosen:
        where = ", ".join(printable(str(place)) for place in places)
        names = ", ".join(printable(name) for name in of_crawls)
        message = f"there is no journal of a crawl (*.jsonl) in {where}"
        if names:
            message = f"there is no crawl {crawl!r} in {where}; there are only: {names}"
        raise ConfigurationError(message)
    return sorted(chosen.values(), key=lambda journal: (journal.started, journal.path))


def find_before(
    sources: Iterable[str | Path], later: list[Journal], moment: float
) -> list[Journal]:
    """Find the journals of the last crawl that a spider started before a moment.

    Args:
        sources: Folders, or files.
        later: The journals of a later crawl of the spider.
        moment: In seconds since 1970 (UTC).

    Raises ConfigurationError if there is none, and for a file that isn't a journal.
    """
    spider = later[0].spider
    places = [Path(source) for source in sources]
    found = _by_crawl(journal for place in places for journal in _journals_at(place))
    of_crawls = [
        crawl
        for name, crawl in found.items()
        if crawl[0].spider == spider and name != later[0].crawl
    ]
    for crawl in of_crawls:
        if crawl[0].started <= moment:
            return crawl
    raise ConfigurationError(
        f"there {'is' if len(of_crawls) == 1 else 'are'} "
        f"{pluralize(len(of_crawls), 'other crawl')} of the spider {printable(spider)!r} in "
        f"{', '.join(printable(str(place)) for place in places)}, and none that began by then"
    )


def find_between(earlier: Sequence[Journal], later: Sequence[Journal]) -> list[Journal]:
    """Return the journals beside those of two crawls that began between them on the same index."""
    own = {journal.path for journal in (*earlier, *later)}
    indexes = [_place_of_index(journal) for journal in (*earlier, *later)]
    folders = {path.parent for path in own}
    found = [journal for folder in sorted(folders) for journal in _journals_at(folder)]
    return [
        journal
        for journal in found
        if earlier[0].started <= journal.started < later[0].started
        and journal.path not in own
        and _place_of_index(journal) in indexes
    ]


def _place_of_index(journal: Journal) -> tuple[object, object]:
    return journal.settings.get("store"), journal.settings.get("namespace")


def journals(source: str | Path, crawl: str | None = None) -> list[Path]:
    """Return the journal files of one crawl, one for each of its processes.

    Args:
        source: A directory, or a file.
        crawl: The name of the crawl; by default the latest one.

    Raises:
        ConfigurationError: There is no such crawl, or the file isn't a journal.
        OSError: Files cannot be read.

    Example:
        >>> import json
        >>> from crawldedup.journal import journals
        >>> for path in journals("journals"):
        ...     header, *lines = map(json.loads, path.read_text().splitlines())
        >>> header["spider"], [line["outcome"] for line in lines if "outcome" in line]
        ('news', ['new', 'new'])
    """
    return [journal.path for journal in find_journals([source], crawl)]


def crawls(source: str | Path) -> list[CrawlSummary]:
    """List the crawls that have left journals in a directory or file, the latest first.

    Raises:
        ConfigurationError: There is nothing at `source`, or the file isn't a journal.
        OSError: Files cannot be read.

    Example:
        >>> from crawldedup.journal import crawls
        >>> for crawl in crawls("journals"):
        ...     print(crawl.spider, crawl.pages, crawl.state)
        news 2 finished
    """
    summaries = []
    for crawl in _by_crawl(_journals_at(Path(source))).values():
        pages = 0
        ends = set[str]()
        is_running = False
        for journal in crawl:
            with journal.path.open("rb") as file:
                line = b""
                for line in file:
                    pages += b'"outcome":' in line
            ended = re.search(rb'"end":"([^"]*)"', line)
            ends.add(ended[1].decode() if ended else "unfinished")
            is_running |= ended is None and _is_written(journal.path)
        state = ", ".join(sorted(ends))
        if "unfinished" in ends:
            state = "running" if is_running else "unfinished"
        first = crawl[0]
        summaries.append(
            CrawlSummary(first.crawl, first.spider, first.started, len(crawl), pages, state)
        )
    return summaries


def _journals_at(place: Path) -> list[Journal]:
    """Return the journal in a file, or the journals in a folder, where other files are ignored.

    Raises ConfigurationError if there is nothing at the place, or the file isn't a journal.
    """
    found = []
    for path in sorted(place.glob("*.jsonl")) if place.is_dir() else [place]:
        # Opening a named pipe would block forever.
        with suppress(OSError, msgspec.MsgspecError, RecursionError):
            if path.is_file():
                with path.open("rb") as file:
                    header = msgspec.json.decode(file.readline(1 << 20), type=Journal)
                found.append(replace(header, path=path.absolute()))
    if not found and not place.is_dir():
        name = printable(str(place))
        raise ConfigurationError(
            f"{name} is not the journal of a crawl: its first line is not a header of version "
            f"{VERSION}"
            if place.exists()
            else f"there is no file or folder {name!r} to read journals from"
        )
    return found


def _by_crawl(found: Iterable[Journal]) -> dict[str, list[Journal]]:
    """Group journals by the name of their crawl, the latest crawl first.

    The journals of a crawl are in the order of their starts.
    """
    of_crawls: dict[str, list[Journal]] = {}
    for journal in sorted(found, key=lambda journal: journal.started):
        # The last journal of a crawl determines its position.
        of_crawls[journal.crawl] = [*of_crawls.pop(journal.crawl, ()), journal]
    return dict(reversed(of_crawls.items()))
