"""Parquet as a feed."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crawldedup.commands.sources import Fields, entries_of
from crawldedup.commands.sources import readable_sources as sources
from crawldedup.errors import ConfigurationError, MissingDependencyError
from crawldedup.page import Page

TABLE = pa.table(
    {
        "link": ["https://a.example/", "https://b.example/", None],
        "story": ["Grüße", "b", "c"],
        "page": [b"<p>a", b"<p>b", b"<p>c"],
        "when": pa.array([1, 2, 3], pa.timestamp("s")),
    }
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    pq.write_table(TABLE, tmp_path / "PAGES.PARQUET")
    return tmp_path / "PAGES.PARQUET"


def test_the_columns_are_chosen(path: Path) -> None:
    errors: list[Exception] = []
    found = list(sources([str(path)], errors.append, Fields("link", {"text": "story"})))
    assert [(page.url, page.text) for page in found] == [("https://a.example/", "Grüße"), ("https://b.example/", "b")]
    assert [str(error) for error in errors] == [
        f'{path}, row 3: the field "link" holds no text; --url-field names another'
    ]
    pages = list(sources([str(path)], errors.append, Fields("link", {"html": "page"})))
    assert pages == [Page("https://a.example/", html=b"<p>a"), Page("https://b.example/", html=b"<p>b")]


def test_columns_that_are_not_there_are_told(path: Path) -> None:
    with pytest.raises(ConfigurationError, match="none of the columns url, html, text, but link, story, page, when"):
        list(sources([str(path)], fields=Fields()))
    with pytest.raises(ConfigurationError, match='row 1: no text in the field "html" or "text"'):
        list(sources([str(path)], fields=Fields("link")))


@pytest.mark.parametrize("keep", [0, 4, 100, -1])
def test_what_is_no_table_is_refused(path: Path, keep: int) -> None:
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(ConfigurationError, match=r"row 1: this cannot be read, nor what follows"):
        list(sources([str(path)], fields=Fields("link", {"text": "story"})))


def test_rows_before_a_damage_are_read(tmp_path: Path) -> None:
    path = tmp_path / "pages.parquet"
    rows = 1000
    urls = [f"https://e.example/{number}" for number in range(rows)]
    table = pa.table({"url": urls, "text": [f"{number} text " * 50 for number in range(rows)]})
    pq.write_table(table, path, row_group_size=250, write_page_checksum=True)
    last = pq.ParquetFile(path).metadata.row_group(3).column(1)
    damaged = bytearray(path.read_bytes())
    start = last.dictionary_page_offset or last.data_page_offset
    damaged[start : start + last.total_compressed_size] = bytes(last.total_compressed_size)
    path.write_bytes(damaged)
    read: list[str] = []
    with pytest.raises(ConfigurationError, match=r"row \d+: this cannot be read, nor what follows"):
        read.extend(page.url for page in sources([str(path)], fields=Fields()))
    assert len(read) >= 700
    assert read == urls[: len(read)]


def test_a_large_row_group_is_read_piece_by_piece(tmp_path: Path) -> None:
    path = tmp_path / "pages.parquet"
    texts = [f"{number} " * 4000 for number in range(4000)]
    size = sum(map(len, texts))
    table = pa.table({"url": list(map(str, range(4000))), "text": texts})
    pq.write_table(table, path, use_dictionary=False, compression="none")
    del texts, table
    before, most, rows = pa.total_allocated_bytes(), 0, 0
    for _ in entries_of(path):
        most, rows = max(most, pa.total_allocated_bytes() - before), rows + 1
    assert rows == 4000
    assert most < size / 2


def test_a_small_file_that_stands_for_gigabytes_is_read_in_part(tmp_path: Path) -> None:
    path = tmp_path / "pages.parquet"
    text = "one and the same " * 60_000
    table = pa.table({"url": list(map(str, range(1000))), "text": pa.array([text] * 1000).dictionary_encode()})
    pq.write_table(table, path, compression="zstd")
    assert path.stat().st_size < 10_000
    errors: list[Exception] = []
    pages = list(sources([str(path)], errors.append))
    assert len(pages) < 200
    (error,) = errors
    assert "this cannot be read, nor what follows: it holds more than 1,000 times the bytes of its file" in str(error)


def test_without_pyarrow_it_says_what_to_install(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"is Parquet, and that needs pyarrow: pip install pyarrow"):
        list(sources([str(path)]))
