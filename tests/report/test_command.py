"""`crawldedup report` and `scrapy dedup report`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from crawldedup.cli import main
from crawldedup.report.render import SUFFIXES
from tests.report.synthetic_journal import Crawl, header, journal, page, write_lines
from tests.scrapy_plugin.test_command import Project


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data directory of a project with two crawls of two processes each."""
    monkeypatch.chdir(tmp_path)
    journals = tmp_path / ".scrapy" / "crawldedup"
    journals.mkdir(parents=True)
    for edition in (1, 2):
        for pid in (1, 2):
            crawl = Crawl(100, name=f"news-{edition}", pid=pid, edition=edition)
            write_lines(journals / f"{crawl.name}-{pid}.jsonl", journal(crawl))
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["report", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_the_last_crawl_of_the_project_is_reported(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys)[1].startswith("news-2: ")
    assert run(capsys, "--crawl", "news-1")[1].startswith("news-1: ")
    made = json.loads(run(capsys, "--json", "--against", "news-1")[1])
    assert (made["crawl"]["name"], made["comparison"]["name"]) == ("news-2", "news-1")
    again = json.loads(run(capsys, "--json", "--against", "previous")[1])
    assert again["comparison"]["name"] == "news-1"
    status, _, said = run(capsys, "--crawl", "news-1", "--against", "previous")
    assert (status, "and none that began by then" in said) == (2, True)
    assert len(made["crawl"]["processes"]) == 2
    lines = run(capsys, "--crawls")[1].splitlines()
    assert [line.split()[0] for line in lines] == ["news-2", "news-1"]
    assert run(capsys, "--crawls", "--source", ".scrapy/crawldedup")[1].splitlines() == lines
    assert run(capsys, "--source", "nowhere")[0] == 2
    assert all(", 200 pages, finished" in line for line in lines)
    assert json.loads(run(capsys, "--crawls", "--json")[1].splitlines()[0])["processes"] == 2


def test_without_a_terminal_nothing_is_cut(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    urls = [f"https://news.example/{'archive-of-the-year/' * 4}{n}" for n in range(9)]
    lines = [
        page(url, rejected_url=f"{url}0", rejected_similarity=0.8, rejected_by="similarity")
        for url in urls
    ]
    write_lines(tmp_path / "wide.jsonl", [header(), *lines])
    printed = run(capsys, str(tmp_path))[1]
    # The last column of a table that starts with numbers.
    row = next(line for line in printed.splitlines() if line.endswith(urls[0]))
    assert len(row) > len(urls[0]) + 15
    monkeypatch.setenv("COLUMNS", "80")  # Whoever asks for a width gets it.
    assert urls[0] not in run(capsys, str(tmp_path))[1].split("Just below the limit")[1]


def test_a_file_is_written_in_the_format_of_its_name(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    starts = {
        ".html": b"<!doctype html>",
        ".json": b"{",
        ".csv": b"change,time,",
        ".jsonl": b"{",
        ".parquet": b"PAR1",
    }
    assert {*starts} == {*SUFFIXES}
    for suffix, start in starts.items():
        path = folder / f"report{suffix}"
        against = str(folder / ".scrapy" / "crawldedup" / "news-1-1.jsonl")
        assert run(capsys, "--output", str(path), "--against", against) == (0, "", "")
        assert path.read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--output", "report.pdf"],
            "--output is 'report.pdf'; it must end with one of .html, .json, .csv, .jsonl",
        ),
        (
            ["--json", "--output", "report.json"],
            "--json prints the report and --output writes it to a file",
        ),
        (["--output", "nowhere/report.html"], "there is no folder"),
        (["nowhere"], "there is no file or folder 'nowhere'"),
        (
            ["--crawl", "\x1b[2J"],
            r"there is no crawl '\x1b[2J' in .scrapy/crawldedup; there are only: news-2, news-1",
        ),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_a_full_disk_is_said_in_one_line_and_leaves_no_file(folder: Path) -> None:
    """A limit for the size of files simulates a full disk."""
    program = """
import resource, sys
from crawldedup.cli import main
from crawldedup.report import render
def limited(*given):
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
    return write(*given)
write, render.write_report = render.write_report, limited
"""
    path = folder / "report.csv"
    before = {*folder.rglob("*")}
    command = [
        sys.executable,
        "-c",
        f"{program}\nsys.exit(main(['report', '--output', {str(path)!r}]))",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert f"{folder}/.report.csv." in done.stderr
    assert "File too large" in done.stderr
    assert {*folder.rglob("*")} == before


def test_a_project_reports_its_own_crawls(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = Project("", capsys)
    project.settings = {}
    assert project.run("report")[1].startswith("news-2: ")
    # They are where the settings say.
    (folder / ".scrapy" / "crawldedup").rename(folder / "elsewhere")
    project.settings = {"CRAWLDEDUP_JOURNAL": str(folder / "elsewhere")}
    assert project.run("report")[1].startswith("news-2: ")
    project.settings = {"CRAWLDEDUP_JOURNAL": "False"}
    status, _, err = project.run("report")
    assert (status, "CRAWLDEDUP_JOURNAL is False" in err) == (2, True)


@pytest.mark.parametrize("name", ["a*", "[a]", "a?b", "a'; DROP--", "a{b}"])
def test_a_journal_is_read_whatever_its_file_is_called(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    crawl = Crawl(100, name="news-1", pid=1, edition=1)
    # What it would stand for if it were a pattern.
    (tmp_path / "aab.jsonl").write_text("no journal")
    (tmp_path / "a.jsonl").write_text("no journal")
    path = tmp_path / f"{name}.jsonl"
    write_lines(path, journal(crawl))
    status, out, err = run(capsys, str(path))
    assert (status, err) == (0, "")
    assert out.startswith("news-1: ")
