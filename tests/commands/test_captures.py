"""Which records of archives are pages, by their heads and bodies: what is cut off, and odd heads."""

from __future__ import annotations

import gzip
import re
import time
import zlib
from pathlib import Path
from typing import Any

import brotli
import pytest

from crawldedup.commands.feeds import ANY_FIELDS
from crawldedup.commands.items import Item, NoPage, Unread, refuse
from crawldedup.commands.packing import zstandard
from crawldedup.commands.sources import items_of_file, readable_sources
from crawldedup.page import Page

URL = "https://e.example/"
OK = b"HTTP/1.1 200 OK\r\n"
TYPE = b"Content-Type: text/html; charset=utf-8\r\n"
HTML = b"<!DOCTYPE html><p>" + b"The ferry leaves at seven. " * 50 + b"</html>"
zstd: Any = zstandard("a test")


def record(
    body: bytes, head: bytes = OK + TYPE, extra: bytes = b"", kind: bytes = b"response"
) -> bytes:
    """Return a record whose HTTP headers are written byte for byte."""
    content = head + b"\r\n" + body if head else body
    return (
        b"WARC/1.0\r\nWARC-Type: %b\r\nWARC-Target-URI: %b\r\n%bContent-Length: %d\r\n\r\n%b\r\n\r\n"
        % (kind, URL.encode(), extra, len(content), content)
    )


def page_in(path: Path, content: bytes) -> Page | Unread | NoPage | Exception | None:
    path.write_bytes(content)
    (item,) = items_of_file(path, ANY_FIELDS, refuse)
    assert isinstance(item, Item)
    return item.page


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "crawl.warc"


def sent(encoding: bytes) -> bytes:
    return OK + TYPE + b"Content-Encoding: " + encoding + b"\r\n"


CHUNKED = OK + TYPE + b"Transfer-Encoding: chunked\r\n"


@pytest.mark.parametrize(
    "content",
    [
        record(HTML, extra=b"WARC-Truncated: length\r\n"),
        record(HTML, extra=b"WARC-Truncated: time\r\n"),
        record(HTML, extra=b"WARC-Segment-Number: 1\r\n"),
        record(HTML, OK + TYPE + b"Content-Length: 9999\r\n"),
        record(HTML, OK + TYPE + b"Content-Length: 1000000000000000000\r\n"),
        record(HTML, OK + TYPE + b"Content-Length: 0009999\r\n"),
        record(HTML, OK + TYPE + b"Content-Length: 9999, 9999\r\n"),
        record(HTML, OK + TYPE + b"Content-Length: %b\r\n" % (b"9" * 5000)),
        record(HTML, OK + TYPE + b"Content-Range: bytes 0-999/1%b\r\n" % (b"0" * 30)),
        record(b"fffffffff\r\nhello", CHUNKED),
        record(b"7fffffffffffffff\r\nhello", CHUNKED),
        record(b"5\r\nhello\r\n", CHUNKED),
        record(b"500\r\nhello", CHUNKED),
        record(b"5\r\nhello\r\nno chunk", CHUNKED),
        record(b"500\nhello", CHUNKED),
        record(HTML, OK + TYPE + b"Content-Range: bytes 0-999/9000\r\n"),
        record(
            b"%x\r\n%b\r\n0\r\n\r\n" % (40, gzip.compress(HTML)[:40]),
            CHUNKED.replace(b"chunked", b"gzip, chunked"),
        ),
        record(gzip.compress(HTML)[:-20], sent(b"gzip")),
        record(gzip.compress(HTML)[:-4], sent(b"x-gzip")),
        record(gzip.compress(HTML) + gzip.compress(HTML)[:15], sent(b"gzip")),
        record(zlib.compress(HTML)[:-20], sent(b"deflate")),
        record(brotli.compress(HTML)[:-10], sent(b"br")),
        record(zstd.compress(HTML)[:-10], sent(b"zstd")),
        record(gzip.compress(brotli.compress(HTML))[:-20], sent(b"br, gzip")),
        record(HTML, b"", b"Content-Type: text/html\r\nWARC-Truncated: length\r\n", b"resource"),
        record(zstd.compress(HTML) + zstd.compress(HTML)[:9], sent(b"zstd")),
        record(b"5\r\nhello\r\n3\r\nab", CHUNKED),
        record(HTML, b"", b"Content-Type: text/html\r\nWARC-Segment-Number: 2\r\n", b"resource"),
    ],
)
def test_a_part_of_a_page_is_not_compared(path: Path, content: bytes) -> None:
    page = page_in(path, content)
    assert isinstance(page, Unread)
    assert (page.url, page.error.reason) == (URL, "partial")


