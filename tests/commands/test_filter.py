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
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crawldedup.cli import main
from crawldedup.commands import filtering, sources
from crawldedup.page import Page
from tests.servers import wait_until

COMMAND = [sys.executable, "-m", "crawldedup.cli", "filter"]
WORDS = [f"word{number}" for number in range(4000)]


def text(seed: int) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=300))


def items_of(*texts: str) -> list[dict[str, Any]]:
    return [{"url": f"https://e.example/{number}", "text": each, "price": "1.0"} for number, each in enumerate(texts)]


# Two pages have one URL; one has no text, one is too short to be compared with others, and one differs in a word.
ITEMS = items_of(text(0), text(1), text(2), text(0), text(1).replace(" ", " other ", 1), "", "short", text(1), text(8))
ITEMS[2]["url"], ITEMS[7]["url"] = ITEMS[0]["url"], ITEMS[1]["url"]
ITEMS[1]["price"], ITEMS[2]["price"], ITEMS[8]["price"] = 'Grüße,\n"so"', "", "\u2028 8"
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
    lines = [json.dumps(item, ensure_ascii=number % 2 == 0) for number, item in enumerate(items)]
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
    pq.write_table(pa.Table.from_pylist(items), made)
    return made.getvalue()


FORMS = {".jsonl": as_lines, ".json": as_array, ".csv": as_csv, ".parquet": as_parquet}
READERS: dict[str, Any] = {
    ".jsonl": lambda content: [json.loads(line) for line in content.split(b"\n") if line.strip()],
    ".json": json.loads,
    ".csv": lambda content: list(csv.DictReader(io.StringIO(content.decode(), newline=""))),
    ".parquet": lambda content: pq.read_table(io.BytesIO(content)).to_pylist(),
}


def items_in(path: Path) -> list[dict[str, Any]]:
    content, name = path.read_bytes(), path.name.lower()
    if name.endswith(".gz"):
        content, name = gzip.decompress(content), name.removesuffix(".gz")
    items: list[dict[str, Any]] = READERS[f".{name.split('.')[1]}"](content)
    return items


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = main(["filter", *map(str, arguments)])
    return status, *capsys.readouterr()


@pytest.mark.parametrize("target", ["out.jsonl", "out.json", "out.csv", "out.parquet", "out.jsonl.gz", "OUT.CSV.GZ"])
def test_items_stay_what_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str], target: str) -> None:
    form = f".{target.lower().split('.')[1]}"
    (tmp_path / f"feed{form}").write_bytes(FORMS[form](ITEMS))
    status, told, _ = run(capsys, tmp_path / f"feed{form}", "-o", tmp_path / target, "--json")
    assert (status, json.loads(told)) == (0, SUMMARY)
    assert items_in(tmp_path / target) == [ITEMS[number] for number in KEPT]
    assert len([*tmp_path.iterdir()]) == 2


def test_lines_members_and_rows_go_out_byte_for_byte(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def filtered(form: str, content: bytes, status: int = 0) -> bytes:
        (tmp_path / f"feed{form}").write_bytes(content)
        assert run(capsys, tmp_path / f"feed{form}", "-o", tmp_path / f"out{form}")[0] == status
        return (tmp_path / f"out{form}").read_bytes()

    lines = as_lines(ITEMS).splitlines(keepends=True)
    odd = b'{"url": "x", "text": "\xff\xfe ' + text(99).encode() + b'", "n": 1.50, "n": 2E3}'
    feed = b"\xef\xbb\xbf" + b"".join(lines) + b"\n{broken\n" + lines[8] + odd
    assert filtered(".jsonl", feed, 1) == b"".join([*(lines[number] for number in KEPT), b"{broken\n", odd, b"\n"])
    members = [json.dumps(item, indent=7).replace('"price": ', '"n": 1.50,\t"price": ') for item in ITEMS]
    kept = ",\n".join(members[number] for number in KEPT)
    assert filtered(".json", f"[{' , '.join(members)}\n]".encode()) == f"[\n{kept}\n]\n".encode()
    more = b'1,"a b",,more\r\n'
    rows = [as_csv(items, quoting=csv.QUOTE_ALL) + more for items in (ITEMS, [ITEMS[number] for number in KEPT])]
    assert filtered(".csv", rows[0]) == rows[1]


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
    inputs = [tmp_path / f"{name}{form}" for name in "ab"]
    for number, path in enumerate(inputs):
        path.write_bytes(FORMS[form]([*ITEMS[:5], ITEMS[2] | {"url": path.name, "text": text(30 + number)}]))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(as_lines([ITEMS[8], ITEMS[0]]))))
    more = ["-"] if form == ".jsonl" else []
    assert run(capsys, *inputs, *more, "-o", tmp_path / f"out{form}")[0] == 0
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
    assert sorted(tmp_path.iterdir()) == [first, second]


