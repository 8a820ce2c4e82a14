"""`crawldedup filter` on feeds; web archives are in test_filter_archives.py."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crawldedup.cli import main
from crawldedup.commands import filtering, sources
from crawldedup.page import Page

WORDS = [f"word{number}" for number in range(4000)]


def text(seed: int) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=300))


def near(seed: int) -> str:
    """Return a text of which all but one word are those of another."""
    return text(seed).replace(" ", " other ", 1)


# Two pages have one URL; one has no text, and one is too short to be compared with others.
ITEMS: list[dict[str, Any]] = [
    {"url": "https://e.example/0", "text": text(0), "price": "1.0"},
    {"url": "https://e.example/1", "text": text(1), "price": 'Grüße,\n"so"'},
    {"url": "https://e.example/0", "text": text(2), "price": ""},
    {"url": "https://e.example/3", "text": text(0), "price": "3"},
    {"url": "https://e.example/4", "text": near(1), "price": "4"},
    {"url": "https://e.example/5", "text": "", "price": "5"},
    {"url": "https://e.example/6", "text": "short", "price": "6"},
    {"url": "https://e.example/1", "text": text(1), "price": "7"},
    {"url": "https://e.example/8", "text": text(8), "price": "\u2028 8"},
]
KEPT = [0, 1, 2, 5, 6, 8]
SUMMARY = {
    "items": 9,
    "written": 6,
    "exact_duplicate": 2,
    "near_duplicate": 1,
    "known": 0,
    "thin": 1,
    "not_compared": 1,
}


def as_lines(items: list[dict[str, Any]]) -> bytes:
    """Return JSON lines of different looks."""
    lines = [json.dumps(item, ensure_ascii=number % 2 == 0, indent=None) for number, item in enumerate(items)]
    return "".join(f"{line}{' ' * number}\r\n" for number, line in enumerate(lines)).encode()


def as_array(items: list[dict[str, Any]]) -> bytes:
    return json.dumps(items, ensure_ascii=False, indent=3).encode()


def as_csv(items: list[dict[str, Any]], **dialect: Any) -> bytes:
    made = io.StringIO()
    writer = csv.DictWriter(made, list(ITEMS[0]), **dialect)
    writer.writeheader()
    writer.writerows(items)
    return made.getvalue().encode()


def as_parquet(items: list[dict[str, Any]]) -> bytes:
    made = io.BytesIO()
    schema = pa.schema([(name, pa.string()) for name in ITEMS[0]], metadata={"made": "by a test"})
    pq.write_table(pa.Table.from_pylist(items, schema=schema), made)
    return made.getvalue()


FORMS = {".jsonl": as_lines, ".json": as_array, ".csv": as_csv, ".parquet": as_parquet}


def items_in(path: Path) -> list[dict[str, Any]]:
    content = path.read_bytes()
    name = path.name
    if name.endswith(".gz"):
        content, name = gzip.decompress(content), name.removesuffix(".gz")
    if name.endswith(".jsonl"):
        return [json.loads(line) for line in content.split(b"\n") if line.strip()]
    if name.endswith(".json"):
        read: list[dict[str, Any]] = json.loads(content)
        return read
    if name.endswith(".csv"):
        return list(csv.DictReader(io.StringIO(content.decode(), newline="")))
    return pq.read_table(io.BytesIO(content)).to_pylist()  # type: ignore[no-any-return]


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = main(["filter", *map(str, arguments)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.endswith(".part")]


@pytest.mark.parametrize("target", ["out.jsonl", "out.json", "out.csv", "out.parquet", "out.jsonl.gz", "OUT.CSV.GZ"])
def test_items_stay_what_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str], target: str) -> None:
    form = f".{target.lower().split('.')[1]}"
    source, out = tmp_path / f"feed{form}", tmp_path / target
    source.write_bytes(FORMS[form](ITEMS))
    status, told, _ = run(capsys, source, "-o", out, "--json")
    assert status == 0
    assert json.loads(told) == SUMMARY
    found = items_in(out.rename(tmp_path / target.lower()))
    assert found == [ITEMS[number] for number in KEPT]
    assert not leftovers(tmp_path)


def test_lines_go_out_byte_for_byte(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = as_lines(ITEMS).splitlines(keepends=True)
    odd = b'{"url": "x", "text": "\xff\xfe ' + text(99).encode() + b'", "n": 1.50, "n": 2E3}\n'
    source, out = tmp_path / "feed.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(b"\xef\xbb\xbf" + b"".join(lines) + b"\n{broken\n" + odd + lines[8].rstrip())
    status, _, err = run(capsys, source, "-o", out)
    assert status == 1
    assert "line 11: this is not JSON" in err
    assert out.read_bytes() == b"".join([*(lines[number] for number in KEPT), b"{broken\n", odd])


def test_members_and_rows_go_out_as_they_stood(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    members = [json.dumps(item, indent=7).replace('"price": ', '"n": 1.50,\t"price": ') for item in ITEMS]
    (tmp_path / "feed.json").write_text(f"[{' , '.join(members)}\n]")
    run(capsys, tmp_path / "feed.json", "-o", tmp_path / "out.json")
    kept = ",\n".join(members[number] for number in KEPT)
    assert (tmp_path / "out.json").read_text() == f"[\n{kept}\n]\n"
    rows = as_csv(ITEMS, quoting=csv.QUOTE_ALL)
    (tmp_path / "feed.csv").write_bytes(rows)
    run(capsys, tmp_path / "feed.csv", "-o", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == as_csv([ITEMS[number] for number in KEPT], quoting=csv.QUOTE_ALL)


def test_a_table_keeps_its_schema_and_its_types(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = pa.table(
        {
            "url": pa.array([item["url"] for item in ITEMS], pa.large_string()),
            "text": pa.array([item["text"] for item in ITEMS]).dictionary_encode(),
            "tags": pa.array([[{"n": number}] for number in range(len(ITEMS))]),
            "when": pa.array(range(len(ITEMS)), pa.timestamp("ms", "UTC")),
        }
    ).replace_schema_metadata({"made": "by a test"})
    pq.write_table(table, tmp_path / "feed.parquet", row_group_size=4)
    assert run(capsys, tmp_path / "feed.parquet", tmp_path / "feed.parquet", "-o", tmp_path / "out.parquet")[0] == 0
    # Of the second time, the page that cannot be compared is kept again.
    expected = pq.read_table(tmp_path / "feed.parquet").take([*KEPT, 5])
    assert pq.read_table(tmp_path / "out.parquet").equals(expected, check_metadata=True)


@pytest.mark.parametrize("form", FORMS)
def test_several_inputs_are_one_feed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    sources = [tmp_path / f"{name}{form}" for name in "ab"]
    for number, source in enumerate(sources):
        source.write_bytes(FORMS[form]([*ITEMS[:5], ITEMS[2] | {"url": source.name, "text": text(30 + number)}]))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(as_lines([ITEMS[8], ITEMS[0]]))))
    more = ["-"] if form == ".jsonl" else []
    assert run(capsys, *sources, *more, "-o", tmp_path / f"out{form}")[0] == 0
    urls = [item["url"].removeprefix("https://e.example/") for item in items_in(tmp_path / f"out{form}")]
    assert urls == ["0", "1", "0", f"a{form}", f"b{form}", *(["8"] if more else [])]


# pyarrow shows a traceback for a table that was begun and not closed.
@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("form", [".csv", ".parquet"])
def test_a_feed_with_other_columns_ends_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    first, second = tmp_path / f"a{form}", tmp_path / f"b{form}"
    first.write_bytes(FORMS[form](ITEMS[:2]))
    table = pa.table({"text": [text(20)], "url": ["x"]})
    pq.write_table(table, second) if form == ".parquet" else second.write_text(f"text,url\n{text(20)},x\n")
    monkeypatch.setattr(sources, "_ROWS", 1)
    status, _, err = run(capsys, first, second, "-o", tmp_path / f"out{form}")
    assert (status, "the columns are not those of the first file" in err) == (2, True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [first.name, second.name]


def test_a_row_with_too_many_cells_stays_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = f",url,text\n0,a,{text(1)}\n1,b,{text(2)},more\n"
    (tmp_path / "a.csv").write_text(f"{rows}2,c,{text(1)}\n")
    assert run(capsys, tmp_path / "a.csv", "-o", tmp_path / "out.csv")[0] == 0
    assert (tmp_path / "out.csv").read_text() == rows


def test_what_is_left_out_is_written_down(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, dropped = tmp_path / "feed.jsonl", tmp_path / "dropped.jsonl"
    source.write_bytes(as_lines(ITEMS))
    _, _, err = run(capsys, source, "-o", tmp_path / "out.jsonl", "--dropped", dropped)
    assert "9 items, 6 written, 3 left out (2 exact, 1 near, 0 known), 1 not compared" in err
    assert "line 6" not in err
    assert "https://e.example/5: kept without being compared (empty)" in err
    lines = items_in(dropped)
    assert [line["place"] for line in lines] == [f"{source}, line {number}" for number in (4, 5, 8)]
    assert [(line["url"], line["kind"], line["original"]) for line in lines] == [
        ("https://e.example/3", "exact_duplicate", "https://e.example/0"),
        ("https://e.example/4", "near_duplicate", "https://e.example/1"),
        ("https://e.example/1", "exact_duplicate", "https://e.example/1"),
    ]
    assert 0.9 < lines[1]["similarity"] < 1


def test_items_without_urls_are_named_by_their_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "feed.jsonl"
    source.write_text("".join(json.dumps({"body": text(number % 2)}) + "\n" for number in range(3)))
    arguments = [source, "--text-field", "body", "-o", tmp_path / "out.jsonl", "--dropped", tmp_path / "d.jsonl"]
    assert run(capsys, *arguments)[0] == 0
    (line,) = items_in(tmp_path / "d.jsonl")
    assert (line["url"], line["original"]) == (f"{source}, line 3", f"{source}, line 1")


def test_standard_output_takes_the_items_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "feed.jl").write_bytes(as_lines(ITEMS))
    status, out, err = run(capsys, tmp_path / "feed.jl", "-o", "-")
    assert status == 0
    assert [json.loads(line) for line in out.split("\n") if line] == [ITEMS[number] for number in KEPT]
    assert "9 items, 6 written" in err
    status, out, err = run(capsys, tmp_path / "feed.jl", "-o", "-", "--json")
    assert (status, out) == (2, "")
    assert "--json" in err


@pytest.mark.usefixtures("own_keys")
@pytest.mark.parametrize("options", [[], ["--scope", "site"], ["--namespace", "other"]])
def test_what_an_index_knows_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    store, source = f"sqlite:///{tmp_path}/index.sqlite", tmp_path / "feed.jsonl"
    source.write_bytes(as_lines(ITEMS))
    (tmp_path / "known.jsonl").write_bytes(as_lines([ITEMS[1], ITEMS[8] | {"url": "https://e.example/z"}]))
    assert main(["check", str(tmp_path / "known.jsonl"), "--store", store, *options]) == 0
    capsys.readouterr()
    before = (tmp_path / "index.sqlite").read_bytes()
    arguments = [source, "--against", store, *options, "-o", tmp_path / "out.jsonl", "--dropped", tmp_path / "d.jsonl"]
    status, out, _ = run(capsys, *arguments, "--json")
    assert status == 0
    assert json.loads(out) == SUMMARY | {"written": 4, "exact_duplicate": 1, "near_duplicate": 0, "known": 4}
    assert items_in(tmp_path / "out.jsonl") == [ITEMS[number] for number in (0, 2, 5, 6)]
    assert [line["original"][-1] for line in items_in(tmp_path / "d.jsonl") if line["known"]] == ["1", "1", "1", "z"]
    assert (tmp_path / "index.sqlite").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["feed.jsonl", "-o", "there.jsonl"], "there.jsonl is there already: name another file, or add --force"),
        (["feed.jsonl", "-o", "o.jsonl", "--dropped", "there.jsonl"], "there.jsonl is there already"),
        (["feed.jsonl", "-o", "feed.jsonl", "--force"], "feed.jsonl is read, and cannot be written as well"),
        (["feed.jsonl", "-o", "link.jsonl", "--force"], "link.jsonl is read, and cannot be written as well"),
        (["feed.jsonl", "-o", "o.jsonl", "--dropped", "feed.jsonl", "--force"], "feed.jsonl is read"),
        (["feed.jsonl", "-o", "o.jsonl", "--dropped", "./o.jsonl"], "--output and --dropped both name"),
        (["feed.jsonl", "-o", "-", "--dropped", "-"], "--output and --dropped both name '-'"),
        (["feed.jsonl", "-o", "/dev/null", "--force"], "tells no form"),
        (["feed.jsonl", "-o", "pages.jsonl", "--force"], "pages.jsonl is there already, and is no file"),
        (["feed.jsonl", "-o", "no/o.jsonl"], "there is no folder 'no'"),
        (["feed.jsonl", "-o", "o.txt"], "'o.txt', whose name tells no form"),
        (["feed.jsonl", "-o", "o.parquet.gz"], "tells no form"),
        (["feed.jsonl", "-o", "o.warc"], "filter keeps the form"),
        (["feed.jsonl", "no.jsonl", "-o", "o.jsonl"], "'no.jsonl' is no file"),
        (["page.html", "-o", "o.jsonl"], "'page.html' is a file whose name tells no form"),
        (["pages.jsonl", "-o", "o.jsonl"], "'pages.jsonl' is a folder"),
        (["-", "-", "-o", "o.jsonl"], "standard input can be read only once"),
        (["feed.jsonl", "-o", "o.jsonl", "--text-field", "txt"], "none of the first 10 items is a page"),
        (["broken.json", "-o", "o.json"], "broken.json, item 1: this cannot be read"),
        (["feed.jsonl", "-o", "o.jsonl", "--against", "sqlite:///no.sqlite"], "there is no index 'default'"),
        (["feed.jsonl", "-o", "o.jsonl", "--against", "memory://"], "ends with the program"),
    ],
)
def test_mistakes_write_nothing(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("feed.jsonl").write_bytes(as_lines(ITEMS))
    Path("there.jsonl").write_text("precious")
    Path("link.jsonl").symlink_to("feed.jsonl")
    Path("page.html").write_text("<p>a")
    Path("broken.json").write_text("{}")
    Path("pages.jsonl").mkdir()
    before = {path: path.is_file() and path.read_bytes() for path in tmp_path.iterdir()}
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
    assert {path: path.is_file() and path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_file_is_replaced_by_force_and_through_a_link(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "feed.jsonl").write_bytes(as_lines(ITEMS))
    (tmp_path / "real.jsonl").write_text("old")
    (tmp_path / "link.jsonl").symlink_to("real.jsonl")
    assert run(capsys, tmp_path / "feed.jsonl", "-o", tmp_path / "link.jsonl", "--force")[0] == 0
    assert (tmp_path / "link.jsonl").is_symlink()
    assert len(items_in(tmp_path / "real.jsonl")) == len(KEPT)


def test_what_stands_before_a_cut_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    items = [{"url": str(number), "text": text(number)} for number in range(60)]
    packed = gzip.compress(as_lines(items))
    (tmp_path / "feed.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "next.jsonl").write_bytes(as_lines(items[-1:]))
    status, _, err = run(capsys, tmp_path / "feed.jsonl.gz", tmp_path / "next.jsonl", "-o", tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()
    assert "what could be read is in" in err
    *found, last = items_in((tmp_path / "out.jsonl.partial").rename(tmp_path / "partial.jsonl"))
    assert 20 < len(found) < 40
    assert found == items[: len(found)]
    assert last == items[-1]
    assert status == 1
    assert err.count("cannot be decompressed any further") == 1


def test_a_line_that_is_too_long_costs_itself_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MOST_BYTES", 10_000)
    lines = [as_lines([item]) for item in (ITEMS[0], {"url": "long", "text": "x" * 20_000}, ITEMS[1])]
    (tmp_path / "feed.jsonl").write_bytes(b"".join(lines))
    status, out, err = run(capsys, tmp_path / "feed.jsonl", "-o", tmp_path / "out.jsonl", "--json")
    assert (status, json.loads(out)["items"]) == (1, 2)
    assert "line 2: this is not JSON: a line must be shorter than 10,000 bytes" in err
    assert (tmp_path / "out.jsonl").read_bytes() == lines[0] + lines[2]


def test_of_many_pages_that_are_not_compared_the_number_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "feed.jsonl").write_text(json.dumps({"url": "a", "text": text(0)}) + '\n{"url": "b", "text": ""}' * 50)
    status, out, err = run(capsys, tmp_path / "feed.jsonl", "-o", tmp_path / "out.jsonl", "--json")
    assert (status, json.loads(out)["not_compared"], len(items_in(tmp_path / "out.jsonl"))) == (0, 50, 51)
    assert err.count("kept without being compared (empty)") == 10
    assert "40 further pages kept without being compared" in err


@pytest.mark.parametrize(
    "name",
    [
        "out.jsonl",
        *(pytest.param(f"out.{form}", marks=pytest.mark.nightly) for form in ("jsonl.gz", "csv", "parquet")),
    ],
)
def test_a_full_disk_is_said_and_leaves_nothing(tmp_path: Path, name: str) -> None:
    items = [{"url": str(number), "text": text(number)} for number in range(900)]
    form = f".{name.split('.')[1]}"
    feed = [{**ITEMS[0], **item} for item in items]
    (tmp_path / f"feed{form}").write_bytes(FORMS[form](feed))

    def full() -> None:
        # Python ignores the signal, so that writing fails as on a full disk.
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    command = [sys.executable, "-m", "crawldedup.cli", "filter", f"feed{form}", "-o", name]
    done = subprocess.run(command, cwd=tmp_path, preexec_fn=full, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"'{tmp_path / name}'" in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [f"feed{form}"]


def heeds_ctrl_c() -> None:
    """Take Ctrl-C as from a terminal: a program in the background starts without it, and so do its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_what_is_killed_leaves_no_file_of_that_name(tmp_path: Path) -> None:
    items = as_lines([{"url": "a", "text": text(0)}])
    command = [sys.executable, "-m", "crawldedup.cli", "filter", "-", "-o", "out.jsonl"]
    for stop, remains in ((signal.SIGINT, 0), (signal.SIGKILL, 1)):
        process = subprocess.Popen(
            command, cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=heeds_ctrl_c
        )
        assert process.stdin is not None
        process.stdin.write(items)
        process.stdin.flush()
        deadline = time.monotonic() + 60
        while not leftovers(tmp_path) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(leftovers(tmp_path)) == 1
        os.kill(process.pid, stop)
        process.wait()
        process.stdin.close()
        assert not (tmp_path / "out.jsonl").exists()
        assert len(leftovers(tmp_path)) == remains


def test_a_long_feed_is_decided_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold no more than a batch, however many items have no page."""
    monkeypatch.setattr(filtering, "_BATCH_LETTERS", 10_000)
    taken = 0

    def items() -> Any:
        nonlocal taken
        for number in range(5000):
            taken += 1
            page = Page("", text=text(number)) if number % 1000 == 0 else None
            yield sources.Item("", number, page)

    for batch in filtering.batches(items()):
        assert batch[0].raw < taken <= batch[0].raw + 101
    assert taken == 5000
