from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from crawldedup.cli import main

ARTICLE = (
    "The ferry leaves the island at seven in the morning and comes back long after dark, so those who work in the "
    "harbour town see their own houses by daylight only on Sundays. Nobody complains. The captain knows every "
    "passenger by name, waits for those who run, and has turned back twice in thirty years: once for a birth, and "
    "once for a forgotten wedding ring that its owner would not be married without."
)
OTHER = (
    "Bread needs four things, and the fourth is time. A dough that is left alone for a night tastes of more than one "
    "that was hurried along with yeast and warmth, and it keeps for days where the other is stale by the evening. "
    "Bakers have always known this and have always been in a hurry, which is why good bread was never common."
)


def html(text: str, title: str = "A page") -> str:
    return f"<html><head><title>{title}</title></head><body><article><p>{text}</p></article></body></html>"


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CRAWLDEDUP_STORE", raising=False)
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "a.html").write_text(html(ARTICLE))
    (folder / "b.html").write_text(html(ARTICLE.replace("thirty", "forty")))
    (folder / "c.html").write_text(html(OTHER))
    return folder


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(list(arguments))
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[Any]:
    status, out, _ = run(capsys, *arguments, "--json")
    assert status == 0
    return [json.loads(line) for line in out.splitlines()]


def test_check_remembers_across_calls(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kinds = [verdict["kind"] for verdict in run_json(capsys, "check", str(pages))]
    assert kinds == ["new", "near_duplicate", "new"]
    (again,) = run_json(capsys, "check", str(pages / "a.html"))
    assert again["kind"] == "revisit"
    (copy,) = run_json(capsys, "check", str(pages / "a.html"), "--url", "https://example.com/copy")
    assert (copy["kind"], copy["original"]) == ("exact_duplicate", (pages / "a.html").as_uri())


def test_find_remembers_nothing(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_json(capsys, "find", str(pages / "a.html")) == [[]]
    run(capsys, "check", str(pages / "a.html"))
    ((match,),) = run_json(capsys, "find", str(pages / "b.html"))
    assert match["url"] == (pages / "a.html").as_uri()
    assert 0.85 < match["similarity"] < 1
    (info,) = run_json(capsys, "info")
    assert info["pages"] == 1


def test_compare_tells_how_alike_two_pages_are(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (near,) = run_json(capsys, "compare", str(pages / "a.html"), str(pages / "b.html"))
    (far,) = run_json(capsys, "compare", str(pages / "a.html"), str(pages / "c.html"))
    assert near["similarity"] > 0.85
    assert far["similarity"] < 0.3
    assert not far["near_duplicate"]


def test_scan_lists_clusters(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (report,) = run_json(capsys, "scan", str(pages))
    assert (report["pages"], report["duplicates"]) == (3, 1)
    (cluster,) = report["clusters"]
    assert cluster["original"].endswith("a.html")
    assert [member["url"] for member in cluster["duplicates"]] == [(pages / "b.html").as_uri()]


def test_forget_and_clear(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "check", str(pages))
    assert run_json(capsys, "forget", (pages / "a.html").as_uri(), "https://example.com/never") == [{"forgotten": 1}]
    assert run_json(capsys, "info")[0]["pages"] == 1
    status, _, err = run(capsys, "clear")
    assert (status, "--yes" in err) == (2, True)
    assert run_json(capsys, "info")[0]["pages"] == 1
    run(capsys, "clear", "--yes")
    assert run_json(capsys, "info")[0]["pages"] == 0


def test_pages_come_from_json_lines_text_files_and_standard_input(
    pages: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [{"url": "https://a.example/", "html": html(ARTICLE)}, {"url": "https://b.example/", "text": OTHER}]
    (pages / "lines.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (pages / "plain.txt").write_text(OTHER)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(html(ARTICLE).encode())))
    names = [str(pages / "lines.jsonl"), str(pages / "plain.txt"), "-"]
    verdicts = run_json(capsys, "check", *names)
    assert [verdict["kind"] for verdict in verdicts] == ["new", "new", "exact_duplicate", "exact_duplicate"]
    assert [verdict["original"] for verdict in verdicts[2:]] == ["https://b.example/", "https://a.example/"]


def test_a_page_that_cannot_be_read_is_skipped_and_said(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (pages / "b.html").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(1000))
    verdicts = run_json(capsys, "check", str(pages))
    assert [verdict.get("kind", verdict.get("skipped")) for verdict in verdicts] == ["new", "binary", "new"]


def test_text_from_pages_cannot_reach_the_terminal_unescaped(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil = "https://a.example/\x1b]0;gotcha\x07[red]\r\n"
    line = {"url": evil, "text": ARTICLE}
    (pages / "evil.jsonl").write_text(json.dumps(line) + "\n" + json.dumps({**line, "url": "https://b.example/"}))
    _, out, _ = run(capsys, "check", str(pages / "evil.jsonl"))
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "[red]" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "no-such-file"], "no-such-file"),
        (["check", "--store", "rediss:/x", "a.html"], "rediss:/x"),
        (["check", "--store", "rdis://localhost", "a.html"], "redis://"),
        (["check", "--similarity", "2", "a.html"], "similarity"),
        (["check", "--extractor", "trafilatur", "a.html"], "trafilatura"),
        (["check", "--ttl", "3 fortnights", "a.html"], "ttl"),
        (["check", "--namespace", "a b", "a.html"], "namespace"),
        (["find", "."], "exactly one"),
        (["check", "--url", "https://x.example/", "."], "--url"),
        (["info", "--store", "redis://127.0.0.1:1/0"], "127.0.0.1:1"),
    ],
)
def test_mistakes_are_answered_with_one_line(
    pages: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(pages)
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert "Traceback" not in err
    assert len(err.splitlines()) == 1


def test_another_profile_is_refused_with_both_named(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "check", str(pages / "a.html"))
    status, _, err = run(capsys, "check", "--extractor", "text", str(pages / "b.html"))
    assert status == 2
    assert "'trafilatura/" in err
    assert "'text/" in err


def test_an_index_is_asked_with_the_method_that_made_it(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    minhash = ["--method", "minhash?permutations=64", "--distinguish", "nothing"]
    assert run(capsys, "check", str(pages), *minhash)[0] == 0
    found = json.loads(run(capsys, "find", str(pages / "b.html"), "--json", *minhash)[1])
    assert len(found) == 1
    assert json.loads(run(capsys, "info", "--json", *minhash)[1])["pages"] == 2
    status, _, err = run(capsys, "find", str(pages / "b.html"))
    assert status == 2
    assert "minhash64" in err
    assert "words+pairs" in err


def test_compare_estimates_by_the_chosen_method(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(pages / name) for name in ("a.html", "b.html")]
    for method in ("two-stage", "minhash", "simhash?features=words"):
        report = json.loads(run(capsys, "compare", *files, "--json", "--method", method)[1])
        assert 0.75 < report["similarity"] <= 1


def test_numbers_can_tell_pages_apart(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, number in (("a", "1904"), ("b", "1905")):
        (pages / f"{name}.html").write_text(html(f"{ARTICLE} {OTHER} The house was built in {number}. {ARTICLE}"))
    for distinguish, duplicates in (("products", 1), ("numbers", 0)):
        report = run(capsys, "scan", str(pages), "--json", "--distinguish", distinguish)[1]
        assert json.loads(report)["duplicates"] == duplicates


def test_frequencies_are_learned_and_used(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "frequencies", str(pages), "--output", "df.npz")
    assert status == 0
    assert "3 pages counted" in out
    report = json.loads(run(capsys, "scan", str(pages), "--json", "--weighting", "tf-idf:df.npz")[1])
    assert report["duplicates"] == 1
    status, _, err = run(capsys, "frequencies", str(pages), "--output", "df.txt")
    assert status == 2
    assert ".npz" in err


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [("--method", "simhsh", "simhash"), ("--weighting", "idf", "tf-idf"), ("--weighting", "tf-idf:no.npz", "no.npz")],
)
def test_a_wrong_method_is_refused(
    pages: Path, capsys: pytest.CaptureFixture[str], option: str, value: str, message: str
) -> None:
    status, _, err = run(capsys, "check", str(pages), option, value)
    assert status == 2
    assert message in err