def test_what_is_left_out_is_written_down(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, dropped = tmp_path / "feed.jsonl", tmp_path / "dropped.jsonl"
    source.write_bytes(as_lines([*ITEMS, {"body": "an item without a page"}]))
    _, _, err = run(capsys, source, "-o", tmp_path / "out.jsonl", "--dropped", dropped)
    assert "10 items, 7 written, 3 left out (2 exact, 1 near, 0 known), 2 not compared" in err
    assert "https://e.example/5: kept without being compared (empty)" in err
    lines = items_in(dropped)
    assert [line["place"] for line in lines] == [f"{source}, line {number}" for number in (4, 5, 8)]
    assert [(line["url"][-1], line["kind"], line["original"][-1]) for line in lines] == [
        ("3", "exact_duplicate", "0"),
        ("4", "near_duplicate", "1"),
        ("1", "exact_duplicate", "1"),
    ]
    assert 0.9 < lines[1]["similarity"] < 1
    # Items without URLs are named by their places.
    source.write_text("".join(json.dumps({"body": text(number % 2)}) + "\n" for number in range(3)))
    names = ["-o", tmp_path / "out.jsonl", "--dropped", dropped, "--text-field", "body", "--force"]
    assert run(capsys, source, *names)[0] == 0
    (line,) = items_in(dropped)
    assert (line["url"], line["original"]) == (f"{source}, line 3", f"{source}, line 1")


def test_standard_output_takes_the_items_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "feed.jl").write_bytes(as_lines(ITEMS))
    status, out, err = run(capsys, tmp_path / "feed.jl", "-o", "-")
    assert [json.loads(line) for line in out.split("\n") if line] == [ITEMS[number] for number in KEPT]
    assert (status, "9 items, 6 written" in err) == (0, True)


