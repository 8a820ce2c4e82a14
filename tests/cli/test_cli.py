from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crawldedup import Deduplicator
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
    status, out, err = run(capsys, "check", str(pages), "--json")
    kinds = [json.loads(line)["kind"] for line in out.splitlines()]
    assert (status, kinds) == (0, ["new", "near_duplicate", "new"])
    assert err == "crawldedup: a new index begins in sqlite:///crawldedup.sqlite, namespace default\n"
    (again,) = run_json(capsys, "check", str(pages / "a.html"))
    assert again["kind"] == "revisit"
    assert "new index" not in run(capsys, "check", str(pages / "a.html"))[2]
    (copy,) = run_json(capsys, "check", str(pages / "a.html"), "--url", "https://example.com/copy")
    assert (copy["kind"], copy["original"]) == ("exact_duplicate", (pages / "a.html").as_uri())


@pytest.mark.usefixtures("own_keys")
def test_find_remembers_nothing(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "check", str(pages / "a.html"))
    assert run_json(capsys, "find", str(pages / "c.html")) == [[]]
    ((match,),) = run_json(capsys, "find", str(pages / "b.html"))
    assert match["url"] == (pages / "a.html").as_uri()
    assert 0.85 < match["similarity"] < 1
    (info,) = run_json(capsys, "info")
    assert info["pages"] == 1
    assert 0.95 < info["expected_recall"] < 0.98


@pytest.mark.usefixtures("own_keys")
def test_explain_says_why_and_remembers_nothing(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "check", str(pages / "a.html"), "--scope", "site", "--url", "https://www.example.com/a")
    names = [str(pages / "b.html"), "--scope", "site", "--url", "https://example.com/b"]
    (why,) = run_json(capsys, "explain", *names)
    assert (why["kind"], why["original"]) == ("near_duplicate", "https://www.example.com/a")
    assert (why["scope"], why["scope_key"], why["pages"]) == ("site", "example.com", 1)
    assert why["text"].startswith("A page\nThe ferry leaves")
    (candidate,) = why["compared"]
    assert candidate["accepted"]
    assert why["threshold"] < candidate["similarity"] < 1
    _, out, _ = run(capsys, "explain", *names)
    assert "  scope      site: example.com\n" in out
    assert "  accepted   https://www.example.com/a\n             similarity 0." in out
    assert "probe" not in out
    assert ", met by probe " in run(capsys, "explain", *names, "--detail")[1]
    assert run_json(capsys, "info")[0]["pages"] == 1


