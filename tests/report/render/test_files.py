import csv
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from duckdb import connect

from crawldedup.report.queries import Database
from crawldedup.report.render.files import write_report
from tests.report.conftest import ReportOf
from tests.report.synthetic_journal import STARTED, Line, hostile_lines, page

PAGES = [line for line in hostile_lines() if "outcome" in line]


def rows_of(path: Path) -> list[Line]:
    with connect() as connection:
        found = connection.read_parquet(str(path)) if path.suffix == ".parquet" else connection.read_json(str(path))
        return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_every_verdict_is_a_row_as_it_was_recorded(
    tmp_path: Path, database: Database, report_of: ReportOf, suffix: str
) -> None:
    path = tmp_path / f"it's{suffix}"
    write_report(database, report_of(*hostile_lines()), path)
    rows = rows_of(path)
    assert sorted(row["url"] for row in rows) == sorted(line["url"] for line in PAGES)
    first = next(row for row in rows if row["url"] == PAGES[1]["url"] and row["outcome"] == "near")
    assert all(first[name] == PAGES[1][name] for name in ("original", "similarity", "bytes"))
    assert datetime.fromisoformat(str(first["time"])).replace(tzinfo=UTC).timestamp() == STARTED + PAGES[1]["t"]
    assert {each.name for each in tmp_path.glob("*it*")} == {path.name}


def test_a_cell_of_csv_is_no_formula_and_no_escape(tmp_path: Path, database: Database, report_of: ReportOf) -> None:
    path = tmp_path / "report.csv"
    # Some spreadsheets leave blanks out, and take full-width letters.
    urls = (" =1", "\r\n+1", "＝1", "|cmd", "\x9b2J", "plain", "a=b")
    more = [page(url) for url in urls]
    write_report(database, report_of(*hostile_lines(), *more), path)
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(PAGES) + len(more)
    cells = [cell for row in rows for cell in row.values() if cell]
    assert not [cell for cell in cells if cell.lstrip().startswith(tuple("=+-@|＝＋－＠"))]
    assert not [cell for cell in cells if re.search("[\x00-\x1f\x7f-\x9f]", cell)]
    assert {"'-2+3", "'@SUM(1+1)", "' =1", "plain", "a=b", '\'=HYPERLINK("https://evil.example/","x")'} <= {
        row["url"] for row in rows
    }


def test_rows_tell_what_changed(tmp_path: Path, database: Database, report_of: ReportOf) -> None:
    path = tmp_path / "report.jsonl"
    now = [page("a"), page("b", t=2), page("b", "skipped", t=3), page("b", "revisit", t=4)]
    report = report_of(*now, earlier=(page("a"), page("c")))
    write_report(database, report, path)
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    changes = sorted(f"{row['url']} {row.get('change')}" for row in rows)
    assert changes == ["a same", "b new", "b new", "b not checked", "c gone"]
