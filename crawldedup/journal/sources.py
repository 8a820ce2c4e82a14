"""Find the journals of a crawl, wherever they were written. Readers get files."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from crawldedup.errors import ConfigurationError
from crawldedup.journal.files import end_of, header_of, is_written, journals_in, newer_in, refusal_of
from crawldedup.journal.names import is_redis
from crawldedup.journal.records import pages_in
from crawldedup.printable import printable
from crawldedup.stores.shown import shown_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crawldedup.journal.downloads import StoredCrawl

_LONGEST_SHOWN = 20


@dataclass(frozen=True, slots=True)
class CrawlSummary:
    """Describes one crawl of a source.

    Attributes:
        name: The name of the crawl, unique within its source.
        spider: The name of its spider.
        started: When its first process started, in seconds since 1970 (UTC).
        processes: The number of processes that wrote a journal, from 1.
        pages: The number of responses that came, from 0.
        state: "running", "unfinished" for a crawl that was killed, or the reason why it ended, as "finished".
    """

    name: str
    spider: str
    started: float
    processes: int
    pages: int
    state: str


class _Part(NamedTuple):
    """What one process of a crawl has left: `pages` counts the responses that came to it."""

    header: dict[str, Any]
    end: dict[str, Any] | None
    is_running: bool
    pages: int


def crawls(source: str | Path) -> list[CrawlSummary]:
    """Return the crawls of a source, the latest first.

    Args:
        source: A directory, a file, or the URL of a Redis.

    Returns:
        A summary of each crawl; an empty list for a directory without journals.

    Raises:
        ConfigurationError: There is nothing at `source`, the file is no journal, or a newer version wrote it.
        OSError: Files cannot be read.
        StoreError: The Redis cannot answer.

    Example:
        >>> from crawldedup.journal import crawls
        >>> for crawl in crawls("journals"):
        ...     print(crawl.spider, crawl.pages, crawl.state)
        news 2 finished
    """
    if not _is_url(source):
        return _summaries(map(_part_of, _files_of(Path(source))))
    from crawldedup.journal.downloads import stored_crawls

    return _summaries(part for crawl in stored_crawls(str(source)) for part in _parts_of(crawl))


@contextmanager
def journals(source: str | Path, crawl: str | None = None) -> Iterator[list[Path]]:
    """Give the files of one crawl, in a `with` statement.

    What comes from a Redis is in temporary files, which are removed at the end of the statement.

    Args:
        source: A directory, a file, or the URL of a Redis.
        crawl: The name of the crawl; by default the latest one.

    Yields:
        The paths of the files, one for each process.

    Raises:
        ConfigurationError: There is no such crawl, or the file is no journal.
        OSError: Files cannot be read.
        StoreError: The Redis cannot answer.

    Example:
        >>> import json
        >>> from crawldedup.journal import journals
        >>> with journals("journals") as paths:
        ...     for path in paths:
        ...         header, *lines = map(json.loads, path.read_text().splitlines())
        >>> header["spider"], [line["outcome"] for line in lines if "outcome" in line]
        ('news', ['new', 'new'])
    """
    if not _is_url(source):
        files = _files_of(Path(source))
        headers = [header for _, header in files]
        name = _chosen(headers, crawl, str(source))
        yield [path for path, header in files if header["crawl"] == name]
        return
    from crawldedup.journal.downloads import download, stored_crawls

    url = str(source)
    name = _chosen([header for one in stored_crawls(url) for header in one.headers.values()], crawl, shown_url(url))
    with tempfile.TemporaryDirectory(prefix="crawldedup-journal-") as folder:
        yield download(url, name, Path(folder))


def _is_url(source: str | Path) -> bool:
    return isinstance(source, str) and is_redis(source)


def _files_of(source: Path) -> list[tuple[Path, dict[str, Any]]]:
    if not source.is_dir():
        if not source.exists():
            raise ConfigurationError(f"there is nothing at {printable(str(source))}")
        if (header := header_of(source)) is None:
            raise refusal_of(source)
        return [(source, header)]
    found: list[tuple[Path, dict[str, Any]]] = list(journals_in(source))
    if not found and (newer := next(newer_in(source), None)) is not None:
        raise refusal_of(newer.path)
    return found


def _chosen(headers: list[dict[str, Any]], crawl: str | None, place: str) -> str:
    latest_first: dict[str, None] = dict.fromkeys(
        header["crawl"] for header in sorted(headers, key=lambda header: -float(header["started"]))
    )
    if crawl is None and latest_first:
        return next(iter(latest_first))
    if crawl is not None and crawl in latest_first:
        return crawl
    if not latest_first:
        raise ConfigurationError(f"there is no journal of a crawl in {printable(place)}")
    names = [printable(name) for name in latest_first]
    more = f" and {len(names) - _LONGEST_SHOWN} more" if len(names) > _LONGEST_SHOWN else ""
    raise ConfigurationError(
        f"there is no crawl {crawl!r} in {printable(place)}; there are: {', '.join(names[:_LONGEST_SHOWN])}{more}"
    )


def _part_of(journal: tuple[Path, dict[str, Any]]) -> _Part:
    path, header = journal
    if (end := end_of(path)) is not None and "stats" in end:
        return _Part(header, end, False, pages_in(end))
    with path.open("rb") as file:
        pages = sum(b'"outcome":' in line for line in file)
    return _Part(header, end, end is None and is_written(path), pages)


def _parts_of(crawl: StoredCrawl) -> Iterator[_Part]:
    unended = crawl.lines - len(crawl.ends) - sum(map(pages_in, crawl.ends.values()))
    for writer, header in crawl.headers.items():
        if (end := crawl.ends.get(writer)) is not None:
            yield _Part(header, end, False, pages_in(end))
        else:
            # Lines tell no writer without being read: those of all that have not ended count with the first.
            yield _Part(header, None, crawl.is_running, max(0, unended))
            unended = 0


def _summaries(parts: Iterable[_Part]) -> list[CrawlSummary]:
    crawls: dict[str, list[_Part]] = {}
    for part in parts:
        crawls.setdefault(part.header["crawl"], []).append(part)
    found = [_summary(name, of_crawl) for name, of_crawl in crawls.items()]
    return sorted(found, key=lambda crawl: -crawl.started)


def _summary(name: str, parts: list[_Part]) -> CrawlSummary:
    first = min(parts, key=lambda part: float(part.header["started"])).header
    ends = [part.end for part in parts if part.end is not None]
    if any(part.is_running for part in parts):
        state = "running"
    elif len(ends) < len(parts):
        state = "unfinished"
    else:
        state = ", ".join(sorted({str(end["end"]) for end in ends}))
    pages = sum(part.pages for part in parts)
    return CrawlSummary(name, first["spider"], float(first["started"]), len(parts), pages, state)
