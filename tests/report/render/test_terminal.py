import io

from rich.console import Console

from crawldedup.report.queries import Report
from crawldedup.report.render.templates import lines_of
from tests.report.conftest import ReportOf
from tests.report.synthetic_journal import Crawl, hostile_lines, journal


def printed(report: Report, width: int = 400) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    for line in lines_of(report):
        console.print(line)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_terminal_shows_what_matters(report_of: ReportOf) -> None:
    text = printed(report_of(*journal(Crawl(3000)), earlier=tuple(journal(Crawl(300, edition=2)))))
    for wanted in (
        "are duplicates",
        "- A trap (calendar): ",
        "town.example/calendar/{date}/",
        "forum.example ?sid=",
        "Largest of ",
        "content_type",
        "Beside former of ",
        "reading the page",
    ):
        assert wanted in text


def test_a_hostile_text_reaches_no_terminal(report_of: ReportOf) -> None:
    text = printed(report_of(*hostile_lines(), earlier=tuple(hostile_lines()[::2])))
    assert all(char.isprintable() or char == "\n" for char in text)
    assert "\\x1b[2J" in text
    assert "[red]" in text


def test_a_url_is_never_wrapped(report_of: ReportOf) -> None:
    url = f"https://news.example/{'long/' * 12}story?session=0123456789"
    copies = ({"t": 1, "url": f"{url}&n={n}", "outcome": "exact", "original": url, "similarity": 1} for n in range(3))
    report = report_of(*copies)
    assert url in printed(report, 200)
    clusters = printed(report, 60).partition("Largest of 1 clusters")[2]
    row = next(line.rstrip() for line in clusters.splitlines() if "100 %" in line)
    assert (len(row) <= 60, row.endswith("0123456789")) == (True, True)
    assert "https://news.example/long/" in row.partition("…")[0]
