"""Pages from files; what the command line does with them is tested there."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest

from crawldedup.commands import sources as reading
from crawldedup.commands.sources import readable_sources as sources
from crawldedup.commands.sources import under_url
from crawldedup.errors import ConfigurationError
from crawldedup.page import Page

PAGES = [{"url": "https://a.example/", "text": "Grüße"}, {"url": "https://b.example/", "html": "<p>b</p>"}]


def read(path: Path) -> list[tuple[str, bytes | str | None, str | None]]:
    return [(source.url, source.html, source.text) for source in sources([str(path)])]


def write_archive(path: Path, responses: list[tuple[str, str, str, bytes]], *, compressed: bool) -> None:
    from warcio.statusandheaders import StatusAndHeaders
    from warcio.warcwriter import WARCWriter

    with path.open("wb") as stream:
        writer = WARCWriter(stream, gzip=compressed)
        request = StatusAndHeaders("GET / HTTP/1.1", [], is_http_request=True)
        writer.write_record(writer.create_warc_record("https://r.example/", "request", http_headers=request))
        for url, status, content_type, body in responses:
            headers = StatusAndHeaders(status, [("Content-Type", content_type)], protocol="HTTP/1.1")
            record = writer.create_warc_record(url, "response", payload=io.BytesIO(body), http_headers=headers)
            writer.write_record(record)


@pytest.mark.parametrize("name", ["pages.jsonl", "pages.ndjson", "pages.jsonl.gz", "PAGES.JSONL.GZ"])
def test_json_lines(tmp_path: Path, name: str) -> None:
    content = "\n\n".join(json.dumps(page, ensure_ascii=False) for page in PAGES).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.lower().endswith(".gz") else content)
    assert read(path) == [("https://a.example/", None, "Grüße"), ("https://b.example/", "<p>b</p>", None)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: this is not JSON"),
        ("[" * 100_000, "line 2: this is not JSON"),
        ("[1]", "line 2: this is no JSON object"),
        ('{"text": "no url"}', 'line 2: the field "url" holds no text; --url-field'),
        ('{"url": "https://a.example/"}', 'line 2: no text in the field "html" or "text"; --html-field'),
        ('{"url": "https://a.example/", "html": null, "text": null}', 'line 2: no text in the field "html" or "text"'),
        ('{"url": "https://a.example/", "html": "", "text": ""}', 'line 2: no text in the field "html" or "text"'),
        (
            '{"url": "https://a.example/", "html": "<p>a", "text": "a"}',
            'line 2: the fields "html" and "text" both hold a text; choose one by --html-field',
        ),
    ],
)
def test_lines_that_are_no_pages(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "pages.jsonl"
    path.write_text(json.dumps(PAGES[0]) + "\n" + line)
    with pytest.raises(ConfigurationError, match=message):
        read(path)


@pytest.mark.parametrize(
    "content",
    [b"not compressed", gzip.compress(b'{"url": "x", "text": "y"}' * 99, mtime=0)[:-20]],
    ids=["plain", "cut"],
)
def test_compressed_lines_that_are_not(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "pages.jsonl.gz"
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"pages\.jsonl\.gz"):
        read(path)


@pytest.mark.parametrize("name", ["crawl.warc", "crawl.warc.gz"])
def test_web_archive(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    responses = [
        ("https://a.example/", "200 OK", "text/html; charset=iso-8859-1", "<p>Grüße</p>".encode("latin-1")),
        ("https://b.example/", "404 Not Found", "text/html", b"<p>lost</p>"),
        ("https://c.example/", "200 OK", "image/png", b"\x89PNG"),
        ("https://d.example/", "200 OK", "Text/Plain; charset=utf-8", "Grüße".encode()),
        ("https://e.example/", "200 OK", "text/plain; charset=nonsense", b"plain"),
        ("https://f.example/", "200 OK", "", b"?"),
    ]
    write_archive(path, responses, compressed=name.endswith(".gz"))
    found = list(sources([str(path)]))
    assert [source.url for source in found] == ["https://a.example/", "https://d.example/", "https://e.example/"]
    assert (found[0].html, found[0].encoding) == ("<p>Grüße</p>".encode("latin-1"), "iso-8859-1")
    assert [source.text for source in found] == [None, "Grüße", "plain"]


def test_a_file_that_is_no_archive(tmp_path: Path) -> None:
    path = tmp_path / "crawl.warc"
    path.write_bytes(b"this is no archive\n" * 20)
    with pytest.raises(ConfigurationError, match=r"crawl\.warc cannot be read as a web archive"):
        read(path)


def test_a_folder_without_pages(tmp_path: Path) -> None:
    (tmp_path / "picture.png").write_bytes(b"")
    with pytest.raises(ConfigurationError, match=r"holds no pages: no \.html, "):
        read(tmp_path)


def test_one_page_is_put_under_another_url_and_several_are_refused() -> None:
    pages = [Page("file:///a.html", text="a"), Page("file:///b.html", text="b")]
    assert list(under_url(pages, None)) == pages
    assert list(under_url(pages[:1], "https://e.com/")) == [Page("https://e.com/", text="a")]
    assert list(under_url([], "https://e.com/")) == []
    with pytest.raises(ConfigurationError, match="--url names one page"):
        next(under_url(pages, "https://e.com/"))


@pytest.mark.parametrize("name", ["pages.jsonl", "pages.jsonl.gz"])
def test_a_line_that_is_too_long_is_left_out_and_told(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MOST_BYTES", 100)
    lines = [json.dumps(PAGES[0]), '{"url": "' + "x" * 950 + '", "text": "long"}', json.dumps(PAGES[1])]
    content = "\n".join(lines).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    errors: list[Exception] = []
    assert [page.url for page in sources([str(path)], errors.append)] == ["https://a.example/", "https://b.example/"]
    assert [str(error) for error in errors] == [
        f"{path}, line 2: this is not JSON: a line must be shorter than 100 bytes, and is left out"
    ]