def test_explain_says_what_counts_as_a_copy(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = " ".join(f"word{number}" for number in range(300))
    (pages / "many.html").write_text(html(words))
    (pages / "thin.html").write_text(html("Few words."))
    with Deduplicator("sqlite:///crawldedup.sqlite", similarity=1) as dedup:
        for number in range(8):
            dedup.check(f"https://e.com/{number}", html=html(words.replace(f"word{4 + number} ", "other ")))
    out = run(capsys, "explain", str(pages / "many.html"))[1]
    copies = r"  copies     from an estimated similarity of about 0\.\d+ on, since \d pages resemble it alike"
    assert re.search(copies, out)
    assert "accepted up to a cost of " not in out
    assert "accepted up to a cost of " in run(capsys, "explain", str(pages / "many.html"), "--detail")[1]
    assert "  copies     an exact copy only" in run(capsys, "explain", str(pages / "thin.html"))[1]


def test_what_is_compared_can_be_selected(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in (("d", "one"), ("e", "other")):
        (pages / f"{name}.html").write_text(f"<p id=story>{'The same story again. ' * 20}</p><p>{text * 200}</p>")
    (pair,) = run_json(capsys, "compare", "--content", "#story", str(pages / "d.html"), str(pages / "e.html"))
    assert pair["similarity"] == 1


def test_compare_tells_how_alike_two_pages_are(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (near,) = run_json(capsys, "compare", str(pages / "a.html"), str(pages / "b.html"))
    (far,) = run_json(capsys, "compare", str(pages / "a.html"), str(pages / "c.html"))
    assert near["similarity"] > 0.85
    assert near["verdict"]["kind"] == "near_duplicate"
    assert far["similarity"] < 0.3
    assert far["verdict"]["kind"] == "new"
    out = run(capsys, "compare", str(pages / "a.html"), str(pages / "b.html"))[1]
    first, verdict, why, *_ = out.splitlines()
    assert re.fullmatch(r"file:.*b\.html: 0\.921 similar to file:.*a\.html", first)
    assert verdict == "  verdict     of 10 indexes that know that page, all would drop this one"
    assert why.startswith("  why         copies count from an estimate of about 0.8")
    assert "[-" in out
    assert "64 search bits" not in out
    assert "64 search bits" in run(capsys, "compare", str(pages / "a.html"), str(pages / "b.html"), "--detail")[1]
    assert "they have the same text" in run(capsys, "compare", str(pages / "a.html"), str(pages / "a.html"))[1]


@pytest.mark.usefixtures("own_keys")
def test_compare_decides_as_an_index_does(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Near the limit, the key of an index decides: without one, it is said of how many each verdict is."""
    words = [f"word{number}" for number in range(400)]
    other = [word if number % 40 else "other" for number, word in enumerate(words)]
    for name, text in (("x", words), ("y", other)):
        (pages / f"{name}.txt").write_text(" ".join(text))
    names = [str(pages / "x.txt"), str(pages / "y.txt")]
    kinds = []
    for number in range(8):
        store = f"sqlite:///{pages}/{number}.sqlite"
        checked = run_json(capsys, "check", *names, "--store", store)[1]
        (compared,) = run_json(capsys, "compare", *names, "--store", store)
        assert compared["verdict"]["kind"] == checked["kind"]
        assert compared["drops"] == run_json(capsys, "compare", *names)[0]["drops"]
        kinds.append(checked["kind"])
    assert 0 < compared["drops"] < 10
    assert "near_duplicate" in kinds or "new" in kinds
    assert "namespace default" in run(capsys, "compare", *names, "--store", store)[1]


def test_compare_decides_as_check_does(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, number in (("a", "1904"), ("b", "1905")):
        (pages / f"{name}.html").write_text(html(f"{ARTICLE} {OTHER} The house was built in {number}. {ARTICLE}"))
    names = [str(pages / "a.html"), str(pages / "b.html")]
    for options in ([], ["--distinguish", "numbers"], ["--similarity", "0.99"]):
        (compared,) = run_json(capsys, "compare", *names, *options)
        checked = run_json(capsys, "check", *names, *options, "--store", "memory://")[1]
        assert compared["verdict"]["kind"] == checked["kind"]
        assert compared["verdict"]["is_duplicate"] == (not options)
    out = run(capsys, "compare", *names, "--distinguish", "numbers")[1]
    assert "their product attributes differ" in out
    assert "  - attribute numbers" in out
    assert "built in [-1904.-] {+1905.+}" in out


def test_a_thin_page_is_compared_by_its_text_alone(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    thin = pages / "thin.html"
    thin.write_text("<p>Three small words</p>")
    (same,) = run_json(capsys, "compare", str(thin), str(thin))
    assert (same["similarity"], same["verdict"]["kind"]) == (1.0, "exact_duplicate")
    (other,) = run_json(capsys, "compare", str(thin), str(pages / "a.html"))
    assert (other["similarity"], other["verdict"]["kind"]) == (0, "new")
    assert "too thin" in run(capsys, "compare", str(thin), str(pages / "a.html"))[1]


@pytest.mark.usefixtures("own_keys")
def test_two_pages_are_compared_alike_everywhere(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reports = [run_json(capsys, "compare", str(pages / "a.html"), str(pages / "b.html")) for _ in range(2)]
    assert reports[0] == reports[1]


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
    status, _, err = run(capsys, "info")
    assert (status, "there is no index 'default'" in err) == (2, True)


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


@pytest.mark.parametrize(
    ("lines", "urls"),
    [
        (['\ufeff{"link": "/a", "body": "Grüße"}', "{", '{"link": "/b", "body": "b"}'], ["/a", "/b"]),
        (["", '{"link": "/a", "body": "a"}'], ["stdin:"]),
        (["{", "}"], ["stdin:"]),
        (["7"], ["stdin:"]),
    ],
)
def test_standard_input_is_a_feed_if_it_begins_with_an_object(
    pages: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, lines: list[str], urls: list[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join(lines).encode())))
    status, out, err = run(capsys, "check", "-", "--url-field", "link", "--text-field", "body", "--json")
    assert [json.loads(line)["url"] for line in out.splitlines()] == urls
    assert (status, "standard input, line 2: this is not JSON" in err) == ((1, True) if len(urls) > 1 else (0, False))


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
        (["scan", "--similarity", "2", "no-such-file"], "similarity"),
        (["find", "no-such-file"], "no-such-file"),
        (["find", "http://[::1"], "http://[::1"),
        (["check", "--max-pages", "many", "a.html"], "--max-pages is 'many'"),
        (["check", "--store", "rediss:/x", "a.html"], "rediss:/x"),
        (["check", "--store", "rdis://localhost", "a.html"], "redis://"),
        (["check", "--similarity", "2", "a.html"], "--similarity is 2.0; it must be a number above 0.5"),
        (["check", "--extractor", "trafilatur", "a.html"], "trafilatura"),
        (["check", "--ttl", "3 fortnights", "a.html"], "--ttl is '3 fortnights'"),
        (["check", "--namespace", "a b", "a.html"], "--namespace is 'a b'"),
        (["check", "--scope", "sight", "a.html"], "did you mean 'site'?"),
        (["check", "--scope", "spider", "a.html"], "scrapy dedup --spider"),
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
    assert "'blocks/" in err
    assert "'text/" in err
    assert "crawl again: into another namespace, or into this one after `crawldedup clear`" in err


def test_numbers_can_tell_pages_apart(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, number in (("a", "1904"), ("b", "1905")):
        (pages / f"{name}.html").write_text(html(f"{ARTICLE} {OTHER} The house was built in {number}. {ARTICLE}"))
    for distinguish, duplicates in (("products", 1), ("numbers", 0)):
        report = run(capsys, "scan", str(pages), "--json", "--distinguish", distinguish)[1]
        assert json.loads(report)["duplicates"] == duplicates


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["chek", "a.html"], "did you mean 'check'? (see crawldedup --help)"),
        (["check"], "the following arguments are required: PAGE (see crawldedup check --help)"),
        (["check", "a.html", "--simlarity", "0.8"], "did you mean '--similarity'?"),
    ],
)
def test_a_wrong_command_line_is_answered_with_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    err = capsys.readouterr().err
    assert message in err
    assert len(err.splitlines()) == 1


def test_the_environment_names_the_store(
    pages: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRAWLDEDUP_STORE", "sqlite:///elsewhere.sqlite")
    run(capsys, "check", str(pages))
    assert run_json(capsys, "info", "--store", "sqlite:///elsewhere.sqlite")[0]["pages"] == 2
    monkeypatch.setenv("CRAWLDEDUP_STORE", "rdis://:secret@host")
    status, _, err = run(capsys, "info")
    assert (status, "CRAWLDEDUP_STORE is" in err, "secret" in err) == (2, True, False)
    with pytest.raises(SystemExit):
        main(["info", "--help"])
    assert "secret" not in capsys.readouterr().out


def test_no_index_is_created_for_sources_that_cannot_be_read(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "check", "no-such-file", "neither-this")[0] == 1
    assert not list(Path().glob("*.sqlite"))


BAD_ENDS = {
    "no-such-file": "no-such-file",
    "broken.jsonl": "broken.jsonl, line 2",
    "broken.warc": "broken.warc",
    "http://127.0.0.1:1/": "127.0.0.1:1",
}


@pytest.mark.parametrize("bad", BAD_ENDS)
@pytest.mark.parametrize("command", ["check", "scan"])
def test_a_source_that_cannot_be_read_is_said_and_does_not_end_the_run(
    pages: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str, bad: str
) -> None:
    monkeypatch.chdir(pages)
    Path("broken.jsonl").write_text(json.dumps({"url": "https://a.example/", "text": OTHER[:200]}) + "\n{")
    Path("broken.warc").write_bytes(b"this is no archive\n" * 20)
    status, out, err = run(capsys, command, "a.html", bad, "b.html", "--json")
    assert status == 1
    told = [line for line in err.splitlines() if "a new index begins" not in line]
    assert BAD_ENDS[bad] in told[0]
    assert len(told) == 1
    if command == "check":
        kinds = [json.loads(line)["kind"] for line in out.splitlines()]
        assert kinds == ["new", *(["new"] if bad == "broken.jsonl" else []), "near_duplicate"]
    else:
        assert json.loads(out)["duplicates"] == 1


@pytest.mark.parametrize("command", [["check"], ["scan"], ["bench"]])
def test_a_bad_line_of_a_feed_is_said_and_does_not_end_the_run(
    pages: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    lines = [json.dumps({"url": f"https://a.example/{number}", "text": f"{number} {OTHER}"}) for number in range(41)]
    lines[5] = lines[5][:-1]
    (pages / "feed.jl").write_text("\n".join(lines))
    status, out, err = run(capsys, *command, str(pages / "feed.jl"), "--json")
    assert (status, len(err.splitlines())) == (1, 1 + (command == ["check"]))
    assert "feed.jl, line 6: this is not JSON" in err
    assert (len(out.splitlines()) if command == ["check"] else json.loads(out)["pages"]) == 40


def test_check_can_remember_without_urls(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verdicts = run_json(capsys, "check", str(pages), "--no-store-urls")
    assert [(verdict["kind"], verdict["original"]) for verdict in verdicts][1] == ("near_duplicate", None)
    ((match,),) = run_json(capsys, "find", str(pages / "b.html"))
    assert match["url"] == ""
    assert "a page without URL" in run(capsys, "find", str(pages / "b.html"))[1]


def test_check_tells_which_paragraphs_are_known(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    story, hostile = ARTICLE + " " + " ".join(f"word{number}" for number in range(60)), "\x1b[31m[red]"
    own = " ".join(f"{hostile if number == 0 else 'own'}{number}" for number in range(150))
    (pages / "a.html").write_text(html(story))
    (pages / "b.html").write_text(html(f"{story}</p><p>{own}"))
    arguments = ("check", str(pages / "a.html"), str(pages / "b.html"), "--paragraphs", "mark")
    status, out, _ = run(capsys, *arguments)
    first, second, known, new = out.splitlines()
    source = (pages / "a.html").as_uri()
    assert (status, first) == (0, f"{source}: new")
    assert re.search(rf"b\.html: new, \d\d% of its words new, 1\d\d words on {re.escape(source)}$", second)
    assert re.match(rf" +known +1\d\d words, on {re.escape(source)}: The ferry leaves the island", known)
    assert re.match(r" +new +15\d words: .*\[red\]", new)
    assert "\x1b" not in out
    *_, last = run_json(capsys, *arguments)
    assert last["coverage"]["known_words"] > 100


def test_a_cleared_index_takes_the_settings_of_whoever_comes_next(
    pages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, "check", str(pages))
    assert run(capsys, "check", str(pages), "--extractor", "text")[0] == 2
    assert run(capsys, "clear", "--yes")[0] == 0
    assert run(capsys, "check", str(pages), "--extractor", "text")[0] == 0


@pytest.mark.parametrize("command", [["info"], ["find", "a.html"], ["forget", "x"], ["clear", "--yes"]])
def test_looking_does_not_make_an_index(
    pages: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(pages)
    before = sorted(pages.iterdir())
    status, out, err = run(capsys, *command, "--store", "sqlite:///not%20there/index.sqlite")
    assert (status, out) == (2, "")
    assert "there is no index 'default' in sqlite:///not%20there/index.sqlite" in err
    assert sorted(pages.iterdir()) == before


@pytest.mark.parametrize(
    "command",
    [
        ["info"],
        ["find", "a.html"],
        ["forget", "x"],
        ["clear", "--yes"],
    ],
)
def test_a_name_that_is_no_index_is_refused(
    pages: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(pages)
    for namespace in ("default", "news"):
        run(capsys, "check", "a.html", "--namespace", namespace)
    before = sorted(pages.iterdir())
    status, out, err = run(capsys, *command, "--namespace", "nwes")
    assert (status, out) == (2, "")
    assert err == (
        "crawldedup: there is no index 'nwes' in sqlite:///crawldedup.sqlite: check the store and the namespace\n"
    )
    assert sorted(pages.iterdir()) == before


def test_one_page_is_called_one_page(pages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = pages / "a.html"
    assert run(capsys, "scan", str(page))[1] == "1 page, 0 duplicates in 0 clusters, 0 skipped\n"
    run(capsys, "check", str(page))
    assert run(capsys, "forget", page.as_uri())[1] == "1 of 1 page was known and forgotten\n"


@pytest.mark.parametrize(("arguments", "channel", "status"), [("check -", "<&-", 1), ("info", ">&-", 0)])
def test_a_channel_may_be_closed(pages: Path, arguments: str, channel: str, status: int) -> None:
    assert main(["check", str(pages)]) == 0
    program = Path(sys.executable).with_name("crawldedup")
    done = subprocess.run(["sh", "-c", f"{program} {arguments} {channel}"], stderr=subprocess.PIPE, text=True)
    assert done.returncode == status
    assert "Traceback" not in done.stderr
    assert ("there is no standard input" in done.stderr) == (channel == "<&-")


def test_info_says_what_a_page_takes_and_what_spoils_the_index(
    pages: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(capsys, "check", str(pages))
    (info,) = run_json(capsys, "info")
    assert info["bytes_a_page"] == info["bytes"] / 2
    assert info["table_bytes_a_page"] == round(info["table_bytes"] / 2, 1)
    assert info["warnings"] == []
    warned = replace(Deduplicator().info(), warnings=("set \x1b zset-max to 128",))
    monkeypatch.setattr(Deduplicator, "info", lambda _: warned)
    _, out, _ = run(capsys, "info")
    assert "warning: set \\x1b zset-max to 128" in out
    assert "bytes a page" not in out
