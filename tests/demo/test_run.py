"""The demo: a real server, a real crawl in its own process, the real add-on."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

from crawldedup.cli import main
from crawldedup.demo import run
from crawldedup.demo.run import CrawlError, crawl, score_lines, scored
from crawldedup.demo.site import DemoSite
from tests.docs.pages import README, blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

SITE = DemoSite()
Pages = list[dict[str, Any]]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Pages]:
    """The folder of a crawl of the demo site, and what its journal says."""
    folder, told = tmp_path_factory.mktemp("demo"), []
    pages = crawl(SITE, folder, lambda done, total: told.append((done, total)))
    assert told[0] == (1, len(SITE.pages))
    assert told[-1][0] == len(told) > 300
    return folder, pages


def test_nothing_is_dropped_wrongly_or_missed(crawled: tuple[Path, Pages]) -> None:
    score = scored(crawled[1], SITE)
    assert (score.right, score.wrong, score.missed, score.not_reached) == (149, [], [], [])
    assert score.kept == len({entry.cluster for entry in SITE.manifest().values() if entry.judged})
    # Empty months of the calendar say what they are in their texts, so they are kept.
    assert 30 < score.unscored < 60


def test_every_response_is_in_one_of_the_figures(crawled: tuple[Path, Pages]) -> None:
    score = scored(crawled[1], SITE)
    dropped, kept = score.right + len(score.wrong), score.kept + len(score.missed)
    assert (score.revisits, score.unlisted) == (1, 2)
    assert dropped + kept + score.unscored + score.revisits + score.unlisted == len(crawled[1])


def test_the_readme_shows_how_it_ends(crawled: tuple[Path, Pages]) -> None:
    (output,) = (
        block for block in blocks("text", pages=[README]) if "own list of its copies" in block.code
    )
    ending = "\n".join(line.plain for line in score_lines(scored(crawled[1], SITE)))
    assert output.code.endswith(f"{ending}\n")


LOAF, COPY, OTHER = "/en/the-slow-loaf/", "/en/the-slow-loaf/second-edition/", "/en/the-last-boat/"


@pytest.mark.parametrize(
    ("lines", "right", "wrong", "kept", "missed"),
    [
        ([(LOAF, "new"), (COPY, "near", LOAF), (OTHER, "near", LOAF)], 1, [OTHER], 1, []),
        ([(COPY, "new"), (LOAF, "new"), (LOAF, "revisit")], 0, [], 1, [LOAF]),
        ([("/notices/lost-cat/", "thin"), ("/nowhere", "new")], 0, [], 0, []),
    ],
)
def test_a_crawl_is_scored_by_the_contents_of_its_pages(
    lines: list[tuple[str, ...]], right: int, wrong: list[str], kept: int, missed: list[str]
) -> None:
    at = "http://h:1{}".format
    pages = [
        {
            "url": at(path),
            "outcome": outcome,
            "action": "dropped" if of else "delivered",
            "original": of and at(of[0]),
        }
        for path, outcome, *of in lines
    ]
    score = scored(pages, SITE)
    assert (score.right, score.kept) == (right, kept)
    assert (score.wrong, score.missed) == ([*map(at, wrong)], [*map(at, missed)])
    said = "\n".join(map(str, score_lines(score)))
    assert all(at(path) in said for path in (*wrong, *missed))
    reached = {path for path, *_ in lines} - {"/nowhere"}
    assert f"not reached: {len(SITE.manifest()) - len(reached)} pages" in said


@pytest.fixture
def _crawls_at_once(crawled: tuple[Path, Pages]) -> Iterator[None]:
    """Make the demo use a crawl that has already run."""

    def again(_site: DemoSite, folder: Path, *_: object, **__: object) -> Pages:
        shutil.copytree(crawled[0] / "journal", folder / "journal")
        return crawled[1]

    with mock.patch.object(run, "crawl", autospec=True, side_effect=again):
        yield


@pytest.mark.usefixtures("_crawls_at_once")
def test_the_command_writes_a_report_and_scores_the_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    told = capsys.readouterr().out
    assert "The report is in crawldedup-demo.html" in told
    assert re.search(
        r" 0 pages by mistake\nkept: \d+ pieces of content, and 0 copies by mistake\n", told
    )
    assert "<title>" in (tmp_path / "crawldedup-demo.html").read_text()
    assert main(["demo", "--output", "verdicts.csv"]) == 0
    assert "The report is in verdicts.csv" in capsys.readouterr().out
    assert (tmp_path / "verdicts.csv").read_text().count(",near,") > 20


@pytest.mark.usefixtures("_crawls_at_once")
def test_the_command_prints_json(
    crawled: tuple[Path, Pages],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert (values["pages"], values["manifest"]["wrong"]) == (len(crawled[1]), [])
    assert values["outcomes"]["exact"] > 20
    assert list(tmp_path.iterdir()) == []
    assert main(["demo", "--json", "--output", "report.json"]) == 0
    assert json.loads((tmp_path / "report.json").read_text())["totals"]["checked"] > 300


@pytest.mark.usefixtures("_crawls_at_once")
def test_the_command_works_without_the_packages_for_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with mock.patch.object(run, "find_spec", return_value=None):
        assert main(["demo"]) == 0
    told = capsys.readouterr().out
    assert "`pip install 'crawldedup[report]'`" in told
    assert "copies, and 0 pages by mistake" in told
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("_crawls_at_once")
def test_a_report_that_cannot_be_written_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--output", str(tmp_path / "report.doc")]) == 2
    assert "it must end with one of .html" in capsys.readouterr().err


def test_a_crawl_that_fails_says_why(tmp_path: Path) -> None:
    wrong = mock.patch.dict(run._SETTINGS, CRAWLDEDUP_SIMILARITY=7)
    with (
        wrong,
        pytest.raises(CrawlError, match=r"its process ended too early(.|\n)*CRAWLDEDUP_SIMILARITY"),
    ):
        crawl(SITE, tmp_path, lambda *_: None)
