"""Pages from files; what the command line does with them is tested there."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from crawldedup.commands import sources as reading
from crawldedup.commands.sources import readable_sources as sources
from crawldedup.commands.sources import under_url
from crawldedup.errors import ConfigurationError
from crawldedup.page import Page
from tests.commands.archive_files import response, written

PAGES = [{"url": "https://a.example/", "text": "Grüße"}, {"url": "https://b.example/", "html": "<p>b</p>"}]


def read(path: Path) -> list[tuple[str, bytes | str | None, str | None]]:
    return [(source.url, source.html, source.text) for source in sources([str(path)])]


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
    records = [response(url, body, status=status, Content_Type=kind) for url, status, kind, body in responses]
    path.write_bytes(b"".join(written(record, packed=name.endswith(".gz")) for record in records))
    found = list(sources([str(path)]))
    assert [source.url for source in found] == ["https://a.example/", "https://d.example/", "https://e.example/"]
    assert (found[0].html, found[0].encoding) == ("<p>Grüße</p>".encode("latin-1"), "iso-8859-1")
    assert [source.text for source in found] == [None, "Grüße", "plain"]


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