@pytest.mark.parametrize(
    "content",
    [
        record(gzip.compress(HTML[:50]) + gzip.compress(HTML[50:]), sent(b"gzip")),
        # As gzip itself does, ignore what stands behind the last member.
        record(gzip.compress(HTML) + bytes(100), sent(b"gzip")),
        record(zstd.compress(HTML[:50]) + zstd.compress(HTML[50:]), sent(b"zstd")),
        record(gzip.compress(brotli.compress(HTML)), sent(b"br, gzip")),
        record(b"%x\r\n%b\r\n0\r\n\r\n" % (len(HTML), HTML), CHUNKED),
        record(HTML, CHUNKED),
        record(b"%x\n%b\n0\n\n" % (len(HTML), HTML), CHUNKED),
        record(HTML, OK + TYPE + b"Content-Range: bytes 0-%d/%d\r\n" % (len(HTML) - 1, len(HTML))),
        # What was sent compressed is longer than that in the archive.
        record(HTML, sent(b"gzip") + b"Content-Length: 200\r\n"),
        record(HTML, sent(b"zstd")),
        record(HTML, sent(b"br")),
        record(HTML, b"", b"Content-Type: text/html\r\n", b"resource"),
        record(HTML, OK + TYPE + b"Content-Length: many\r\n"),
        record(HTML, OK + TYPE + b"Content-Length: %b1\r\n" % (b"0" * 5000)),
        record(HTML, OK + TYPE + b"Content-Length: 1\r\nContent-Length: 9999\r\n"),
        record(HTML, b"", b"Content-Type: application/xhtml+xml; charset=utf-8\r\n", b"resource"),
        record(HTML, b"", b"Content-Type: application/octet-stream\r\n", b"resource"),
        record(HTML, b"", b"", b"resource"),
    ],
)
def test_a_whole_page_is_read_however_it_was_sent(path: Path, content: bytes) -> None:
    page = page_in(path, content)
    assert isinstance(page, Page)
    assert page.html == HTML


@pytest.mark.parametrize(
    "head",
    [
        OK + b'P3P : CP="ALL"\r\n' + TYPE,
        OK + b"Power by: Someone\r\n" + TYPE,
        OK + b"no colon at all\r\n" + TYPE,
        OK + b"X-A: one\rtwo\r\n" + TYPE,
        OK + b"X-A: one\r\n\ttwo: three\r\n" + TYPE,
        OK + b"\x0bX: a\r\n\x0c\r\n\0\r\n" + TYPE,
        OK.lower() + TYPE,
        OK + b"X-\xe9t\xe9: \xff\r\n: nameless\r\n" + TYPE,
        OK + OK + TYPE,
        OK + TYPE.replace(b"Content-Type:", b"CONTENT-type  :\t"),
        OK + b"Content-Type: text/plain\r\n" + TYPE,
        OK + b"Content-Type: text/html; charset=utf-8,text/html\r\n",
        (OK + b"X-A: one\r\n" + TYPE).replace(b"\r\n", b"\n"),
        OK + b"X-A:\0\x01\x7f\r\n" + TYPE,
        OK + b"<!-- debug: 0.02 s -->\r\n" + TYPE,
        OK + b"HTTP/1.1 301 Moved\r\n" + TYPE,
        b"HTTP/2 200\r\n" + TYPE,
    ],
)
def test_an_odd_line_hides_no_page(path: Path, head: bytes) -> None:
    page = page_in(path, record(HTML, head))
    assert page == Page(URL, html=HTML, encoding="utf-8")


@pytest.mark.parametrize(
    ("head", "body", "extra", "is_page"),
    [
        (OK, HTML, b"", True),
        (OK + b"Content-Type: html\r\n", HTML, b"", True),
        (OK + b"Content-Type: */*\r\n", b"<div>A part of a page</div>", b"", True),
        (OK + b"Content-Type: unknown/unknown\r\n", HTML, b"", True),
        (OK, b"no tag", b"WARC-Identified-Payload-Type: text/html\r\n", True),
        (OK, b"\x89PNG\r\n\x1a\n" + bytes(99), b"", False),
        (OK + b"Content-Type: application/octet-stream\r\n", HTML, b"", True),
        (OK + b"Content-Type: application/octet-stream\r\n", b"PK\x03\x04", b"", False),
        (OK, b'{"a": 1}', b"", False),
        (OK + b"Content-Type: application/json\r\n", HTML, b"", False),
    ],
)
def test_what_nobody_declares_is_known_by_its_beginning(
    path: Path, head: bytes, body: bytes, extra: bytes, is_page: bool
) -> None:
    page = page_in(path, record(body, head, extra))
    assert isinstance(page, Page if is_page else NoPage)


