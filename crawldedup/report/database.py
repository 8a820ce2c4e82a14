"""Journals as tables of DuckDB, in a file of their own, so that memory stays bounded."""

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import starmap
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Self

import msgspec

from crawldedup.advice.evidence import MOST_PAGES, Page, Seen, pages_of
from crawldedup.advice.rules import Rule
from crawldedup.errors import CrawlDedupError, MissingDependencyError
from crawldedup.journal import Journal
from crawldedup.printable import printable
from crawldedup.scope import site_of

Progress = Callable[[str, float], None]
Row = dict[str, Any]

MEMORY: Final = "600MB"
"""What DuckDB may take; the rest goes to a temporary folder."""

JUDGED: Final = ("new", "near", "exact", "thin")
"""Outcomes of pages that were compared with others: revisits say nothing of what is left to find."""
OUTCOMES: Final = (*JUDGED, "revisit", "skipped", "error")

# What a line may hold. A value of another type is left out.
_OF_PAGES: Final = """
    url VARCHAR, outcome VARCHAR, original VARCHAR, similarity DOUBLE, hamming INTEGER, copies BIGINT, words BIGINT,
    action VARCHAR, changed BOOLEAN, unchanged BOOLEAN, replaces BOOLEAN, abandoned BOOLEAN, digest VARCHAR,
    reason VARCHAR, bytes BIGINT, status INTEGER, referer VARCHAR, depth INTEGER, latency DOUBLE, waited DOUBLE,
    read DOUBLE, store DOUBLE, probes INTEGER, candidates INTEGER, difference VARCHAR,
    rejected_url VARCHAR, rejected_similarity DOUBLE, rejected_by VARCHAR
"""
_OF_OTHERS: Final = """
    t DOUBLE, known BIGINT, index_bytes BIGINT, skipped VARCHAR, rule VARCHAR, wall VARCHAR, share DOUBLE,
    window BIGINT, end VARCHAR, stats JSON, crawldedup_journal INTEGER, withdrawn JSON, volatile VARCHAR
"""
_COLUMNS: Final = dict(column.split() for column in f"{_OF_PAGES},{_OF_OTHERS}".split(","))
ROW_COLUMNS: Final = tuple(column.split()[0] for column in _OF_PAGES.split(","))
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
# Not a number is more than any number.
_SOUND: Final = ", ".join(
    f'if("{name}" BETWEEN 0 AND {1 if "similarity" in name or name == "share" else 1e15}, "{name}", NULL) AS "{name}"'
    for name, kind in _COLUMNS.items()
    if kind in ("DOUBLE", "BIGINT", "INTEGER") and name != "t"
)
_MOST_NAMES: Final = 20
"""A folder with more names is shown as one pattern."""


