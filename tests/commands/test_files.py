"""Files that are compressed or called as crawlers call them, in folders and by themselves."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crawldedup.commands.folders import pages_below
from crawldedup.commands.forms import form_of, suffix_of, why_not_read
from crawldedup.commands.packing import packed, zstandard
from crawldedup.commands.sources import readable_sources
from crawldedup.errors import PageError
from tests.commands.conftest import Run

zstd: Any = zstandard("a test")
PACKS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd.compress,
}
EACH_FORM = pytest.mark.parametrize("suffix", PACKS)
ITEMS = [{"url": f"https://e.example/{n}", "text": f"text {n} " * 30} for n in range(50)]
LINES = "".join(f"{json.dumps(item)}\n" for item in ITEMS).encode()
HTML = "<!DOCTYPE html><html><body><h1>Tides</h1><p>The ferry leaves at seven.</p></body></html>"


def read(path: Path) -> tuple[int, list[str]]:
    """Return the number of pages and the errors of a source."""
    errors: list[Exception] = []
    return len(list(readable_sources([str(path)], errors.append))), [str(each) for each in errors]


@EACH_FORM
def test_a_compressed_feed_is_read_to_its_end(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"feed.jsonl{suffix.upper()}"
    pack = PACKS[suffix]
    for content in (pack(LINES), pack(LINES[:400]) + pack(LINES[400:])):
        path.write_bytes(content)
        assert read(path) == (50, [])
    path.write_bytes(pack(LINES)[:-30])
    _, (error,) = read(path)
    assert "cannot be decompressed any further" in error
    path.write_bytes(pack(LINES) + pack(LINES)[:6] + b"damaged" * 9)
    number, (error,) = read(path)
    assert number == 50
    assert "cannot be decompressed any further" in error
    # Some programs decompress what they save, and keep the name.
    path.write_bytes(LINES)
    assert read(path) == (50, [])


@EACH_FORM
def test_a_compressed_page_is_read(tmp_path: Path, suffix: str) -> None:
    for name, content in (("page.html", HTML), ("page.txt", "Größe"), ("page.html.1", HTML)):
        path = tmp_path / f"{name}{suffix}"
        path.write_bytes(PACKS[suffix](content.encode()))
        (page,) = readable_sources([str(path)])
        assert (page.text if name == "page.txt" else page.html) in (content, content.encode())
    (tmp_path / f"page.html{suffix}").write_bytes(PACKS[suffix](HTML.encode())[:-9])
    number, (error,) = read(tmp_path / f"page.html{suffix}")
    assert (number, "cannot be decompressed" in error) == (0, True)


@EACH_FORM
def test_what_stays_is_written_in_the_form_of_its_name(run: Run, suffix: str) -> None:
    Path(f"feed.jsonl{suffix}").write_bytes(PACKS[suffix](LINES + LINES))
    said = run(f"filter feed.jsonl{suffix} -o out.jsonl{suffix}")
    assert (said.status, "100 items, 50 written" in said.err) == (0, True), said.err
    opened = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".zst": zstd.open}[suffix]
    with opened(f"out.jsonl{suffix}") as file:
        assert file.read() == LINES


def test_a_small_file_that_asks_for_gigabytes_is_refused(tmp_path: Path) -> None:
    content = bytearray(lzma.compress(LINES))
    # The size of the dictionary, as 4 GB less a byte, in the head of a block, and its checksum.
    content[16] = 40
    content[20:24] = zlib.crc32(content[12:20]).to_bytes(4, "little")
    path = tmp_path / "feed.jsonl.xz"
    path.write_bytes(bytes(content))
    number, (error,) = read(path)
    assert (number, "emory" in error) == (0, True), error


def test_what_is_packed_can_be_read_again() -> None:
    for suffix in PACKS:
        made = io.BytesIO()
        with packed(suffix, made) as file:
            file.write(b"abc")
        assert not made.closed
        assert made.getvalue()[:2] == PACKS[suffix](b"abc")[:2]


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a.jsonl.zst", "JSON lines"),
        ("A.JSON.XZ", "JSON"),
        ("a.csv.bz2", "CSV"),
        ("a.warc.gz", "a web archive"),
        ("a.parquet", "Parquet"),
        ("a.parquet.gz", None),
        ("a.warc.zst", "a web archive"),
        ("a.warc.xz", None),
        ("a.wacz.xz", None),
        ("a.tsv", None),
        ("a.html.zst", None),
    ],
)
def test_a_name_tells_the_form(name: str, form: str | None) -> None:
    assert form_of(name) == form


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("view.php?id=1", ".php"),
        ("index.html.1", ".html"),
        ("index.html?p=2.5", ".html"),
        ("saved.HTML.gz", ".html"),
        ("about", ""),
        (".htaccess", ""),
        ("archive.tar.gz", ".tar"),
        ("a.b c", ""),
    ],
)
def test_the_suffix_is_that_of_the_page(name: str, suffix: str) -> None:
    assert suffix_of(name) == suffix


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("old.arc", "warcio recompress"),
        ("old.ARC.gz", "warcio recompress"),
        ("crawl.warc.xz", "unpack it"),
        ("table.parquet.gz", "unpack it"),
        ("table.tsv", "save it as .csv"),
        ("table.xlsx", "save it as .csv"),
        ("site.tar.gz", "name the folder"),
        ("site.zip", "name the folder"),
        ("page.mhtml", "save it as .html"),
    ],
)
def test_what_is_not_read_is_refused_by_name(run: Run, name: str, advice: str) -> None:
    Path(name).write_bytes(HTML.encode())
    assert advice in (why_not_read(name) or "")
    said = run(f"scan {name}")
    assert (said.status, advice in said.err, said.out[:8]) == (1, True, "0 pages,")
    said = run(f"filter {name} -o out.warc")
    assert (said.status, said.err.count("\n")) == (2, 1)


def test_an_arc_file_of_another_name_is_known_by_its_beginning(run: Run) -> None:
    Path("old.warc").write_text("filedesc://old.arc 0.0.0.0 20060101000000 text/plain 76\n1 0 x\n")
    said = run("scan old.warc")
    assert (said.status, "this is an ARC file" in said.err) == (1, True)


def test_files_below_a_folder_are_read_or_counted(tmp_path: Path) -> None:
    pages = [
        *(
            "index.html",
            "view.php?id=1",
            "view.php?id=2",
            "about",
            "news.shtml",
            "page.aspx",
            "article.12345",
        ),
        *(
            "index.html.1",
            "index.html?p=2",
            "index.php.2",
            "about.jsp;jsessionid=1",
            "sub/x.htm",
            "note.txt",
            "x.xml",
        ),
    ]
    others = ["a.png", "b.PNG", "style.css", "source.php", "LICENSE", "feed.jsonl", "\x1b.\x1b"]
    (tmp_path / "sub").mkdir()
    for name in pages:
        (tmp_path / name).write_text(HTML)
    for name in others:
        (tmp_path / name).write_text("<?php echo 1; ?>")
    (tmp_path / "saved.html.gz").write_bytes(gzip.compress(HTML.encode()))
    notes: list[str] = []
    found = pages_below(tmp_path, on_note=notes.append)
    assert {str(path.relative_to(tmp_path)) for path in found} == {*pages, "saved.html.gz"}
    assert found == sorted(found)
    (note,) = notes
    assert "7 files not read, by suffix: " in note
    for part in (".png 2", ".css 1", ".php 1", ".jsonl 1", "without a suffix 2"):
        assert part in note
    assert read(tmp_path) == (15, [])


def test_what_is_no_file_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "deep").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    for name in ("folder/a.html", "elsewhere/b.html"):
        (tmp_path / name).write_text(HTML)
    (folder / "linked.html").symlink_to("a.html")
    (folder / "deep" / "lost\x1b.html").symlink_to("gone.html")
    (folder / "loop").symlink_to("loop")
    (folder / "more").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(folder / "queue.html")
    notes: list[str] = []
    errors: list[Exception] = []
    found = pages_below(folder, errors.append, notes.append)
    assert [path.name for path in found] == ["a.html", "linked.html"]
    (error,) = errors
    assert "loop" in str(error)
    (note,) = notes
    assert note.endswith(
        "folder: 3 not read, because they are not files: deep/lost\\x1b.html (link to nothing), more "
        "(link to a folder), queue.html (pipe)"
    )
    for number in range(20):
        (folder / f"{number}.html").symlink_to("gone.html")
    pages_below(folder, errors.append, notes.append)
    assert (notes[1].count(" (link"), "23 not read" in notes[1]) == (10, True)
    assert notes[1].endswith(", and 13 more")


def test_a_text_in_another_encoding_is_skipped_and_counted(run: Run) -> None:
    Path("texts").mkdir()
    for number, encoding in enumerate(("utf-8", "utf-8-sig", "utf-16", "cp1251", "koi8-r")):
        text = f"дорога {number} вела через старый мост к мельнице"
        Path(f"texts/{number}.txt").write_bytes(text.encode(encoding))
    said = run("scan texts")
    assert (said.status, said.out) == (
        0,
        "3 pages, 0 duplicates in 0 clusters, 2 skipped (encoding 2)\n",
    )
    assert said.err.count("it is not UTF-8") == 2
    said = run("check texts --json --store memory://")
    outcomes = [each.get("skipped", each.get("kind")) for each in said.values]
    assert sorted(outcomes) == ["encoding", "encoding", "thin", "thin", "thin"]
    with pytest.raises(PageError, match="not UTF-8"):
        list(readable_sources(["texts/3.txt"]))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.jsonl", b""),
        ("empty.json", b"[]"),
        ("head.csv", b"url,text\n"),
        ("picture.html", b"\x89PNG\r\n\x1a\n" + bytes(1000)),
        ("unknown.lz4", b"\x04\x22\x4d\x18" + bytes(1000)),
        ("other.txt", "мост".encode("cp1251")),
        ("truncated.warc", b""),
    ],
)
@pytest.mark.parametrize("command", ["scan", "check --store memory://"])
def test_a_source_without_a_page_is_status_1(
    run: Run, command: str, name: str, content: bytes
) -> None:
    Path(name).write_bytes(content)
    Path("page.html").write_text(HTML)
    said = run(f"{command} {name}")
    assert said.status == 1
    assert name in said.err or name in said.out
    if command == "scan":
        assert run(f"scan page.html {name}").status == 1
        assert run("scan page.html").status == 0


def test_filter_keeps_what_holds_no_page_and_says_so(run: Run) -> None:
    Path("empty.json").write_text("[]")
    said = run("filter empty.json -o out.json")
    assert (said.status, "empty.json contains no page" in said.err) == (1, True)
    assert Path("out.json").read_text() == "[]\n"


def test_columns_of_every_type_are_written_again(run: Run) -> None:
    texts = ["one text " * 20, "one text " * 20, "another text " * 20, "a third " * 20]
    author = pa.struct([("name", pa.string_view())])
    columns = {
        "url": pa.array(list("abcd"), pa.string_view()),
        "text": pa.array(texts, pa.string_view()),
        "body": pa.array([b"1", b"2", b"3", None], pa.binary_view()),
        "tags": pa.array([["a"], ["b"], None, []], pa.list_(pa.string_view())),
        "large": pa.array(list("abcd"), pa.large_string()),
        "language": pa.array(["en", "de", None, "en"]).dictionary_encode(),
        "notes": pa.array([[b"1"], None, [], [None]], pa.list_(pa.binary_view())),
        "author": pa.array([{"name": "A"}, None, {"name": "C"}, None], author),
    }
    table = pa.table(columns)
    pq.write_table(table, "feed.parquet")
    assert run("filter feed.parquet -o out.parquet").status == 0
    expected = pa.concat_tables([table.slice(0, 1), table.slice(2)])
    assert pq.read_table("out.parquet").to_pylist() == expected.to_pylist()
    assert pq.read_schema("out.parquet") == pq.read_schema("feed.parquet")
