from __future__ import annotations

import io
import math
import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure
from rich.console import Console

from crawldedup.errors import ConfigurationError, MissingDependencyError
from crawldedup.evaluation import Corpus, Document, Trial, compare_all, run_trial
from crawldedup.evaluation.bands import band_name, bands_of
from crawldedup.evaluation.plot import check_plot_path, plot_trials
from crawldedup.evaluation.report import percent, print_trials
from tests.evaluation.fakes import FakeDetector, corpus_of, numbered_words

EVIL = "/\x1b]0;gotcha\x07[red]"
CORPUS = Corpus("pages.jsonl", (*corpus_of(first=numbered_words(0, 102)).documents, Document(EVIL, "x " * 30)), 2)
TRUTH = compare_all([document.text for document in CORPUS.documents])


def trial(detector: FakeDetector) -> Trial:
    return run_trial(detector, CORPUS, TRUTH, similarity=0.9)


def printed(*trials: Trial, width: int | None = None, detail: bool = False) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=width is not None, width=width, no_color=True)
    print_trials(trials, CORPUS, TRUTH, console, detail=detail)
    return out.getvalue()


@pytest.mark.parametrize(
    ("share", "shown"),
    [(None, ""), (0, "0"), (1, "100"), (0.5, "50.0"), (0.00001, "0.1"), (0.99999, "99.9"), (0.986, "98.6")],
)
def test_percent(share: float | None, shown: str) -> None:
    assert percent(share) == shown


def test_band_names() -> None:
    bands = bands_of(TRUTH.best_earlier([True, True]), TRUTH.word_counts > 0)
    names = [band_name(band.low, band.high) for band in bands]
    assert names == ["< .5", ".5-.7", ".7-.8", ".8-.85", ".85-.9", ".9-.95", ".95-.98", ".98-1", "= 1"]


def test_a_pipe_gets_a_line_a_method_however_long() -> None:
    detector = FakeDetector({EVIL: "/first"})
    detector.name = "a method with a name that is far longer than any column of a terminal could ever be, and then some"
    shares, costs = [line for line in printed(trial(detector)).splitlines() if line.startswith("a method")]
    assert shares.removeprefix(detector.name).split() == ["50.0"]
    assert costs.removeprefix(detector.name).split()[:3] == ["5.0", "5.0", "8.9"]


def test_a_terminal_of_80_columns_shows_every_share() -> None:
    shown = re.sub(r"\x1b\[[0-9;]*m", "", printed(trial(FakeDetector({EVIL: "/first"})), width=80))
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown
    assert "50.0" in shown


def test_details_name_the_mistakes_and_text_from_pages_is_escaped() -> None:
    shown = printed(trial(FakeDetector({EVIL: "/first"})), detail=True)
    assert "flagged wrongly: 1" in shown
    assert "taken for a copy of /first" in shown
    assert "\x1b" not in shown
    assert "\\x1b]0;gotcha\\x07[red]" in shown
    assert "2 unreadable" in shown


def test_pages_kept_apart_by_facts_have_a_column_that_texts_leave_empty() -> None:
    text = numbered_words(0, 102)
    documents = (Document("/lamp", text, "price 1"), Document(EVIL, text, "price 2"))
    corpus, truth = Corpus("shop", documents), compare_all([text, text])
    trials = [
        run_trial(FakeDetector({}, uses_facts=uses_facts), corpus, truth, similarity=0.9)
        for uses_facts in (True, False)
    ]
    out = io.StringIO()
    print_trials(trials, corpus, truth, Console(file=out), detail=True)
    with_facts, without = [line.split()[2:] for line in out.getvalue().splitlines() if line.startswith("fake")][:2]
    assert (with_facts, without) == (["0", "1"], ["0", "0", "0"])
    assert out.getvalue().count("kept apart by facts: 1") == 1
    assert "\\x1b]0;gotcha\\x07[red] (102 words) 1.000 like /lamp" in out.getvalue()


def test_a_method_that_failed_is_told() -> None:
    assert "fake [detector] failed on 1 pages, which were kept: RuntimeError: cannot stand /first" in printed(
        trial(FakeDetector({}, breaks_on=("/first",)))
    )


@pytest.mark.parametrize(("name", "start"), [("plot.svg", b"<?xml"), ("plot.png", b"\x89PNG")])
@pytest.mark.parametrize("methods", [1, pytest.param(6, marks=pytest.mark.exhaustive)])
def test_plot(tmp_path: Path, name: str, start: bytes, methods: int) -> None:
    path = tmp_path / name
    plot_trials([trial(FakeDetector({}))] * methods, path, title="$pages$ [x] & y")
    assert path.read_bytes().startswith(start)
    if path.suffix == ".svg":
        assert ElementTree.parse(path).getroot().tag.endswith("svg")


def test_a_plot_shows_the_shares_of_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Figure] = []

    def figure(**options: Any) -> Figure:
        drawn.append(Figure(**options))
        return drawn[-1]

    monkeypatch.setattr("matplotlib.figure.Figure", figure)
    trials = [trial(FakeDetector({EVIL: "/first"})), trial(FakeDetector({}))]
    plot_trials(trials, tmp_path / "plot.svg", title="pages")
    for chart, measured in zip(drawn[-1].axes, trials, strict=True):
        shares = [percent(None if math.isnan(share) else share / 100) for share in chart.lines[-1].get_ydata()]
        assert shares == [percent(band.counts.share) for band in measured.bands]


def test_a_picture_of_the_same_trials_is_the_same_file(tmp_path: Path) -> None:
    pictures = []
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        plot_trials([trial(FakeDetector({}))], tmp_path / folder / "plot.svg", title="pages")
        pictures.append((tmp_path / folder / "plot.svg").read_text("utf-8"))
    assert pictures[0] == pictures[1]
    assert "dc:date" not in pictures[0]
    assert "blue: the method" in pictures[0]


def test_plots_are_pictures(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"\.svg or \.png"):
        check_plot_path(tmp_path / "plot.doc")


def test_a_plot_without_matplotlib_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependencyError, match="pip install matplotlib"):
        check_plot_path(tmp_path / "plot.svg")