@pytest.mark.parametrize(
    "charset", [b"", b"; charset=utf-8", b"; charset=euc-kr", b"; charset=iso-2022-jp"]
)
def test_a_text_in_another_encoding_than_it_says_is_not_compared(
    path: Path, charset: bytes
) -> None:
    text = "дорога вела через старый мост".encode("koi8-r")
    head = OK + b"Content-Type: text/plain" + charset + b"\r\n"
    page = page_in(path, record(text[:-1], head))
    assert isinstance(page, Unread)
    assert page.error.reason == "encoding"


def test_the_docs_name_the_records_that_are_not_counted(path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/reference/commands.md").read_text()
    (sentence,) = re.findall(r"how many other records there are of each kind[^|.]*", page)
    uncounted = set(re.findall("`(.+?)`", sentence))
    kinds = ["warcinfo", "request", "metadata", "revisit", "continuation", "something"]
    found = {kind: page_in(path, record(HTML, OK, b"", kind.encode())) for kind in kinds}
    assert {kind for kind, each in found.items() if each == NoPage("")} == uncounted
    assert found["revisit"] == NoPage("revisit record")


@pytest.mark.parametrize(
    "charset",
    ["punycode", "idna", "utf-7", "UTF7", "unicode-1-1-utf-7", "unicode-escape", "hex", "rot13"],
)
def test_a_text_in_an_encoding_of_no_page_is_not_compared(path: Path, charset: str) -> None:
    """Its bytes would be another text in UTF-8."""
    head = OK + b"Content-Type: text/plain; charset=%b\r\n" % charset.encode()
    page = page_in(path, record(b"the road led +AOk- over xn--mnchen-3ya to the mill", head))
    assert isinstance(page, Unread)
    assert (page.error.reason, charset in str(page.error)) == ("encoding", True)


@pytest.mark.parametrize("charset", ["utf8mb4", "none", "x", "\0", ""])
def test_a_label_that_means_nothing_does_not_hide_a_text(path: Path, charset: str) -> None:
    head = OK + b"Content-Type: text/plain; charset=%b\r\n" % charset.encode()
    page = page_in(path, record("Größe".encode(), head))
    assert isinstance(page, Page)
    assert page.text == "Größe"


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_body_of_many_members_takes_linear_time(path: Path, encoding: str) -> None:
    member = gzip.compress(b"", mtime=0) if encoding == "gzip" else zstd.compress(b"")
    whole = member * 9000 + (gzip.compress(HTML) if encoding == "gzip" else zstd.compress(HTML))
    page = page_in(path, record(whole, sent(encoding.encode())))
    assert isinstance(page, Page)
    assert page.html == HTML
    begun = time.perf_counter()
    # All of 40 MB would be copied for each member.
    page = page_in(path, record(member * (40_000_000 // len(member)), sent(encoding.encode())))
    assert isinstance(page, Unread)
    assert time.perf_counter() - begun < 20


def test_a_text_in_utf_16_without_its_mark_is_not_compared(path: Path) -> None:
    head = OK + b"Content-Type: text/plain\r\n"
    page = page_in(path, record("a text".encode("utf-16-le"), head))
    assert isinstance(page, Unread)


def test_addresses_of_other_letters_stay_two(path: Path) -> None:
    records = [record(HTML), record(HTML)]
    names = ["Größe".encode("latin-1"), "Grüße".encode("latin-1")]
    path.write_bytes(
        b"".join(
            each.replace(URL.encode(), URL.encode() + name)
            for each, name in zip(records, names, strict=True)
        )
    )
    assert len({page.url for page in readable_sources([str(path)])}) == 2


def test_records_of_other_kinds_are_counted_by_kind(path: Path) -> None:
    picture = OK + b"Content-Type: image/png\r\n"
    records = [
        record(HTML),
        record(b"", OK.replace(b"200 OK", b"404 Not Found") + TYPE),
        *(record(b"\x89PNG", picture) for _ in range(3)),
        record(HTML, b"", b"Content-Type: text/html\r\n", b"revisit"),
        record(b"{}", b"", b"Content-Type: application/json\r\n", b"resource"),
        record(b"fetched: 1", b"", b"", b"metadata"),
        record(b"\x89PNG", OK + b"Content-Type: x/\x1b[2J\r\n"),
    ]
    path.write_bytes(b"".join(records))
    notes: list[str] = []
    assert len(list(readable_sources([str(path)], on_note=notes.append))) == 1
    (note,) = notes
    assert "7 records not compared, by kind: image/png 3, " in note
    for kind in ("status 404 1", "revisit record 1", "application/json 1"):
        assert kind in note
    assert "\x1b" not in note
