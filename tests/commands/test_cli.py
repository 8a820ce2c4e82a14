"""The command line: what its commands print, and how it answers mistakes."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import lzma
import os
import re
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from crawldedup import __version__
from crawldedup.aside import FORMAT, VERSION, AsideFile
from crawldedup.cli import EXAMPLES, parser
from crawldedup.commands.command import safe_cell
from crawldedup.deduplicator import Deduplicator
from tests.commands.conftest import Run
from tests.service.serving import TIDES, story
from tests.stories import HALF_ALIKE, TEXT


def test_python_runs_the_package_as_the_command() -> None:
    command = [sys.executable, "-m", "crawldedup", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"crawldedup {__version__}\n"


def html(text: str, title: str = "A page") -> str:
    return f"<html><head><title>{title}</title></head><body><article><p>{text}</p></article></body></html>"


@pytest.fixture
def pages(run: Run) -> Run:
    """The function that runs a command line, in a folder with two pages that are near duplicates
    and another one.
    """
    Path("pages").mkdir()
    for name, text in (("a", TIDES), ("b", TIDES.replace("Three", "Four")), ("c", story(1))):
        Path(f"pages/{name}.html").write_text(html(text))
    return run


def uri(name: str) -> str:
    return Path(f"pages/{name}.html").absolute().as_uri()


def test_check_remembers_across_calls(pages: Run, caplog: pytest.LogCaptureFixture) -> None:
    said = pages("check pages --json")
    assert [verdict["kind"] for verdict in said.values] == ["new", "near_duplicate", "new"]
    assert caplog.messages == [
        "crawldedup: a new index begins in sqlite:///crawldedup.sqlite, namespace default "
        "(expected the first time)"
    ]
    said = pages("check pages/a.html --json")
    assert (said.values[0]["kind"], len(caplog.messages), said.err) == ("revisit", 1, "")
    (copy,) = pages("check pages/a.html --url https://example.com/copy --json").values
    assert (copy["kind"], copy["original"]) == ("exact_duplicate", uri("a"))


@pytest.mark.usefixtures("own_keys")
def test_find_explain_and_info_tell_what_is_known_and_remember_nothing(pages: Run) -> None:
    pages("check pages/a.html")
    assert pages("find pages/c.html --json").values == [[]]
    ((match,),) = pages("find pages/b.html --json").values
    assert (match["url"], 0.85 < match["similarity"] < 1) == (uri("a"), True)
    (why,) = pages("explain pages/b.html --json").values
    assert (why["kind"], why["original"], why["pages"]) == ("near_duplicate", uri("a"), 1)
    assert why["text"].startswith("A page\nLow tide uncovers")
    (candidate,) = why["compared"]
    assert candidate["accepted"]
    assert why["threshold"] < candidate["similarity"] < 1
    said, detailed = pages("explain pages/b.html").out, pages("explain pages/b.html --detail").out
    assert f"  accepted   {uri('a')}\n             similarity 0." in said
    assert re.search(r"  copies     at an estimated similarity of 0\.\d+ or more\n", said)
    for numbers in ("found by probe ", "accepted up to a cost of "):
        assert (numbers in said, numbers in detailed) == (False, True)
    pages("check pages/c.html")
    (info,) = pages("info --json").values
    assert (info["pages"], info["bytes_a_page"], info["warnings"]) == (2, info["bytes"] / 2, [])
    assert 0.95 < info["expected_recall"] < 0.98


@pytest.mark.usefixtures("own_keys")
def test_compare_tells_how_alike_two_pages_are(pages: Run) -> None:
    (near,) = pages("compare pages/a.html pages/b.html --json").values
    assert (near["similarity"] > 0.85, near["verdict"]["kind"]) == (True, "near_duplicate")
    (far,) = pages("compare pages/a.html pages/c.html --json").values
    assert (far["similarity"] < 0.3, far["verdict"]["kind"]) == (True, "new")
    said = pages("compare pages/a.html pages/b.html").out
    assert re.match(
        r"file:.*b\.html: 0\.9\d\d similar to file:.*a\.html\n  verdict     of 10 indexes .*, all "
        r"would ",
        said,
    )
    assert "  why         copies count at an estimate of about 0.8" in said
    assert "[-Three-] {+Four+}" in said
    assert "64 search bits" not in said
    assert "64 search bits" in pages("compare pages/a.html pages/b.html --detail").out
    assert "they have the same text" in pages("compare pages/a.html pages/a.html").out
    Path("thin.txt").write_text("Three small words")
    assert "too thin" in pages("compare thin.txt pages/a.html").out
    for name, text in (("d", "one"), ("e", "other")):
        Path(f"{name}.html").write_text(
            f"<p id=story>{'The same story again. ' * 20}</p><p>{text * 200}</p>"
        )
    assert pages("compare --content #story d.html e.html --json").values[0]["similarity"] == 1


def test_what_is_left_out_is_said(run: Run) -> None:
    footer = f"<footer>{'All rights reserved by the harbor. ' * 9}</footer>"
    evil = (
        "<div class='share \x1b[2J'>Tell all of your friends about it &#27;[31m, and tell them again "
        "that you saw it here first.</div>"
    )
    for name in "ab":
        Path(f"{name}.html").write_text(f"<main>{html(TIDES)}</main>{evil}{footer}")
    said = run("compare a.html b.html").out
    assert said.count("  left out    ") == 4
    assert said.count(" in <footer>, 54 words\n") == 2
    assert said.count('named "share"') == 2
    assert said.count("  first       ") == said.count("  second      ") == 1
    (compared,) = run("compare a.html b.html --json").values
    for omissions in compared["omissions"]:
        assert [each["words"] for each in omissions] == [54, 18]
    run("check a.html")
    explained = run("explain b.html").out
    assert "  left out   " in explained
    assert "\x1b" not in said + explained
    (why,) = run("explain b.html --json").values
    assert why["omissions"] == compared["omissions"][1]


def test_a_page_that_names_the_other_one_is_explained(run: Run) -> None:
    for name, text in (("story", TEXT), ("print", HALF_ALIKE)):
        head = "<link rel=canonical href=https://news.example/story>"
        Path(f"{name}.html").write_text(f"<head>{head}</head><main>{html(text)}</main>")
    reason = "the second page names the first one as its canonical page, so copies count at"
    for urls in ("", "--urls https://news.example/story https://news.example/print"):
        assert reason in run(f"compare story.html print.html {urls}").out
    elsewhere = "--urls https://a.example/ https://b.example/"
    assert reason not in run(f"compare story.html print.html {elsewhere}").out


@pytest.mark.parametrize(
    ("first", "second", "is_said"),
    [
        ("https://a.example/story", "https://a.example/story?print=1", True),
        ("https://a.example/story?sid=9b1c7f4e21d83a60", "https://a.example/story", True),
        ("https://a.example/story", "https://a.example/print/tale", False),
        ("https://a.example/story", "https://b.example/story?print=1", False),
        ("https://a.example/story", "https://a.example/story?utm_source=a", False),
    ],
)
def test_pages_that_may_be_views_point_to_what_an_index_has_learned(
    run: Run, first: str, second: str, is_said: bool
) -> None:
    Path("first.html").write_text(html(TEXT))
    Path("second.html").write_text(html(HALF_ALIKE))
    said = run(f"compare first.html second.html --urls {first} {second}").out
    assert (" 0." in said, "name its --store" in said) == (True, is_said)


def test_siblings_are_said_to_be_apart_and_why(run: Run) -> None:
    for name in ("river", "mill"):
        body = f"<h1>Photo of the day</h1><img src=/{name}.jpg>{html(TIDES)}"
        Path(f"{name}.html").write_text(f"<title>Photo of the day</title><main>{body}</main>")
    compared = "compare river.html mill.html"
    assert "kept apart" not in run(compared).out
    urls = "https://photos.example/1 https://photos.example/2"
    said = run(f"{compared} --urls {urls}").out
    assert said.startswith("kept apart: another lead picture, river and mill\n")
    assert "+ mark lead picture mill" in said
    run("check river.html --url https://photos.example/1")
    (told,) = run("explain mill.html --url https://photos.example/2 --json").values
    assert (told["kind"], told["rejected"], told["rejected_by"]) == (
        "new",
        "https://photos.example/1",
        "picture",
    )
    said = run("explain mill.html --url https://photos.example/2").out
    assert "new, a sibling of https://photos.example/1: another lead picture" in said
    assert "  mark       lead picture mill" in said
    assert "  sibling    https://photos.example/1, another lead picture" in said


def test_pages_are_forgotten_and_an_index_is_cleared(pages: Run) -> None:
    pages("check pages")
    assert pages(f"forget https://example.com/never {uri('a')} --json").values == [{"forgotten": 1}]
    assert pages(f"forget {uri('c')}").out == "1 of 1 page was known and forgotten\n"
    said = pages("check --extractor text pages")
    assert (said.status, "'blocks/" in said.err, "'text/" in said.err) == (2, True, True)
    assert pages("clear --yes").status == 0
    assert "there is no index 'default'" in pages("info").err
    # Whoever comes next decides about the settings.
    assert pages("check --extractor text pages").status == 0


@pytest.mark.parametrize(
    ("options", "setting"),
    [
        ("--extractor text", "extractor (CRAWLDEDUP_EXTRACTOR, --extractor) was 'text'"),
        ("--content #story", "content (CRAWLDEDUP_CONTENT, --content) was set, and is not set now"),
        ("--distinguish nothing", "distinguish (CRAWLDEDUP_DISTINGUISH, --distinguish) was 'n"),
    ],
)
def test_an_index_of_other_settings_can_be_looked_at_and_the_setting_is_named(
    pages: Run, options: str, setting: str
) -> None:
    assert pages(f"check pages {options}").status == 0
    said = pages("check pages")
    assert (said.status, setting in said.err, said.err.count("\n")) == (2, True, 1), said.err
    (info,) = pages("info --json").values
    assert info["pages"] == 2
    ((match,),) = pages("find pages/c.html --json").values
    assert match["exact"]
    # Nobody can tell the areas that were compared from their digest.
    assert ("content" in pages("find pages/c.html").err) == ("--content" in options)
    assert pages(f"forget {uri('c')} --json").values == [{"forgotten": 1}]
    assert pages("find pages/c.html --json").values == [[]]
    # What was forgotten is forgotten for those who made the index.
    verdicts = pages(f"check pages {options} --json").values
    assert [verdict["kind"] for verdict in verdicts] == ["revisit", "near_duplicate", "new"]


@pytest.fixture
def sites(run: Run) -> Run:
    """The function that runs a command line, in a folder with an index by site."""
    items = [{"url": f"http://{s}.example/{n}", "text": story(n)} for s in "xy" for n in range(3)]
    Path("f.jl").write_text("".join(f"{json.dumps(item)}\n" for item in items))
    Path("p.txt").write_text(story(1))
    kinds = [verdict["kind"] for verdict in run("check f.jl --scope site --json").values]
    assert kinds == ["new"] * 6
    return run


def test_pages_are_forgotten_in_whatever_scope_they_are(sites: Run) -> None:
    with Deduplicator("sqlite:///crawldedup.sqlite", scope="spider") as dedup:
        dedup.check("http://x.example/1", text=story(1), scope_key="a tenant")
    with Deduplicator("sqlite:///crawldedup.sqlite") as dedup:
        dedup.check("http://x.example/1", text=story(1))
    with closing(Deduplicator("sqlite:///crawldedup.sqlite")) as dedup:
        dedup.accept_profile()
        before = dedup.info().pages
        told = sites("forget http://x.example/1 http://no.example/ --json")
        assert told.values == [{"forgotten": 1}]
        assert (before, dedup.info().pages) == (8, 5)
    # As it had to be called before.
    assert sites("forget http://y.example/2 --scope site --json").values == [{"forgotten": 1}]
    assert sites("info --json").values[0]["scopes"] == ["site", "spider", "global"]


def test_an_index_by_site_is_searched_by_the_site_of_the_page(sites: Run) -> None:
    for scope in ("", "--scope site"):
        said = sites(f"find p.txt {scope}")
        assert (said.status, "add --url with its address" in said.err) == (2, True)
    ((match,),) = sites("find p.txt --url http://y.example/new --json").values
    assert (match["url"], match["exact"]) == ("http://y.example/1", True)
    assert sites("find p.txt --url http://z.example/ --json").values == [[]]
    with Deduplicator("sqlite:///crawldedup.sqlite", scope="spider") as dedup:
        dedup.check("http://q.example/1", text=story(1), scope_key="a tenant")
    said = sites("find p.txt --json")
    assert [match["url"] for match in said.values[0]] == ["http://q.example/1"]
    assert "add --url" in said.err


def test_an_option_that_the_index_overrides_is_told(sites: Run) -> None:
    asked = "find p.txt --url http://x.example/new"
    assert sites(f"{asked} --extractor blocks --distinguish siblings --scope site").err == ""
    said = sites(f"{asked} --extractor text --distinguish nothing --scope global")
    assert said.out == "exact: http://x.example/1 (0 copies seen)\n"
    for option in ("--extractor is 'text'", "--distinguish is 'nothing'", "--scope is 'global'"):
        assert said.err.count(f"{option}, but the index was made with ") == 1
    assert said.err.count("\n") == 3


def test_another_scope_than_the_index_has_is_told_once(
    sites: Run, caplog: pytest.LogCaptureFixture
) -> None:
    against = "filter f.jl -o out.jl --against sqlite:///crawldedup.sqlite"
    for command in (against, "check f.jl", "explain f.jl"):
        caplog.clear()
        assert sites(command).status == 0
        (message,) = caplog.messages
        assert "was created with the scope 'site', but the scope here is 'global'" in message
        assert "--scope) to 'site'" in message
    caplog.clear()
    for command in ("check f.jl --scope site", "find p.txt --url http://x.example/", "info"):
        assert sites(command).status == 0
    sites("clear --yes")
    # Whoever comes next decides about the scope.
    assert sites("check f.jl").status == 0
    assert not any("was created with the scope" in message for message in caplog.messages)


def test_an_index_of_another_version_is_refused(pages: Run) -> None:
    pages("check pages")
    with contextlib.closing(sqlite3.connect("crawldedup.sqlite")) as db, db:
        db.execute("UPDATE indexes SET profile = replace(profile, 'x64', 'x32')")
    for command in ("info", "forget x", "find pages/a.html"):
        said = pages(command)
        assert (said.status, "made by another version of crawldedup" in said.err) == (2, True)
    assert pages("clear --yes").status == 0


@pytest.mark.parametrize(
    "command", ["check many.jsonl", "scan many.jsonl --most 9999", "compare a.txt b.txt"]
)
def test_a_reader_that_leaves_is_no_error(pages: Run, command: str) -> None:
    texts = [f"{story(number % 400)} number {number}" for number in range(1200)]
    items = [{"url": f"https://e.example/{n}", "text": text} for n, text in enumerate(texts)]
    Path("many.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in items))
    for name in "ab":
        Path(f"{name}.txt").write_text(" ".join(texts))
    program = f"{sys.executable} -m crawldedup.cli {command}"
    script = f"set -o pipefail; {program} 2>err | head -c 1 >out"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(["bash", "-c", script], env=environment, check=False)
    assert (done.returncode, Path("out").read_text() != "") == (0, True), Path("err").read_text()


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "command",
    [
        "compare pages/a.html pages/b.html",
        "compare pages/a.html pages/b.html --json",
        "scan pages",
        "filter many.jsonl -o -",
        "restore aside.jl.gz -o -",
        "completion bash",
        "--version",
        "scan --help",
    ],
)
def test_standard_output_without_room_is_an_error(
    pages: Run, command: str, unbuffered: str
) -> None:
    item = {"url": "https://e.example/", "text": TEXT}
    Path("many.jsonl").write_text(f"{json.dumps(item)}\n")
    file = AsideFile("aside.jl.gz")
    file.put(json.dumps({FORMAT: VERSION, "verdict": {}, "item": item}))
    file.close()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "crawldedup.cli", *command.split()],
            env={**environment, "PYTHONUNBUFFERED": unbuffered},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "crawldedup: standard output: No space left on device"


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        ('\ufeff{"link": "/a", "body": "Grüße"}\n{\n{"link": "/b", "body": "b"}', ["/a", "/b"]),
        (html(TIDES), ["stdin:"]),
    ],
)
def test_standard_input_is_a_feed_if_it_begins_with_an_object(
    run: Run, monkeypatch: pytest.MonkeyPatch, text: str, urls: list[str]
) -> None:
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(text.encode())))
    )
    said = run("check - --url-field link --text-field body --json")
    assert [json.loads(line)["url"] for line in said.out.splitlines()] == urls
    is_feed = len(urls) > 1
    assert (said.status, "standard input, line 2: this is not JSON" in said.err) == (
        is_feed,
        is_feed,
    )


@pytest.mark.parametrize(
    ("content", "urls", "message"),
    [
        (b"\xef\xbb\xbfurl,text\n/a,one\n/b,two\n", ["/a", "/b"], ""),
        (b'text,"url"\r\n"one, two",/a\r\n', ["/a"], ""),
        (b"url;text\n/a;one, two\n/b;two\n", ["/a", "/b"], ""),
        (b"url\ttext\n/a\tone; two\n", ["/a"], ""),
        (b"link;body\n/a;one\n", [], 'the field "url" contains no text; name another'),
        (b"Seals rest here; and fish; too.\nSo they say; and swim; and eat.", ["stdin:"], ""),
        (b"link,body\n/a,one\n", [], 'the field "url" contains no text; name another'),
        (b"Seals rest here, and fish, too.\nSo they say, and swim, and eat.", ["stdin:"], ""),
        (gzip.compress(b"<p>one"), [], "compressed by gzip: name the file instead, or"),
        (lzma.compress(b"<p>one"), [], "decompress it first with `xz -dc`"),
        (b"WARC/1.1\r\n", [], "standard input is a web archive, which is only read from files"),
    ],
)
def test_what_comes_on_standard_input_is_told_by_its_beginning(
    run: Run, monkeypatch: pytest.MonkeyPatch, content: bytes, urls: list[str], message: str
) -> None:
    stream = io.TextIOWrapper(io.BufferedReader(io.BytesIO(content)))
    monkeypatch.setattr(sys, "stdin", stream)
    said = run("check - --json")
    assert [json.loads(line)["url"] for line in said.out.splitlines()] == urls
    assert (said.status, message in said.err) == (int(not urls), True)


@pytest.mark.parametrize(
    "command",
    [
        "scan there.html missing",
        "check missing there.html",
        "explain missing",
        "find missing",
        "compare missing there.html",
        "filter missing.jl -o out.jl",
        "bench missing",
    ],
)
def test_a_source_that_does_not_exist_is_told_before_the_work(run: Run, command: str) -> None:
    Path("there.html").write_text(html(TEXT))
    said = run(command)
    assert (said.status, said.out, "missing" in said.err) == (2, "", True)
    assert [path.name for path in Path().iterdir()] == ["there.html"]


def test_what_cannot_be_compared_or_read_is_said_and_does_not_end_the_run(pages: Run) -> None:
    Path("pages/b.html").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(1000))
    verdicts = pages("check pages --json").values
    assert [verdict.get("kind", verdict.get("skipped")) for verdict in verdicts] == [
        "new",
        "binary",
        "new",
    ]
    Path("broken.jl").write_text(
        json.dumps({"url": "https://a.example/", "text": story(2)}) + "\n{"
    )
    Path("broken.warc").write_bytes(b"this is no archive\n" * 20)
    bad = {
        "broken.jl": "line 2: ",
        "broken.warc": "at byte 0",
        "http://127.0.0.1:1/": ":1",
    }
    said = pages(f"check pages/a.html {' '.join(bad)} pages/c.html --json")
    assert [json.loads(line)["kind"] for line in said.out.splitlines()] == [
        "revisit",
        "new",
        "revisit",
    ]
    assert (
        said.status,
        [part in line for part, line in zip(bad.values(), said.err.splitlines(), strict=True)],
    ) == (
        1,
        [True] * 3,
    )
    # No index begins with what cannot be read.
    assert pages("check broken.warc --store sqlite:///other.sqlite").status == 1
    assert not Path("other.sqlite").exists()


@pytest.mark.parametrize("command", ["check", "explain"])
def test_a_command_without_a_page_that_can_be_compared_tells_by_its_status(
    pages: Run, command: str
) -> None:
    pages("check pages/a.html")
    Path("picture.html").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(1000))
    said = pages(f"{command} picture.html")
    assert (said.status, "skipped (binary)" in said.out) == (1, True)
    assert pages(f"{command} picture.html pages/c.html").status == 0


def test_text_from_pages_cannot_reach_the_terminal_unescaped(run: Run) -> None:
    urls = ("https://a.example/\x1b]0;gotcha\x07[red]\r\n", "https://b.example/")
    Path("evil.jsonl").write_text(
        "\n".join(json.dumps({"url": url, "text": TIDES}) for url in urls)
    )
    out = run("check evil.jsonl").out
    assert ("\x1b" in out, "\x07" in out, "[red]" in out) == (False, False, True)


NO_INDEX = (
    "there is no index 'nwes' in sqlite:///crawldedup.sqlite: check the store and the namespace\n"
)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("find http://[::1", "http://[::1"),
        ("check --store rdis://localhost a.html", "redis://"),
        ("check --scope spider a.html", "scrapy dedup --spider"),
        ("info --store redis://127.0.0.1:1/0", "127.0.0.1:1"),
        *(
            (f"{command} --namespace nwes", NO_INDEX)
            for command in ("info", "find a.html", "forget x", "clear --yes")
        ),
        (
            "info --store sqlite:///not%20there/index.sqlite",
            "there is no index 'default' in sqlite:///not%20there/index",
        ),
        ("clear", "--yes"),
        ("chek a.html", "did you mean 'check'? (see crawldedup --help)"),
        ("check", "the following arguments are required: PAGE (see crawldedup check --help)"),
        ("check a.html --simlarity 0.8", "did you mean '--similarity'?"),
        # Its log consists of JSON lines anyway.
        ("serve --json", "unrecognized arguments: --json"),
        ("scan . --store memory://", "unrecognized arguments: --store memory:// (see"),
    ],
)
def test_mistakes_are_answered_with_one_line_and_change_nothing(
    pages: Run, monkeypatch: pytest.MonkeyPatch, arguments: str, message: str
) -> None:
    monkeypatch.chdir("pages")
    pages("check a.html")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    said = pages(arguments)
    assert (said.status, said.out, message in said.err, said.err.count("\n")) == (2, "", True, 1), (
        said.err
    )
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


def test_the_examples_of_the_help_are_allowed() -> None:
    examples = [line.strip() for line in EXAMPLES.splitlines()[1:]]
    for example in examples:
        program, *arguments = re.split(r"  +", example)[0].split()
        assert (program, parser().parse_args(arguments).command) == ("crawldedup", arguments[0])
    assert parser().format_help().endswith(EXAMPLES)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_closed_streams_do_no_harm(pages: Run, closed: str) -> None:
    command = f"exec {sys.executable} -m crawldedup.cli compare pages/a.html pages/b.html {closed}"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert (
        subprocess.run(
            ["bash", "-c", command], env=environment, capture_output=True, check=False
        ).returncode
        == 0
    )


def test_the_environment_names_the_store(pages: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRAWLDEDUP_STORE", "sqlite:///elsewhere.sqlite")
    pages("check pages")
    assert pages("info --store sqlite:///elsewhere.sqlite --json").values[0]["pages"] == 2
    monkeypatch.setenv("CRAWLDEDUP_STORE", "rdis://:secret@host")
    said = pages("info")
    assert (said.status, "CRAWLDEDUP_STORE is" in said.err, "secret" in said.err) == (
        2,
        True,
        False,
    )
    assert "secret" not in pages("info --help").out


def test_a_file_names_the_store(pages: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """This keeps the password out of command lines and environments."""
    monkeypatch.delenv("CRAWLDEDUP_STORE", raising=False)
    monkeypatch.setenv("CRAWLDEDUP_STORE_FILE", "store.url")
    said = pages("info")
    assert (said.status, "CRAWLDEDUP_STORE_FILE: store.url cannot be read" in said.err) == (2, True)
    Path("store.url").write_text("sqlite:///elsewhere.sqlite\n")
    pages("check pages")
    assert pages("info --store sqlite:///elsewhere.sqlite --json").values[0]["pages"] == 2
    # As compose files pass a variable on that is not set.
    monkeypatch.setenv("CRAWLDEDUP_STORE", "")
    assert pages("info --json").values[0]["pages"] == 2
    Path("store.url").write_text("\n")
    said = pages("info")
    assert (said.status, "CRAWLDEDUP_STORE_FILE: store.url is empty" in said.err) == (2, True)
    Path("store.url").write_text("rdis://:secret@host")
    said = pages("info")
    assert (said.status, "CRAWLDEDUP_STORE_FILE is" in said.err, "secret" in said.err) == (
        2,
        True,
        False,
    )


@pytest.mark.parametrize(
    "words",
    [
        "--store redis://:geheim@h/0 info",
        "info --stoer redis://:geheim@h/0",
        "info redis://:geheim@h/0",
        "check redis://:geheim@h/0 --store memory://",
        "check http://u:geheim@127.0.0.1:1/ --store memory://",
        "check http://u:geheim@127.0.0.1:1/ --store memory:// --json",
        "compare http://u:geheim@127.0.0.1:1/a http://u:geheim@127.0.0.1:1/b",
    ],
)
def test_no_slip_shows_a_password(run: Run, words: str) -> None:
    said = run(words)
    assert said.status != 0
    assert "***@" in said.out + said.err
    assert "geheim" not in said.out + said.err


class _Dripping(BaseHTTPRequestHandler):
    """Sends a byte now and then, in the head or in the body."""

    def do_GET(self) -> None:
        if self.path == "/body":
            self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
        for _ in range(200):
            with contextlib.suppress(OSError):
                self.wfile.write(b"a")
            time.sleep(0.05)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.mark.parametrize("path", ["head", "body"])
def test_an_answer_in_drops_is_given_up(
    run: Run, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawldedup.commands.web._FETCH_SECONDS", 0.5)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Dripping) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        begun = time.monotonic()
        said = run(f"check http://127.0.0.1:{server.server_address[1]}/{path} --store memory://")
        assert time.monotonic() - begun < 5
        assert (said.status, "takes longer than 0.5 s" in said.err) == (1, True)
        server.shutdown()


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("http://a.example/", "http://a.example/"),
        ('=HYPERLINK("http://evil.example/","x")', '\'=HYPERLINK("http://evil.example/","x")'),
        (" +1+cmd", "' +1+cmd"),
        ("|cmd", "'|cmd"),
        ("\uff1d1", "'\uff1d1"),
        ("-17", "-17"),
        (-17, -17),
        ("\x1b[31m", "\\x1b[31m"),
        ("\r\n=1", "\\r\\n=1"),
        ("", ""),
    ],
)
def test_a_csv_cell_cannot_be_a_formula_or_an_escape(value: object, cell: object) -> None:
    assert safe_cell(value) == cell


def test_check_tells_which_paragraphs_are_known(run: Run) -> None:
    own = "\x1b[31m[red]own " + " ".join(f"own{number}" for number in range(150))
    Path("a.html").write_text(html(story(1, 160)))
    Path("b.html").write_text(html(f"{story(1, 160)}</p><p>{own}"))
    source = Path("a.html").absolute().as_uri()
    out = run("check a.html b.html --paragraphs mark").out
    first, second, known, *_, new = out.splitlines()
    assert first == f"{source}: new"
    assert re.search(
        rf"b\.html: new, \d\d% of its words new, 1\d\d words on {re.escape(source)}$", second
    )
    assert re.match(rf" +known +\d+ words, on {re.escape(source)}: word1x0", known)
    assert re.match(r" +new +\d+ words: .*own", new)
    assert ("\x1b" in out, "[red]" in out) == (False, True)
