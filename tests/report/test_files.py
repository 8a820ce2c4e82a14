"""A report as a page, to a parser and in a browser, as the text that a terminal shows, and as rows
of a file.
"""

import csv
import io
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from duckdb import connect
from lxml import html
from playwright.sync_api import Page
from rich.console import Console

from crawldedup.report.queries import Database, Report
from crawldedup.report.render import LARGEST_PAGE, lines_of, page_of, write_report
from tests.browsers import BROWSER, needs_browser
from tests.report.conftest import ReportOf, report_in
from tests.report.synthetic_journal import STARTED, Crawl, Line, copy, hostile_lines, journal, page

BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
PAGES = [line for line in hostile_lines() if "outcome" in line]
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def shown(page: str, tag: str) -> list[Any]:
    return list(html.document_fromstring(page).iter(tag))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    with Database() as database:
        return page_of(
            report_in(tmp_path_factory.mktemp("a"), database, hostile_lines(), hostile_lines()[::2])
        )


def test_a_hostile_text_is_nothing_but_text(hostile: str) -> None:
    assert not BIDI.search(hostile)
    assert not CONTROLS.search(hostile)
    assert "window.broken" in hostile
    (script,) = shown(hostile, "script")
    assert script.text.startswith('"use strict"')
    named = {
        name for element in html.document_fromstring(hostile).iter() for name in element.attrib
    }
    assert not {
        name
        for name in named
        if name.startswith("on") or name in ("src", "style", "srcdoc", "action")
    }
    # Only pages of the web are linked, and the page asks for nothing and runs its own script alone.
    links = [link for link in shown(hostile, "a") if not link.get("href").startswith("#")]
    assert len(links) > 10
    for link in links:
        assert link.get("href").startswith(("https://evil.example/", "https://fine.example/"))
        assert link.get("rel") == "noopener noreferrer nofollow"
    (policy,) = (each.get("content") for each in shown(hostile, "meta") if each.get("http-equiv"))
    allowed = (
        "default-src 'none'; style-src 'sha256-*'; script-src 'sha256-*'; base-uri 'none'; "
        "form-action 'none'"
    )
    assert re.sub(r"sha256-[\w+/=]+", "sha256-*", policy) == allowed
    assert not shown(hostile, "link") + shown(hostile, "img") + shown(hostile, "iframe")


def test_every_section_is_there(report_of: ReportOf) -> None:
    rule = {
        "kind": "query",
        "site": "https://shop.example",
        "what": "?sort",
        "copies": 30,
        "support": 12,
        "confidence": 0.99,
    }
    report = report_of(*journal(Crawl(500)), earlier=[*journal(Crawl(300, edition=2))])
    whole = page_of(
        {
            **report,
            "advice": [{**rule, "examples": [("https://shop.example/?sort=1", "https://a/")]}],
        }
    )
    sections = [section.get("id") for section in shown(whole, "section")]
    linked = [link.get("href") for link in shown(whole, "a") if link.get("href").startswith("#")]
    assert sections[:3] == ["overview", "comparison", "time"]
    assert "advice" in sections
    assert {f"#{section}" for section in sections} == set(linked)
    assert len([svg for svg in shown(whole, "svg") if "chart" in svg.get("class", "")]) == 4


def test_a_large_report_is_a_small_page(report_of: ReportOf) -> None:
    long = [f"https://site{number}.example/" + "x" * 450 for number in range(250)]
    lines = [
        copy(f"{long[number]}/{each}?{number}=1", long[number], referer=long[each])
        for number in range(250)
        for each in range(8)
    ]
    assert 100_000 < len(page_of(report_of(*lines)).encode()) <= LARGEST_PAGE


def printed(report: Report, width: int = 400) -> str:
    text = io.StringIO()
    Console(file=text, width=width, highlight=False).print(*lines_of(report), sep="\n")
    return text.getvalue()


def test_the_terminal_shows_what_matters(report_of: ReportOf) -> None:
    text = printed(report_of(*journal(Crawl(3000)), earlier=tuple(journal(Crawl(300, edition=2)))))
    for wanted in (
        *(
            "duplicates (",
            "- A trap (calendar): ",
            "town.example/calendar/{date}/",
            "forum.example ?sid=",
        ),
        *("Largest of ", "content_type", "Compared with former of ", "reading the page"),
    ):
        assert wanted in text


def test_the_terminal_tells_pages_from_dead_links(report_of: ReportOf) -> None:
    site = "https://example.com/"
    dead = [page(f"{site}old/{n}", "skipped", reason="http_404", status=404) for n in range(30)]
    text = printed(report_of(page(site), page(f"{site}new"), *dead))
    sites = text.partition("\nSites\n")[2].splitlines()
    assert sites[0].split()[-1] == "unchecked"
    assert sites[1].split() == ["example.com", "32", "2", "0%", "100%", "30"]
    # The paths of one site need the room.
    patterns = text.partition("\nPatterns of paths at example.com\n")[2].splitlines()
    assert patterns[1].split() == ["/old/{n}", "30", "0", "–", "–", "30"]