@pytest.mark.usefixtures("own_keys")
@pytest.mark.parametrize("options", [[], ["--scope", "site"], ["--namespace", "other"]])
def test_what_an_index_knows_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    store, index = f"sqlite:///{tmp_path}/index.sqlite", tmp_path / "index.sqlite"
    (tmp_path / "feed.jsonl").write_bytes(as_lines(ITEMS))
    (tmp_path / "known.jsonl").write_bytes(as_lines([ITEMS[1], ITEMS[8] | {"url": "https://e.example/z"}]))
    assert main(["check", str(tmp_path / "known.jsonl"), "--store", store, *options]) == 0
    capsys.readouterr()
    before = index.read_bytes()
    files = [tmp_path / "feed.jsonl", "-o", tmp_path / "out.jsonl", "--dropped", tmp_path / "d.jsonl"]
    _, out, _ = run(capsys, *files, "--against", store, *options, "--json")
    assert json.loads(out) == SUMMARY | {"written": 4, "exact_duplicate": 1, "near_duplicate": 0, "known": 4}
    assert items_in(tmp_path / "out.jsonl") == [ITEMS[number] for number in (0, 2, 5, 6)]
    assert [line["original"][-1] for line in items_in(tmp_path / "d.jsonl") if line["known"]] == ["1", "1", "1", "z"]
    assert index.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("feed.jsonl -o there.jsonl", "there.jsonl is there already: name another file, or add --force"),
        ("feed.jsonl -o o.jsonl --dropped there.jsonl", "there.jsonl is there already"),
        ("feed.jsonl -o link.jsonl --force", "link.jsonl is read, and cannot be written as well"),
        ("feed.jsonl -o o.jsonl --dropped feed.jsonl --force", "feed.jsonl is read"),
        ("feed.jsonl -o o.jsonl --dropped pages.jsonl/../o.jsonl", "--output and --dropped both name"),
        ("feed.jsonl -o - --json", "--json writes to standard output itself"),
        ("feed.jsonl -o pages.jsonl --force", "pages.jsonl is there already, and is no file"),
        ("feed.jsonl -o no/o.jsonl", "there is no folder 'no'"),
        ("feed.jsonl -o o.parquet.gz", "tells no form"),
        ("feed.jsonl -o o.warc", "filter keeps the form"),
        ("feed.jsonl no.jsonl -o o.jsonl", "'no.jsonl' is no file"),
        ("page.html -o o.jsonl", "'page.html' is a file whose name tells no form"),
        ("pages.jsonl -o o.jsonl", "'pages.jsonl' is a folder"),
        ("- - -o o.jsonl", "standard input can be read only once"),
        ("feed.jsonl -o o.jsonl --text-field txt", "none of the first 10 items is a page"),
        ("broken.json -o o.json", "broken.json, item 1: this cannot be read"),
        ("feed.jsonl -o o.jsonl --against sqlite:///no.sqlite", "there is no index 'default'"),
        ("feed.jsonl -o o.jsonl --against memory://", "ends with the program"),
    ],
)
def test_mistakes_write_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in (
        ("feed.jsonl", as_lines(ITEMS)),
        ("there.jsonl", b"old"),
        ("page.html", b"<p>a"),
        ("broken.json", b"{}"),
    ):
        Path(name).write_bytes(content)
    Path("link.jsonl").symlink_to("feed.jsonl")
    Path("pages.jsonl").mkdir()
    before = {path: path.is_file() and path.read_bytes() for path in tmp_path.iterdir()}
    status, out, err = run(capsys, *arguments.split())
    assert (status, out, message in err, err.count("\n")) == (2, "", True, 1), err
    assert {path: path.is_file() and path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_file_is_replaced_by_force_and_through_a_link(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "feed.jsonl").write_bytes(as_lines(ITEMS))
    (tmp_path / "real.jsonl").write_text("old")
    (tmp_path / "link.jsonl").symlink_to("real.jsonl")
    assert run(capsys, tmp_path / "feed.jsonl", "-o", tmp_path / "link.jsonl", "--force")[0] == 0
    assert ((tmp_path / "link.jsonl").is_symlink(), len(items_in(tmp_path / "real.jsonl"))) == (True, len(KEPT))


def test_what_stands_before_a_cut_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    items = items_of(*map(text, range(60)))
    packed = gzip.compress(as_lines(items))
    (tmp_path / "feed.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    # A line that is too long costs itself alone.
    monkeypatch.setattr(sources, "MOST_BYTES", 10_000)
    (tmp_path / "next.jsonl").write_bytes(as_lines(items_of("x" * 20_000)) + as_lines(items[-1:]))
    status, _, err = run(capsys, tmp_path / "feed.jsonl.gz", tmp_path / "next.jsonl", "-o", tmp_path / "out.jsonl")
    assert (status, (tmp_path / "out.jsonl").exists()) == (1, False)
    *found, last = READERS[".jsonl"]((tmp_path / "out.jsonl.partial").read_bytes())
    assert 20 < len(found) < 40
    assert [*found, last] == [*items[: len(found)], items[-1]]
    for message in ("cannot be decompressed any further", "line 1: this is not JSON", "what could be read is in"):
        assert err.count(message) == 1


def test_a_full_disk_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "feed.jsonl").write_bytes(as_lines(items_of(*map(text, range(200)))))

    def full() -> None:
        # Python ignores the signal, so that writing fails as on a full disk.
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    command = [*COMMAND, "feed.jsonl", "-o", "out.jsonl"]
    done = subprocess.run(command, cwd=tmp_path, preexec_fn=full, capture_output=True, text=True, check=False)
    assert (done.returncode, f"'{tmp_path / 'out.jsonl'}'" in done.stderr, done.stderr.count("\n")) == (2, True, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["feed.jsonl"]


@pytest.mark.parametrize(("stop", "remains"), [(signal.SIGINT, 0), (signal.SIGKILL, 1)])
def test_what_is_killed_leaves_no_file_of_that_name(tmp_path: Path, stop: int, remains: int) -> None:
    # A program in the background starts without Ctrl-C, and so do its children.
    process = subprocess.Popen(
        [*COMMAND, "-", "-o", "out.jsonl"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    with process:
        assert process.stdin is not None
        process.stdin.write(as_lines(ITEMS[:1]))
        process.stdin.flush()
        wait_until(lambda: [*tmp_path.glob(".*.part")])
        os.kill(process.pid, stop)
    assert [path.suffix for path in tmp_path.iterdir()] == [".part"] * remains


def test_a_long_feed_is_decided_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold no more than a batch, however many items have no page."""
    monkeypatch.setattr(filtering, "_BATCH_LETTERS", 10_000)
    taken = 0

    def items() -> Any:
        nonlocal taken
        for number in range(5000):
            taken += 1
            page = Page("", text=text(number)) if number % 1000 < 20 else None
            yield sources.Item("", number, page)

    for batch in filtering.batches(items()):
        assert batch[0].raw < taken <= batch[0].raw + 101
        assert sum(len(item.page.text) for item in batch if item.page) < 20_000
    assert taken == 5000
