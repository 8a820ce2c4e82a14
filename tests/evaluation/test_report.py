from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
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


def test_plots_are_pictures(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"\.svg or \.png"):
        check_plot_path(tmp_path / "plot.doc")


def test_a_plot_without_matplotlib_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependencyError, match="pip install matplotlib"):
        check_plot_path(tmp_path / "plot.svg")