@pytest.mark.parametrize(
    ("host", "title", "where"),
    [
        ("a.example", "Query parameters at a.example", "?{path} "),
        ("b.example", "Query parameters", "b.example ?{path} "),
    ],
)
def test_the_site_is_shown_once_if_there_is_only_one(
    report_of: ReportOf, host: str, title: str, where: str
) -> None:
    frame = page(f"https://{host}/doc?java/List.html")
    text = printed(report_of(page("https://a.example/list?sort=up"), frame))
    rows = text.partition(f"\n{title}\n")[2].partition("\n\n")[0].splitlines()
    assert len(rows) == 3
    assert any(row.startswith(where) for row in rows)


@pytest.mark.parametrize("end", [[{"t": 2, "end": "finished"}], []])
def test_a_report_without_findings_says_so(report_of: ReportOf, end: list[Line]) -> None:
    made = report_of(page("https://example.com/"), *end)
    for text in (printed(made), page_of(made)):
        assert ("Nothing stands out" in text) == bool(end)
        assert ("No end of the crawl" in text) != bool(end)


def test_a_hostile_text_reaches_no_terminal(report_of: ReportOf) -> None:
    text = printed(report_of(*hostile_lines(), earlier=tuple(hostile_lines()[::2])))
    assert all(char.isprintable() or char == "\n" for char in text)
    assert "\\x1b[2J" in text
    assert "[red]" in text


def test_a_url_that_does_not_fit_is_left_out_in_its_middle(report_of: ReportOf) -> None:
    url = f"https://news.example/{'long/' * 12}story?session=0123456789"
    text = printed(report_of(*(copy(f"{url}&n={n}", url) for n in range(3))), 60).partition(
        "1 cluster\n"
    )[2]
    row = next(line.rstrip() for line in text.splitlines() if "100%" in line)
    assert re.fullmatch("(?=.{,60}$).*https://news.example/long/.*….*0123456789", row)


@pytest.fixture(scope="module")
def tab() -> Iterator[Page]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser.new_context(bypass_csp=True).new_page()
        browser.close()


@needs_browser
def test_nothing_runs_or_breaks_out_in_a_browser(tab: Page, tmp_path: Path, hostile: str) -> None:
    # With its policy the page is safe twice: this context goes without.
    requests: list[str] = []
    errors: list[object] = []
    tab.on("request", lambda request: requests.append(request.url))
    tab.on("pageerror", lambda error: errors.append(error))
    (tmp_path / "report.html").write_text(hostile, encoding="utf-8")
    tab.goto((tmp_path / "report.html").as_uri())
    tab.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    for width in (1280, 390):
        tab.set_viewport_size({"width": width, "height": 900})
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate("window.broken") is None
    assert (requests, errors) == ([(tmp_path / "report.html").as_uri()], [])


@needs_browser
def test_tables_sort_and_filter(tab: Page, tmp_path: Path, report_of: ReportOf) -> None:
    sizes = {"a": 500, "b": 70_000, "c": 3_000}
    lines = [
        page(f"https://{name}{n}.example/", bytes=sizes[name]) for name in sizes for n in range(4)
    ]
    (tmp_path / "report.html").write_text(page_of(report_of(*lines)), encoding="utf-8")
    tab.goto((tmp_path / "report.html").as_uri())
    table = tab.locator("table[data-sortable='Sites']")
    firsts = table.locator("tbody tr:not([hidden]) th")
    head = table.locator("thead th", has_text="Download")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert [text[0] for text in firsts.all_inner_texts()] == list("bbbbccccaaaa")
    head.locator("button").click()
    assert [text[0] for text in firsts.all_inner_texts()] == list("aaaaccccbbbb")
    tab.get_by_label("Filter: Sites").fill("C2")
    assert firsts.all_inner_texts() == ["c2.example"]


# Files


def rows_of(path: Path) -> list[Line]:
    with connect() as connection:
        found = (
            connection.read_parquet(str(path))
            if path.suffix == ".parquet"
            else connection.read_json(str(path))
        )
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
    assert (
        datetime.fromisoformat(str(first["time"])).replace(tzinfo=UTC).timestamp()
        == STARTED + PAGES[1]["t"]
    )
    assert {each.name for each in tmp_path.glob("*it*")} == {path.name}


def test_a_csv_cell_cannot_be_a_formula_or_an_escape(
    tmp_path: Path, database: Database, report_of: ReportOf
) -> None:
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
    assert {
        "'-2+3",
        "'@SUM(1+1)",
        "' =1",
        "plain",
        "a=b",
        '\'=HYPERLINK("https://evil.example/","x")',
    } <= {row["url"] for row in rows}


def test_rows_tell_what_changed(tmp_path: Path, database: Database, report_of: ReportOf) -> None:
    path = tmp_path / "report.jsonl"
    now = [page("a"), page("b", t=2), page("b", "skipped", t=3), page("b", "revisit", t=4)]
    report = report_of(*now, earlier=(page("a"), page("c")))
    write_report(database, report, path)
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    changes = sorted(f"{row['url']} {row.get('change')}" for row in rows)
    assert changes == ["a same", "b new", "b new", "b not checked", "c gone"]
