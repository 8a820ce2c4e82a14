"""Journals as tables of DuckDB, in a file of their own, so that memory stays bounded; and what is asked of them.

Queries are in the folder `sql`, each below its name.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Self

import msgspec

from crawldedup.advice.evidence import MOST_PAGES, Page, pages_of
from crawldedup.advice.rules import Rule
from crawldedup.errors import CrawlDedupError, MissingDependencyError
from crawldedup.journal import Journal
from crawldedup.scope import site_of

Progress = Callable[[str, float], None]
Row = dict[str, Any]

MEMORY: Final = "600MB"
"""What DuckDB may take; the rest goes to a temporary folder."""

CURRENT, FORMER = "current", "former"
"""The schemas of a crawl, and of an earlier one that it is compared with."""


def check_installed() -> None:
    """Raise MissingDependencyError without what reads journals, and what renders reports."""
    if missing := [package for package in ("duckdb", "jinja2") if find_spec(package) is None]:
        raise MissingDependencyError(f"a report needs {' and '.join(missing)}: pip install {' '.join(missing)}")


class Database:
    """The lines of a crawl's journals.

    The view `pages` has those of its responses, with their `number` and their `moment` in seconds. The view `places`
    has their `site` and `pattern`, too. `tell` is called with what is done.
    """

    def __init__(self, tell: Progress = lambda _doing, _share: None) -> None:
        check_installed()
        import duckdb

        self.tell = tell
        self._queries = {**_queries_in("journals.sql"), **_queries_in("report.sql")}
        self._temporary = TemporaryDirectory(prefix="crawldedup-report-", ignore_cleanup_errors=True)
        folder = Path(self._temporary.name)
        # The last is that of a line which is longer than DuckDB takes, and than any of a journal.
        self._failures = (duckdb.OperationalError, duckdb.FatalException, duckdb.InvalidInputException)
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": MEMORY,
            "temp_directory": str(folder / "spilled"),
            "preserve_insertion_order": "false",
            "autoinstall_known_extensions": "false",
        }
        with self._errors():
            self._connection = duckdb.connect(folder / "journals.duckdb", config=config)
            self._connection.create_function("site_at", _site_at)
            self._connection.execute(self._queries["macros"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._temporary.cleanup()

    def load(self, journals: Sequence[Journal], schema: str = CURRENT) -> int:
        """Make the tables of journals, and return how many lines were left out. Raises ReportError."""
        self.tell("reading journals", 0)
        start = min(journal.started for journal in journals)
        with self._errors():
            self._connection.execute(f"CREATE SCHEMA {schema}")
        self.use(schema)
        paths, offsets = [str(journal.path) for journal in journals], [journal.started - start for journal in journals]
        self.rows("make_lines", files=paths, offsets=offsets)
        self.rows("make_views")
        return int(self.row("unread_lines")["lines"])

    def use(self, schema: str) -> None:
        """Ask the tables of this schema from now on."""
        self._connection.execute(f"USE {schema}")

    def rows(self, name: str, **values: Any) -> list[Row]:
        """Run the query of this name, and return its rows by the names of their columns.

        Raises ReportError where there is too little memory or disk.
        """
        with self._errors():
            result = self._connection.execute(self._queries[name], values)
            names = [column[0] for column in result.description]
            return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    def row(self, name: str, **values: Any) -> Row:
        """Return the one row of a query."""
        (row,) = self.rows(name, **values)
        return row

    def write(self, name: str, path: str, layout: str, each: str = "*", **values: Any) -> None:
        """Write what is selected from each row of a query into a file of this layout. Raises ReportError."""
        self.tell("writing", 0)
        query = self._queries[name].rstrip(";\n")
        with self._errors():
            self._connection.execute(
                f"COPY (SELECT {each} FROM ({query})) TO $path ({layout}, USE_TMP_FILE false)", {"path": path, **values}
            )

    def evidence(self, most: int = MOST_PAGES) -> tuple[list[Page], list[Rule]]:
        """Return at most so many pages in the order of their verdicts, and the rules that crawls have withdrawn."""
        with self._errors():
            verdicts = self._connection.execute(self._queries["evidence"])
            pages = pages_of(iter(verdicts.fetchone, None), most)
        withdrawn = []
        for row in self.rows("withdrawn_rules"):
            with suppress(msgspec.MsgspecError):
                withdrawn.append(msgspec.json.decode(row["withdrawn"], type=Rule))
        return pages, withdrawn

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except self._failures as error:
            reason, folder = str(error).partition("\n")[0], Path(self._temporary.name).parent
            raise ReportError(f"the report cannot be made with temporary files in {folder}: {reason}") from error


def _queries_in(name: str) -> dict[str, str]:
    text = (files("crawldedup.report") / "sql" / name).read_text("utf-8")
    parts = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _site_at(origin: str) -> str:
    """Return a site, with a port that is not the usual one."""
    scheme, _, authority = origin.partition("://")
    host = authority.rpartition("@")[2].lower().removesuffix({"http": ":80", "https": ":443"}.get(scheme, ""))
    site, port = site_of(f"//{host}"), host.rpartition(":")[2]
    return f"{site}:{port}" if site and port != host and port.isdecimal() else site or host


class ReportError(CrawlDedupError):
    """Raised where memory or disk do not suffice for a report, or a file cannot be read or written. Free some."""

    counter = "report"