class Database:
    """The lines of a crawl's journals.

    The view `pages` has those of its responses, with their `number` and their `moment` in seconds. The view `places`
    has their `site` and `pattern`, too. `tell` is called with what is done.
    """

    def __init__(self, tell: Progress = lambda _doing, _share: None) -> None:
        try:
            import duckdb
        except ImportError as error:
            raise MissingDependencyError("journals are read by duckdb: pip install duckdb jinja2") from error
        self.tell = tell
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
            self._connection = duckdb.connect(self._folder / "journals.duckdb", config=config)
            self._connection.create_function("site_at", _site_at)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._temporary.cleanup()

    def rows(self, query: str, *, output: Path | None = None, **values: Any) -> list[Row]:
        """Run a query, and return its rows by the names of their columns.

        Raises ReportError if there is no room for it, or for its `output`.
        """
        with self._errors(output):
            result = self._connection.execute(query, values)
            names = [column[0] for column in result.description]
            return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    def row(self, query: str) -> Row:
        """Return the one row of a query."""
        (row,) = self.rows(query)
        return row

    def evidence(self, most: int = MOST_PAGES) -> tuple[list[Page], list[Rule]]:
        """Return at most so many pages in the order of their verdicts, and the rules that crawls have withdrawn."""
        with self._errors():
            verdicts = self._connection.execute(
                "SELECT url, outcome, original, digest, referer, depth FROM pages ORDER BY moment, number"
            )
            pages = pages_of(starmap(Seen, iter(verdicts.fetchone, None)), most)
        withdrawn = []
        for row in self.rows("SELECT withdrawn FROM lines WHERE withdrawn IS NOT NULL LIMIT 2000"):
            with suppress(msgspec.MsgspecError):
                withdrawn.append(msgspec.json.decode(row["withdrawn"], type=Rule))
        return pages, withdrawn

    @contextmanager
    def _errors(self, output: Path | None = None) -> Iterator[None]:
        try:
            yield
        except self._failures as error:
            line = str(error).partition("\n")[0]
            reason = next((why for why in map(os.strerror, errno.errorcode) if f": {why}" in line), line)
            if output is not None and str(self._folder) not in line:
                raise UnwritableError(output, reason) from error
            folder = self._folder.parent
            raise ReportError(f"the report cannot be made with temporary files in {folder}: {reason}") from error

    def load(self, journals: Sequence[Journal], suffix: str = "") -> int:
        """Make the tables and the views of journals, with `suffix` in their names. Return how many lines were left out.

        Those are lines that are cut off, foreign, or name no outcome of this version.
        """
        self.tell("reading journals", 0)
        start = min(journal.started for journal in journals)
        self.rows(
            f"""CREATE TABLE lines{suffix} AS
            WITH parts AS (
                SELECT *, {origin_of("url")} AS origin, list_position($files, filename) AS process
                FROM read_json($files, format='newline_delimited', columns=$columns, ignore_errors=true, filename=true)
            ), paths AS (
                SELECT *, left(regexp_extract(substr(url, length(origin) + 1), '^[^?#]*'), 300) AS path FROM parts
            ), patterns AS (
                SELECT * EXCLUDE (path), if(origin <> '', {_PATTERN}, '') AS pattern FROM paths
            )
            -- A pattern is a folder and a name in it, so that folders with many names can be taken together.
            SELECT patterns.* EXCLUDE (t, filename, pattern) REPLACE ({_SOUND}, process - 1 AS process),
                $offsets[process] + if(t BETWEEN 0 AND 1e9, t, 0) AS moment,
                regexp_replace(pattern, '[^/]*/?$', '') AS folder, regexp_extract(pattern, '[^/]*/?$') AS leaf
            FROM patterns""",
            files=[str(journal.path) for journal in journals],
            offsets=[journal.started - start for journal in journals],
            columns=_COLUMNS,
        )
        self.rows(
            f"""CREATE TABLE sites{suffix} AS SELECT origin, site_at(origin) AS site
            FROM (SELECT DISTINCT origin FROM lines{suffix} WHERE origin <> '');
            CREATE TABLE folders{suffix} AS SELECT site, folder
            FROM lines{suffix} JOIN sites{suffix} USING (origin) WHERE url IS NOT NULL
            GROUP BY ALL HAVING approx_count_distinct(leaf) > {_MOST_NAMES};
            CREATE VIEW pages{suffix} AS SELECT lines.rowid AS number, * FROM lines{suffix} AS lines
            WHERE url IS NOT NULL AND outcome IN {OUTCOMES};
            CREATE VIEW places{suffix} AS SELECT pages.*, coalesce(sites.site, '') AS site,
                pages.folder || CASE WHEN wide.site IS NULL THEN leaf ELSE '*' END AS pattern
            FROM pages{suffix} AS pages LEFT JOIN sites{suffix} AS sites USING (origin)
            LEFT JOIN folders{suffix} AS wide ON wide.site = sites.site AND wide.folder = pages.folder"""
        )
        left_out = self.row(
            f"""SELECT count(*) AS lines FROM lines{suffix} WHERE coalesce(if(outcome IN {OUTCOMES}, outcome, NULL),
                wall, skipped, volatile, "end", known::VARCHAR, crawldedup_journal::VARCHAR, withdrawn::VARCHAR
            ) IS NULL"""
        )
        return int(left_out["lines"])


def origin_of(url: str) -> str:
    """Return the SQL for the scheme and the host of the URL in a column, as they stand there."""
    return f"regexp_extract(coalesce({url}, ''), '(?s)^.{{1,19}}?://[^/?#]*')"


def _site_at(origin: str) -> str:
    """Return a site, with a port that is not the usual one."""
    scheme, _, authority = origin.partition("://")
    host = authority.rpartition("@")[2].lower().removesuffix({"http": ":80", "https": ":443"}.get(scheme, ""))
    site, port = site_of(f"//{host}"), host.rpartition(":")[2]
    return f"{site}:{port}" if site and port != host and port.isdecimal() else site or host


class ReportError(CrawlDedupError):
    """Raised where memory or disk do not suffice for a report, or a file cannot be read or written. Free some."""

    counter = "report"


class UnwritableError(ReportError):
    """Raised for a file that cannot be written. Make room, or name another file."""

    def __init__(self, path: Path, reason: object) -> None:
        super().__init__(f"cannot write {printable(str(path))}: {reason}")
