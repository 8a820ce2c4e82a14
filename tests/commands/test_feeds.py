"""Feeds as Scrapy exports them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import re
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.exporters import CsvItemExporter, JsonItemExporter, JsonLinesItemExporter

from crawldedup.commands import sources as entries
from crawldedup.commands.sources import Fields
from crawldedup.commands.sources import readable_sources as sources
from crawldedup.errors import ConfigurationError
from crawldedup.page import Page

if TYPE_CHECKING:
    from pathlib import Path

ITEMS = [
    {"link": "https://a.example/", "story": 'Grüße,\n"von" hier', "page": "<p>a"},
    {"link": "https://b.example/", "story": "日本語 ]} ,", "page": "<p>b"},
]
OF_STORIES = Fields("link", {"text": "story"})


def exported(exporter: Any, **options: Any) -> bytes:
    stream = io.BytesIO()
    export = exporter(stream, **options)
    export.start_exporting()
    for item in ITEMS:
        export.export_item(item)
    export.finish_exporting()
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("feed.jl", exported(JsonLinesItemExporter)),
        ("feed.json", exported(JsonItemExporter)),
        ("feed.json", exported(JsonItemExporter, indent=4, encoding="utf-8")),
        ("feed.json", json.dumps(ITEMS).encode()),
        ("feed.csv", exported(CsvItemExporter)),
        ("feed.csv", exported(CsvItemExporter, encoding="utf-8-sig")),
        ("FEED.CSV.GZ", gzip.compress(exported(CsvItemExporter), mtime=0)),
        ("feed.json.gz", gzip.compress(exported(JsonItemExporter), mtime=0)),
    ],
)
def test_the_fields_of_feeds_are_chosen(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    texts = [(source.url, source.html, source.text) for source in sources([str(path)], fields=OF_STORIES)]
    assert texts == [(item["link"], None, item["story"]) for item in ITEMS]
    assert [page.html for page in sources([str(path)], fields=Fields("link", {"html": "page"}))] == ["<p>a", "<p>b"]
    with pytest.raises(ConfigurationError, match=r'the field "url" holds no text; --url-field names another'):
        list(sources([str(path)]))
    with pytest.raises(ConfigurationError, match='no text in the field "html" or "text"; --html-field'):
        list(sources([str(path)], fields=Fields("link")))


def test_an_empty_cell_is_no_text_beside_one(tmp_path: Path) -> None:
    path = tmp_path / "feed.csv"
    path.write_text("url,html,text\na,<p>a,\nb,,b\n")
    assert list(sources([str(path)], fields=Fields())) == [Page("a", html="<p>a"), Page("b", text="b")]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", "", "item 1: this cannot be read, nor what follows: it is no array"),
        ("a.json", '{"link": 1}', "item 1: this cannot be read, nor what follows: it is no array"),
        ("a.json", '[{"link": "x", "story": "y"}, ', "item 2: this cannot be read"),
        ("a.json", '[{"link": "x", "story": "y"}, 7]', "item 2: this is no JSON object"),
        ("a.json", "[" * 100_000, "item 1: this cannot be read"),
        ("a.csv", "other\n1\n", 'item 1: the field "link" holds no text'),
        ("a.csv", f"link,story\nx,{'y' * 200}\n", "item 1: this cannot be read, .*: a line must be shorter than 150"),
        ("a.csv", 'link,story\nx,"' + "y\n" * 100, "item 1: this cannot be read, nor what follows: field larger"),
    ],
)
def test_a_broken_feed_is_refused_where_it_breaks(
    tmp_path: Path, name: str, content: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entries, "MOST_BYTES", 150)
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(ConfigurationError, match=message):
        list(sources([str(path)], fields=OF_STORIES))


GOOD = {"url": "https://a.example/", "text": "a"}


@pytest.mark.parametrize(
    ("name", "content", "where"),
    [
        ("feed.jl", '{\n{"url": "a", "text": "a"}\n\n["b"]\n{"url": "c", "text": "c"}', ["line 1: ", "line 4: "]),
        (
            "feed.json",
            '[7, {"url": "a", "text": "a"}, {"url": "b"}, {"url": "c", "text": "c"}]',
            ["item 1: ", "item 3: "],
        ),
        ("feed.csv", "text,url\nno url,\na,a\ntoo short\nc,c\n", ["item 1: ", "item 3: "]),
    ],
)
def test_a_bad_item_is_told_and_the_next_one_is_read(tmp_path: Path, name: str, content: str, where: list[str]) -> None:
    path = tmp_path / name
    path.write_text(content)
    errors: list[Exception] = []
    assert [page.url for page in sources([str(path)], errors.append, Fields())] == ["a", "c"]
    assert [str(error).removeprefix(f"{path}, ")[:8] for error in errors] == where


@pytest.mark.parametrize(
    ("bad", "last"),
    [(10, "line 11: .*"), (11, "1 further item without a page"), (1234, "1,224 further items without a page")],
)
def test_of_many_bad_items_the_number_is_told(tmp_path: Path, bad: int, last: str) -> None:
    path = tmp_path / "feed.jl"
    path.write_text(f"{json.dumps(GOOD)}\n" + "{}\n" * bad)
    errors: list[Exception] = []
    assert len(list(sources([str(path)], errors.append, Fields()))) == 1
    assert len(errors) == min(bad, 11)
    assert re.search(f"{last}$", str(errors[-1]))


@pytest.mark.parametrize("content", ["no feed\n" * 10 + json.dumps(GOOD), '{"link": "a", "text": "a"}\n' * 3])
def test_a_file_that_is_no_feed_is_refused_with_one_error(tmp_path: Path, content: str) -> None:
    path = tmp_path / "feed.jl"
    path.write_text(content)
    errors: list[Exception] = []
    assert list(sources([str(path)], errors.append)) == []
    (error,) = errors
    assert re.search(r"line 1: .* \(none of the first 10 items is a page", str(error))


def test_a_long_array_is_read_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "_BLOCK", 7)
    path = tmp_path / "feed.json"
    path.write_bytes(exported(JsonItemExporter, indent=2))
    assert [page.text for page in sources([str(path)], fields=OF_STORIES)] == [item["story"] for item in ITEMS]
    monkeypatch.setattr(entries, "MOST_BYTES", 50)
    with pytest.raises(ConfigurationError, match="item 1: this cannot be read, nor what follows"):
        list(sources([str(path)], fields=OF_STORIES))


def test_a_number_in_an_array_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "feed.json"
    path.write_text(f"[{json.dumps(GOOD)}, 1234567890, [], 12]")
    for block in range(1, 20):
        monkeypatch.setattr(entries, "_BLOCK", block)
        assert [entry.value for entry in entries.entries_of(path)] == [GOOD, 1234567890, [], 12]


def test_a_page_of_a_megabyte_fits_a_cell(tmp_path: Path) -> None:
    path = tmp_path / "feed.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["url", "html"], ["https://a.example/", "<p>" + "x" * 1_000_000]])
    (page,) = sources([str(path)], fields=Fields())
    assert page.html is not None
    assert len(page.html) == 1_000_003


@pytest.mark.parametrize("name", ["feed.jl.gz", "feed.json.gz", "feed.csv.gz"])
@pytest.mark.parametrize("end", ["cut", "damaged"])
def test_of_a_compressed_feed_the_items_before_its_end_are_read(tmp_path: Path, name: str, end: str) -> None:
    noise = random.Random(1)
    items = [{"url": f"https://e.example/{number}", "text": noise.randbytes(300).hex()} for number in range(500)]
    exporter = {"jl": JsonLinesItemExporter, "json": JsonItemExporter, "csv": CsvItemExporter}[name.split(".")[1]]
    stream = io.BytesIO()
    export = exporter(stream)
    export.start_exporting()
    for item in items:
        export.export_item(item)
    export.finish_exporting()
    packed = bytearray(gzip.compress(stream.getvalue()))
    if end == "cut":
        del packed[len(packed) // 2 :]
    else:
        # The checksum of what was read.
        packed[-5] ^= 0xFF
    path = tmp_path / name
    path.write_bytes(packed)
    read: list[str] = []
    with pytest.raises(ConfigurationError, match="cannot be decompressed any further"):
        read.extend(page.url for page in sources([str(path)], fields=Fields()))
    urls = [item["url"] for item in items]
    assert read == urls[: len(read)]
    assert len(read) > (240 if end == "cut" else 490)
    assert len(read) < 260 or end == "damaged"
