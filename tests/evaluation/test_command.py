from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crawldedup.cli import main
from tests.evaluation.fakes import numbered_words, product_page


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    texts = {"a": numbered_words(0, 102), "b": numbered_words(0, 100), "c": numbered_words(500, 600)}
    path = tmp_path / "pages.jsonl"
    path.write_text("".join(json.dumps({"url": f"/{name}", "text": text}) + "\n" for name, text in texts.items()))
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["bench", "quality", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    status, out, _ = run(capsys, *arguments, "--json")
    assert status == 0
    return json.loads(out)


def test_the_default_method_finds_the_near_duplicate(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = run_json(capsys, str(pages))
    assert (report["corpus"], report["pages"]) == ("pages.jsonl", 3)
    (trial,) = report["trials"]
    assert (trial["method"], trial["recall"], trial["missed"], trial["wrong"]) == ("two-stage", 1.0, [], [])
    assert [band["pages"] for band in trial["bands"] if band["pages"]] == [2, 1]


def test_methods_are_compared_side_by_side(pages: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plot = tmp_path / "plot.svg"
    methods = ["--method", "two-stage", "--method", "brute-force", "--plot", str(plot)]
    status, out, err = run(capsys, str(pages), *methods)
    assert (status, err) == (0, "")
    assert sum(line.startswith("brute-force") for line in out.splitlines()) == 2
    assert plot.stat().st_size > 1000


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Two lamps of one text, a copy of the first of them, and a page that is no product."""
    folder = tmp_path / "shop"
    folder.mkdir()
    text = numbered_words(0, 150)
    pages = {
        "1.html": product_page("Lamp", "19.90", text),
        "2.html": product_page("Lamp", "24.90", text),
        "3.html": product_page("Lamp", "19.90", text),
        "4.html": f"<article><p>{numbered_words(500, 650)}.</p></article>",
    }
    for name, page in pages.items():
        (folder / name).write_text(page)
    return folder


@pytest.mark.parametrize("method", ["two-stage", "simhash"])
def test_products_that_differ_in_facts_are_no_misses(
    shop: Path, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    (trial,) = run_json(capsys, str(shop), "--method", method)["trials"]
    assert [(page["url"][-6:], page["nearest"][-6:]) for page in trial["apart"]] == [("2.html", "1.html")]
    assert (trial["recall"], trial["missed"], trial["wrong"]) == (1.0, [], [])
    assert [(band["pages"], band["flagged"]) for band in trial["bands"] if band["pages"]] == [(3, 0), (1, 1)]


def test_the_table_agrees_with_the_json(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (trial,) = run_json(capsys, str(shop))["trials"]
    _, out, _ = run(capsys, str(shop), "--detail")
    heading, row = out.splitlines()[2:4]
    assert heading.endswith("recall  kept apart by facts  ")
    shares = [100 * band["share"] for band in trial["bands"] if band["pages"]]
    assert [float(cell) for cell in row.split()[1:]] == [*shares, 100 * trial["recall"], len(trial["apart"])]
    assert "kept apart by facts: 1\n" in out


def test_limit_and_similarity(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = run_json(capsys, str(pages), "--limit", "2", "--similarity", "0.95", "--recall", "0.9")
    assert report["pages"] == 2
    assert report["trials"][0]["similarity"] == 0.95


def test_pairs_made_elsewhere(pages: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text('{"a": "/a", "b": "/c", "j3": 1.0}')
    (trial,) = run_json(capsys, str(pages), "--pairs", str(pairs))["trials"]
    assert [mistake["url"] for mistake in trial["missed"]] == ["/c"]
    assert [mistake["url"] for mistake in trial["wrong"]] == ["/b"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "two-stag"], "two-stage"),
        (["--limit", "0"], "--limit is 0"),
        (["--plot", "x.doc"], ".svg or .png"),
        (["--similarity", "2"], "similarity"),
        (["--pairs", "nowhere.jsonl"], "nowhere.jsonl"),
    ],
)
def test_what_cannot_be_measured_is_said(
    pages: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    status, _, err = run(capsys, str(pages), *arguments)
    assert status == 2
    assert message in err


def test_a_source_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = run(capsys, "nowhere")
    assert (status, "nowhere" in err) == (2, True)
