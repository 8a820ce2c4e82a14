"""Journals as tables of DuckDB, in a file of their own, so that memory stays bounded."""

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, Self

import msgspec

from crawldedup.advice.evidence import Evidence, Seen
from crawldedup.advice.rules import Rule
from crawldedup.errors import CrawlDedupError, MissingDependencyError
from crawldedup.journal import Journal
from crawldedup.printable import printable
from crawldedup.report.counts import OUTCOMES
from crawldedup.scope import site_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Progress = Callable[[str, float], None]
Row = dict[str, Any]

MEMORY: Final = "600MB"
"""What DuckDB may take; the rest goes to a temporary folder."""


def _columns(text: str) -> dict[str, str]:
    """Return the kinds of columns by their names."""
    return dict(column.split() for column in text.split(","))


# What a line may hold. A value of another type is left out.
_OF_PAGES: Final = _columns(
    """
    url VARCHAR, outcome VARCHAR, original VARCHAR, similarity DOUBLE, hamming INTEGER, copies BIGINT, words BIGINT,
    action VARCHAR, changed BOOLEAN, unchanged BOOLEAN, replaces BOOLEAN, abandoned BOOLEAN, digest VARCHAR,
    reason VARCHAR, bytes BIGINT, status INTEGER, referer VARCHAR, depth INTEGER, latency DOUBLE, waited DOUBLE,
    read DOUBLE, store DOUBLE, probes INTEGER, candidates INTEGER, difference VARCHAR
    """
)
_OF_OTHERS: Final = _columns(
    """
    t DOUBLE, known BIGINT, queued BIGINT, walls BIGINT, index_bytes BIGINT, skipped VARCHAR, rule VARCHAR,
    wall VARCHAR, share DOUBLE, window BIGINT, end VARCHAR, stats JSON, crawldedup_journal INTEGER, withdrawn JSON,
    volatile VARCHAR
    """
)
_COLUMNS: Final = {**_OF_PAGES, **_OF_OTHERS}
ROW_COLUMNS: Final = tuple(_OF_PAGES)
"""The columns of a page."""

# Names of one kind become one: dates, ids, numbers, and titles with hyphens. What differs in nothing else is one
# pattern. Ids and parameters of paths are rare: a look is cheaper than a replacement.
_PATTERN: Final = r"""
regexp_replace(regexp_replace(regexp_replace(regexp_replace(
    if(regexp_matches(path, '[0-9a-fA-F]{16}|;'),
        regexp_replace(regexp_replace(path, ';[^/]*', ';*', 'g'), '\b[0-9a-fA-F]{16,}\b', '{id}', 'g'), path),
    '\b\d{4}[-/.](0?[1-9]|1[0-2])\b([-/.][0-3]?\d\b)?', '{date}', 'g'),
    '\d+', '{n}', 'g'),
    '/[^/]*[-_%][^/]*[-_%][^/]*', '/*', 'g'),
    '^((/[^/]*){4})/.+$', '\1/…')
"""
_LONGEST_PATH: Final = 300
# Not a number is more than any number.
_SOUND: Final = ", ".join(
    f'if("{name}" BETWEEN 0 AND {1 if name in ("similarity", "share") else 1e15}, "{name}", NULL) AS "{name}"'
    for name, kind in _COLUMNS.items()
    if kind in ("DOUBLE", "BIGINT", "INTEGER") and name != "t"
)
_MOST_NAMES: Final = 20
"""A folder with more names is shown as one pattern."""


