from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from crawldedup.journal import find_journals
from crawldedup.report.queries import Database, Report, make_report
from tests.report.synthetic_journal import Line, header, write_lines

ReportOf = Callable[..., Report]


@pytest.fixture
def database() -> Iterator[Database]:
    with Database() as opened:
        yield opened


@pytest.fixture
def report_of(tmp_path: Path, database: Database) -> ReportOf:
    """Make the report of these lines, which need no header; and of an earlier crawl's."""
    return lambda *lines, **others: report_in(tmp_path, database, lines, **others)


def report_in(
    folder: Path,
    database: Database,
    lines: Iterable[Line],
    earlier: Sequence[Line] = (),
    settings: Mapping[str, object] = {},
    earlier_settings: Mapping[str, object] = {},
) -> Report:
    now, then = folder / "now.jsonl", folder / "then.jsonl"
    write_lines(now, (header(**settings), *lines))
    write_lines(then, (header("former", **earlier_settings), *earlier))
    return make_report(
        database, find_journals([str(now)]), find_journals([str(then)]) if earlier else ()
    )
