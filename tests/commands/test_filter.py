"""`crawldedup filter` on feeds; web archives are in test_filter_archives.py."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crawldedup.commands import feeds
from crawldedup.scan.run import Results
from tests.commands.conftest import Run
from tests.servers import wait_until

COMMAND = [sys.executable, "-m", "crawldedup.cli", "filter"]
WORDS = [f"word{number}" for number in range(4000)]


def text(seed: int) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=300))


def items_of(*texts: str) -> list[dict[str, Any]]:
    return [
        {"url": f"https://e.example/{number}", "text": each, "price": "1.0"}
        for number, each in enumerate(texts)
    ]


# Two pages have one URL; one has no text, one is too short to be compared with others, and one
# differs in a word.
ITEMS = items_of(
    text(0),
    text(1),
    text(2),
    text(0),
    text(1).replace(" ", " other ", 1),
    "",
    "short",
    text(1),
    text(8),
)
ITEMS[2]["url"], ITEMS[7]["url"] = ITEMS[0]["url"], ITEMS[1]["url"]
ITEMS[1]["price"], ITEMS[2]["price"], ITEMS[8]["price"] = 'Grüße,\n"so"', "", "\u2028 8"
KEPT = [ITEMS[number] for number in (0, 1, 2, 5, 6, 8)]
COPIES = {"exact_duplicate": 2, "near_duplicate": 1, "known": 0}
SUMMARY = {"items": 9, "written": 6, **COPIES, "thin": 1, "not_compared": 1}


def as_lines(items: list[dict[str, Any]]) -> bytes:
    """Return JSON lines of different looks."""
    lines = [json.dumps(item, ensure_ascii=number % 2 == 0) for number, item in enumerate(items)]
    return "".join(f"{line}{' ' * number}\r\n" for number, line in enumerate(lines)).encode()


def as_csv(items: list[dict[str, Any]], separator: str = ",") -> bytes:
    made = io.StringIO()
    writer = csv.DictWriter(made, list(ITEMS[0]), quoting=csv.QUOTE_ALL, delimiter=separator)
    writer.writeheader()
    writer.writerows(items)
    return made.getvalue().encode()


def lines_in(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.split(b"\n") if line.strip()]


def items_in(name: str) -> list[dict[str, Any]]:
    return lines_in(Path(name).read_bytes())


@pytest.fixture
def feed(run: Run) -> Run:
    """The function that runs a command line, in a folder with a feed."""
    Path("feed.jsonl").write_bytes(as_lines(ITEMS))
    return run


def test_lines_members_and_rows_go_out_byte_for_byte(run: Run) -> None:
    def filtered(form: str, content: bytes, status: int = 0) -> bytes:
        pack, unpack = (
            (gzip.compress, gzip.decompress) if form.lower().endswith(".gz") else (bytes, bytes)
        )
        Path(f"feed{form}").write_bytes(pack(content))
        assert run(f"filter feed{form} -o out{form}").status == status
        return unpack(Path(f"out{form}").read_bytes())

    lines = as_lines(ITEMS).splitlines(keepends=True)
    odd = b'{"url": "x", "text": "\xff\xfe ' + text(99).encode() + b'", "n": 1.50, "n": 2E3}'
    kept = b"".join(line for line, item in zip(lines, ITEMS, strict=True) if item in KEPT)
    content = b"\xef\xbb\xbf" + b"".join(lines) + b"\n{broken\n" + lines[8] + odd
    for form in (".jsonl", ".jsonl.gz"):
        assert filtered(form, content, 1) == kept + b"{broken\n" + odd + b"\n"
    members, left = (
        [json.dumps(item, indent=7).replace("{", '{"n": 1.50,\t') for item in each]
        for each in (ITEMS, KEPT)
    )
    assert (
        filtered(".json", f"[{' , '.join(members)}\n]".encode())
        == ("[\n" + ",\n".join(left) + "\n]\n").encode()
    )
    too_many_cells = b'"1",a b,,more\r\n'
    for form in (".csv", ".CSV.GZ"):
        assert filtered(form, as_csv(ITEMS) + too_many_cells) == as_csv(KEPT) + too_many_cells
    for form, separator in ((".Csv", ";"), (".CSV", "\t")):
        assert filtered(form, as_csv(ITEMS, separator)) == as_csv(KEPT, separator)


def test_a_table_keeps_its_schema_and_its_types(run: Run) -> None:
    table = pa.table(
        {
            "url": pa.array([item["url"] for item in ITEMS], pa.large_string()),
            "text": pa.array([item["text"] for item in ITEMS]).dictionary_encode(),
            "tags": pa.array([[{"n": number}] for number in range(len(ITEMS))]),
            "when": pa.array(range(len(ITEMS)), pa.timestamp("ms", "UTC")),
        }
    ).replace_schema_metadata({"made": "by a test"})
    pq.write_table(table, "feed.parquet", row_group_size=4)
    assert run("filter feed.parquet feed.parquet -o out.parquet").status == 0
    # Of the second time, the page that cannot be compared is kept again.
    expected = pq.read_table("feed.parquet").take([0, 1, 2, 5, 6, 8, 5])
    assert pq.read_table("out.parquet").equals(expected, check_metadata=True)


# pyarrow shows a traceback for a table that was begun and not closed.
@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_feed_with_other_columns_ends_the_run(
    run: Run, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setattr(feeds, "_ROWS", 1)
    for name, items in (("a", ITEMS[:2]), ("b", [{"text": text(20), "url": "x"}])):
        pq.write_table(pa.Table.from_pylist(items), f"{name}.parquet")
        Path(f"{name}.csv").write_text(
            ",".join(items[0]) + "\n" + ",".join(items[0].values()) + "\n"
        )
    before = {*Path().iterdir()}
    said = run(f"filter a.{form} b.{form} -o out.{form}")
    assert (said.status, "the columns differ from those of the first file" in said.err) == (2, True)
    assert {*Path().iterdir()} == before


def test_what_is_left_out_is_written_down(feed: Run) -> None:
    with Path("feed.jsonl").open("a") as more:
        more.write('{"body": "an item without a page"}')
    err = feed("filter feed.jsonl -o out.jsonl --dropped dropped.jsonl").err
    assert "10 items, 7 written, 3 left out (2 exact, 1 near, 0 known), 2 not compared" in err
    assert "https://e.example/5: kept without being compared (empty)" in err
    lines = items_in("dropped.jsonl")
    assert [
        (line["place"][-6:], line["url"][-1], line["kind"], line["original"][-1]) for line in lines
    ] == [
        ("line 4", "3", "exact_duplicate", "0"),
        ("line 5", "4", "near_duplicate", "1"),
        ("line 8", "1", "exact_duplicate", "1"),
    ]
    assert 0.9 < lines[1]["similarity"] < 1
    # Items without URLs are named by their places.
    Path("a.jsonl").write_text(
        "".join(json.dumps({"body": text(number % 2)}) + "\n" for number in range(3))
    )
    feed("filter a.jsonl --text-field body -o out.jsonl --dropped dropped.jsonl --force")
    (line,) = items_in("dropped.jsonl")
    assert (line["url"], line["original"]) == ("a.jsonl, line 3", "a.jsonl, line 1")


def test_standard_output_takes_the_figures_or_the_items_alone(feed: Run) -> None:
    assert feed("filter feed.jsonl -o out.jsonl --json").values == [SUMMARY]
    said = feed("filter feed.jsonl -o -")
    assert lines_in(said.out.encode()) == KEPT
    assert (said.status, "9 items, 6 written" in said.err) == (0, True)


@pytest.mark.usefixtures("own_keys")
@pytest.mark.parametrize("options", ["", "--scope site", "--namespace other"])
def test_what_an_index_knows_is_left_out(feed: Run, options: str) -> None:
    Path("known.jsonl").write_bytes(as_lines([ITEMS[1], ITEMS[8] | {"url": "https://e.example/z"}]))
    assert feed(f"check known.jsonl --store sqlite:///index.sqlite {options}").status == 0
    before = Path("index.sqlite").read_bytes()
    line = (
        f"filter feed.jsonl --against sqlite:///index.sqlite {options} -o out.jsonl --dropped "
        "d.jsonl --json"
    )
    expected = SUMMARY | {"written": 4, "exact_duplicate": 1, "near_duplicate": 0, "known": 4}
    assert feed(line).values == [expected]
    assert items_in("out.jsonl") == [ITEMS[number] for number in (0, 2, 5, 6)]
    assert [line["original"][-1] for line in items_in("d.jsonl") if line["known"]] == [
        "1",
        "1",
        "1",
        "z",
    ]
    assert Path("index.sqlite").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "feed.jsonl -o there.jsonl",
            "there.jsonl already exists: name another file, or add --force",
        ),
        ("feed.jsonl -o link.jsonl --force", "link.jsonl is also read, so it cannot be written"),
        ("feed.jsonl -o o.jsonl --dropped feed.jsonl --force", "feed.jsonl is also read"),
        (
            "feed.jsonl -o o.jsonl --dropped pages.jsonl/../o.jsonl",
            "--output and --dropped both name",
        ),
        ("feed.jsonl -o - --json", "--json writes to standard output itself"),
        ("feed.jsonl -o pages.jsonl --force", "pages.jsonl already exists, and is not a file"),
        ("feed.jsonl -o o.warc", "filter cannot change the format"),
        ("feed.jsonl -o o.jsonl --text-field txt", "none of the first 10 items is a page"),
        ("feed.jsonl -o o.jsonl --against memory://", "ends with the program"),
    ],
)
def test_mistakes_write_nothing(feed: Run, arguments: str, message: str) -> None:
    Path("there.jsonl").write_text("old")
    Path("link.jsonl").symlink_to("feed.jsonl")
    Path("pages.jsonl").mkdir()
    before = {path: path.is_file() and path.read_bytes() for path in Path().iterdir()}
    said = feed(f"filter {arguments}")
    assert (said.status, said.out, message in said.err, said.err.count("\n")) == (2, "", True, 1), (
        said.err
    )
    assert {path: path.is_file() and path.read_bytes() for path in Path().iterdir()} == before


def test_of_several_inputs_what_stands_before_a_cut_is_written(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = items_of(*map(text, range(60)))
    packed = gzip.compress(as_lines(items))
    Path("feed.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    # A line that is too long costs itself alone.
    monkeypatch.setattr(feeds, "MOST_BYTES", 10_000)
    Path("next.jsonl").write_bytes(as_lines(items_of("x" * 20_000)) + as_lines(items[-2:-1]))
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BytesIO(as_lines([*items[:1], *items[-1:]])))
    )
    said = run("filter feed.jsonl.gz next.jsonl - -o out.jsonl")
    assert (said.status, Path("out.jsonl").exists()) == (1, False)
    *found, _, _ = kept = lines_in(Path("out.jsonl.partial").read_bytes())
    assert 20 < len(found) < 40
    assert kept == items[: len(found)] + items[-2:]
    for message in (
        "cannot be decompressed any further",
        "line 1: this is not JSON",
        "what could be read is in",
    ):
        assert said.err.count(message) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (as_csv(ITEMS), "standard input is CSV, but only JSON lines are filtered from there"),
        (as_csv(ITEMS, ";"), "standard input is CSV"),
        (json.dumps(ITEMS).encode(), "standard input is JSON, but only JSON lines"),
        (gzip.compress(as_lines(ITEMS)), "standard input is compressed by gzip"),
    ],
)
def test_standard_input_of_another_format_is_refused_with_its_name(
    run: Run, monkeypatch: pytest.MonkeyPatch, content: bytes, message: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    said = run("filter - -o out.jsonl")
    assert (said.status, message in said.err) == (2, True)
    assert not Path("out.jsonl").exists()


def test_a_feed_that_changes_while_it_is_read_is_not_written(
    feed: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Results.of

    def change(*arguments: Any, **options: Any) -> Results:
        Path("feed.jsonl").write_bytes(as_lines(ITEMS[::-1]))
        return found(*arguments, **options)

    monkeypatch.setattr(Results, "of", change)
    said = feed("filter feed.jsonl -o out.jsonl --dropped dropped.jsonl")
    assert (said.status, "has changed while it was read" in said.err) == (2, True)
    assert [path.name for path in Path().iterdir()] == ["feed.jsonl"]


@pytest.mark.parametrize(
    ("stop", "remains"), [(signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGKILL, 1)]
)
def test_what_is_killed_leaves_no_file_of_that_name(
    tmp_path: Path, stop: int, remains: int
) -> None:
    def heed_ctrl_c() -> None:
        # A program in the background starts without it, and so do its children.
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    command, quiet = [*COMMAND, "-", "-o", "out.jsonl"], subprocess.DEVNULL
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stderr=quiet, preexec_fn=heed_ctrl_c
    ) as process:
        assert process.stdin is not None
        process.stdin.write(as_lines(ITEMS[:1]))
        process.stdin.flush()
        wait_until(lambda: [*tmp_path.glob(".*.part")])
        os.kill(process.pid, stop)
    assert [path.suffix for path in tmp_path.iterdir()] == [".part"] * remains