class Database:
    """The lines of a crawl's journals.

    The view `pages` has those of its responses, with their `number` and their `moment` in seconds. The view `places`
    has their `site` and `pattern`, too.
    """

    def __init__(self, progress: Progress = lambda _doing, _share: None) -> None:
        try:
            import duckdb
        except ImportError as error:
            raise MissingDependencyError("journals are read by duckdb: pip install duckdb jinja2") from error
        self._progress = progress
        self._temporary = TemporaryDirectory(prefix="crawldedup-report-", ignore_cleanup_errors=True)
        self._folder = Path(self._temporary.name)
        # The last is that of a line which is longer than DuckDB takes, and than any of a journal.
        self._failures = (duckdb.OperationalError, duckdb.FatalException, duckdb.InvalidInputException)
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": MEMORY,
            "temp_directory": str(self._folder / "spilled"),
            "preserve_insertion_order": "false",
            "autoinstall_known_extensions": "false",
        }
        with self._errors():
            self.connection: DuckDBPyConnection = duckdb.connect(self._folder / "journals.duckdb", config=config)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()
        self._temporary.cleanup()

    def rows(self, query: str, **values: Any) -> list[Row]:
        """Return the rows of a query, by the names of their columns."""
        result = self.connection.execute(query, values)
        names = [column[0] for column in result.description]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    def row(self, query: str, **values: Any) -> Row:
        """Return the one row of a query."""
        (row,) = self.rows(query, **values)
        return row

    def collect(self, evidence: Evidence) -> None:
        """Collect pages in the order of their verdicts until it is full, and the rules that crawls have withdrawn."""
        pages = self.connection.execute(
            "SELECT url, outcome, original, digest, referer FROM pages ORDER BY moment, number"
        )
        while not evidence.is_full and (page := pages.fetchone()):
            evidence.add(Seen(*page))
        for row in self.rows("SELECT withdrawn FROM lines WHERE withdrawn IS NOT NULL"):
            with suppress(msgspec.MsgspecError):
                evidence.add_withdrawn(msgspec.json.decode(row["withdrawn"], type=Rule))

    @contextmanager
    def doing(self, what: str, output: Path | None = None) -> Iterator[None]:
        """Tell what is done within. Raises ReportError if there is no room for it, or for `output`."""
        self._progress(what, 0)
        with self._errors(output):
            yield

    @contextmanager
    def _errors(self, output: Path | None = None) -> Iterator[None]:
        try:
            yield
        except self._failures as error:
            text = str(error)
            reason = next(
                (why for why in map(os.strerror, errno.errorcode) if f": {why}" in text), text.partition("\n")[0]
            )
            if output is not None and str(self._folder) not in text:
                raise UnwritableError(output, reason) from error
            folder = self._folder.parent
            raise ReportError(f"the report cannot be made with temporary files in {folder}: {reason}") from error

    def load(self, journals: Sequence[Journal], suffix: str = "") -> int:
        """Make the tables and the views of journals, with `suffix` in their names. Return how many lines were left out.

        Those are lines that are cut off, foreign, or name no outcome of this version.
        """
        start = min(journal.started for journal in journals)
        with self.doing("reading journals"):
            self._read(
                [str(journal.path) for journal in journals], [journal.started - start for journal in journals], suffix
            )
            self._make_places(suffix)
        left_out = self.row(
            f"""SELECT count(*) FILTER (NOT coalesce(outcome IN {OUTCOMES}, false)
                    AND coalesce(known, queued, walls) IS NULL AND coalesce(wall, skipped, volatile, "end") IS NULL
                    AND crawldedup_journal IS NULL AND withdrawn IS NULL) AS lines FROM lines{suffix}"""
        )
        return int(left_out["lines"])

    def _read(self, files: list[str], offsets: list[float], suffix: str) -> None:
        self.connection.execute(
            f"""CREATE TABLE lines{suffix} AS
            WITH parts AS (
                SELECT *, {_authority_of("url")} AS authority, list_position($files, filename) AS process
                FROM read_json($files, format='newline_delimited', columns=$columns, ignore_errors=true, filename=true)
            ), paths AS (
                SELECT *, regexp_extract(substr(url, instr(url, '://') + 3 + length(authority)), '^[^?#]*') AS path
                FROM parts
            ), patterns AS (
                SELECT * EXCLUDE (path, authority), {_host_in("authority", "url")} AS host,
                    if(authority <> '', {_PATTERN}, '') AS pattern
                FROM (SELECT * REPLACE (left(path, {_LONGEST_PATH}) AS path) FROM paths)
            )
            -- A pattern is a folder and a name in it, so that folders with many names can be taken together.
            SELECT patterns.* EXCLUDE (t, filename, pattern) REPLACE ({_SOUND}, process - 1 AS process),
                $offsets[process] + if(t BETWEEN 0 AND 1e9, t, 0) AS moment,
                regexp_replace(pattern, '[^/]*/?$', '') AS folder, regexp_extract(pattern, '[^/]*/?$') AS leaf
            FROM patterns""",
            {"files": files, "offsets": offsets, "columns": _COLUMNS},
        )

    def _make_places(self, suffix: str) -> None:
        hosts = [row["host"] for row in self.rows(f"SELECT DISTINCT host FROM lines{suffix} WHERE host <> ''")]
        self.connection.execute(
            f"""CREATE TABLE sites{suffix} AS
            SELECT unnest($hosts::VARCHAR[]) AS host, unnest($sites::VARCHAR[]) AS site""",
            {"hosts": hosts, "sites": [*map(_site_at, hosts)]},
        )
        self.connection.execute(
            f"""CREATE TABLE folders{suffix} AS SELECT host, folder FROM lines{suffix} WHERE url IS NOT NULL
            GROUP BY ALL HAVING approx_count_distinct(leaf) > {_MOST_NAMES};
            CREATE VIEW pages{suffix} AS SELECT lines.rowid AS number, * FROM lines{suffix} AS lines
            WHERE url IS NOT NULL AND outcome IN {OUTCOMES};
            CREATE VIEW places{suffix} AS SELECT pages.*, coalesce(site, '') AS site,
                pages.folder || CASE WHEN wide.host IS NULL THEN leaf ELSE '*' END AS pattern
            FROM pages{suffix} AS pages LEFT JOIN sites{suffix} AS sites ON sites.host = pages.host
            LEFT JOIN folders{suffix} AS wide ON wide.host = pages.host AND wide.folder = pages.folder"""
        )


def host_of(url: str) -> str:
    """Return the SQL for the host of the URL in a column, with a port that is not the usual one."""
    return _host_in(_authority_of(url), url)


def _authority_of(url: str) -> str:
    after_scheme = f"if(instr({url}, '://') BETWEEN 2 AND 20, substr({url}, instr({url}, '://') + 3), '')"
    return f"regexp_extract({after_scheme}, '^[^/?#]*')"


def _host_in(authority: str, url: str) -> str:
    host = f"lower(split_part({authority}, '@', -1))"
    is_usual = " OR ".join(
        f"(ends_with({host}, '{port}') AND starts_with({url}, '{scheme}:'))"
        for scheme, port in (("http", ":80"), ("https", ":443"))
    )
    return f"if({is_usual}, regexp_replace({host}, ':[0-9]+$', ''), {host})"


def _site_at(host: str) -> str:
    site, port = site_of(f"//{host}"), host.rpartition(":")[2]
    return f"{site}:{port}" if site and port != host and port.isdecimal() else site or host


class ReportError(CrawlDedupError):
    """Raised where memory or disk do not suffice for a report, or a file cannot be read or written. Free some."""

    counter = "report"


class UnwritableError(ReportError):
    """Raised for a file that cannot be written. Make room, or name another file."""

    def __init__(self, path: Path, reason: object) -> None:
        super().__init__(f"cannot write {printable(str(path))}: {reason}")
