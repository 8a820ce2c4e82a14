from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from crawldedup.journal import find_journals
from crawldedup.report.database import Database
from crawldedup.report.queries import Report, make_report
from tests.report.synthetic_journal import Line, header, write_lines

ReportOf = Callable[..., Report]


@pytest.fixture
def database() -> Iterator[Database]:
    with Database() as opened:
        yield opened


@pytest.fixture
def report_of(tmp_path: Path, database: Database) -> ReportOf:
    """Make the report of these lines, which need no header; and of an earlier crawl's."""

    def report_of(
        *lines: Line,
        earlier: tuple[Line, ...] = (),
        settings: Mapping[str, object] = {},
        earlier_settings: Mapping[str, object] = {},
    ) -> Report:
        now, then = tmp_path / "now.jsonl", tmp_path / "then.jsonl"
        first, former = header(), header("former")
        write_lines(now, ({**first, "settings": {**first["settings"], **settings}}, *lines))
        write_lines(then, ({**former, "settings": {**former["settings"], **earlier_settings}}, *earlier))
        return make_report(database, find_journals([str(now)]), find_journals([str(then)]) if earlier else ())

    return report_of
