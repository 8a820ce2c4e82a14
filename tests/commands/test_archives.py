"""Web archives: what is a page in them, how it is encoded, and what damage costs."""

from __future__ import annotations

import gzip
import random
import re
import zlib
from pathlib import Path
from typing import Any

import brotli
import pytest

from crawldedup.commands import archives, http_bodies
from crawldedup.commands.packing import zstandard
from crawldedup.commands.sources import readable_sources
from crawldedup.page import Page
from tests.commands.archive_files import conversion, request, response, written

zstd: Any = zstandard("a test")

URLS = [f"https://e.example/{number}" for number in range(5)]
HTML = b"<p>" + b"The ferry leaves at seven. " * 50
PACKED = pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])


def pieces(*, packed: bool) -> list[bytes]:
    """Return an archive record by record: its description, and five pages of 3 kB each."""
    noise = random.Random(1)
    bodies = [f"<p>{url} {noise.randbytes(1500).hex()}".encode() for url in URLS]
    pages = [
        written(response(url, body), packed=packed) for url, body in zip(URLS, bodies, strict=True)
    ]
    return [written(None, packed=packed), *pages]


def pages_in(path: Path) -> tuple[list[Page], list[str]]:
    errors: list[Exception] = []
    pages = list(readable_sources([str(path)], errors.append))
    return pages, [str(error).removeprefix(f"{path}, ") for error in errors]


def read(path: Path, content: bytes) -> tuple[list[str], list[str]]:
    """Return the URLs and the errors of an archive of this content."""
    path.write_bytes(content)
    pages, errors = pages_in(path)
    return [page.url for page in pages], errors


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "crawl.warc"


def test_html_that_was_sent_as_text_is_html_unless_it_was_made_of_a_page(path: Path) -> None:
    source = "<!DOCTYPE html><p>Grüße"
    records = [
        response(URLS[0], source.encode("cp1252"), Content_Type="text/plain; charset=x-cp1252"),
        conversion(URLS[1], source),
    ]
    path.write_bytes(b"".join(written(record, packed=False) for record in records))
    pages, errors = pages_in(path)
    assert not errors
    assert [(page.html, page.text) for page in pages] == [
        (source.encode("cp1252"), None),
        (None, source),
    ]


@PACKED
def test_pages_are_successful_responses_of_html_and_text_and_texts_made_of_pages(
    path: Path, packed: bool
) -> None:
    german = "<p>Grüße</p>".encode("latin-1")
    records = [
        request(URLS[0]),
        response("https://a.example/", german, Content_Type="text/html; charset=iso-8859-1"),
        response(
            "https://b.example/",
            "Grüße".encode("latin-1"),
            Content_Type="Text/Plain; charset=latin-1",
        ),
        response("https://c.example/", b"plain", Content_Type="text/plain; charset=nonsense"),
        *(
            response(URLS[1], b"<p>no", status=status)
            for status in ("404 Not Found", "301 Moved", "206 Partial Content")
        ),
        response("dns:e.example", b"1.2.3.4"),
        response(URLS[2], b"\x89PNG", Content_Type="image/png"),
        response(URLS[3], b"?", Content_Type=""),
        response("https://d.example/", b"", status="204 No Content"),
        conversion("https://e.example/", "Grüße"),
    ]
    path.write_bytes(
        written(None, packed=packed)
        + b"".join(written(record, packed=packed) for record in records)
    )
    assert pages_in(path) == (
        [
            Page("https://a.example/", html=german, encoding="iso-8859-1"),
            Page("https://b.example/", text="Grüße"),
            Page("https://c.example/", text="plain"),
            Page("https://d.example/", html=b""),
            Page("https://e.example/", text="Grüße"),
        ],
        [],
    )


def raw_deflate(body: bytes) -> bytes:
    pack = zlib.compressobj(wbits=-15)
    return pack.compress(body) + pack.flush()


def chunked(body: bytes) -> bytes:
    parts = [body[:10], body[10:]]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(HTML, mtime=0)),
        ("deflate", zlib.compress(HTML)),
        ("deflate", raw_deflate(HTML)),
        ("br", brotli.compress(HTML)),
        ("unknown", HTML),
    ],
)
@pytest.mark.parametrize("send", [bytes, chunked])
def test_encodings_of_bodies_are_removed(path: Path, encoding: str, body: bytes, send: Any) -> None:
    record = response(URLS[0], send(body), Content_Encoding=encoding, Transfer_Encoding="chunked")
    path.write_bytes(written(record, packed=False))
    assert pages_in(path) == ([Page(URLS[0], html=HTML)], [])


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [("gzip", gzip.compress), ("deflate", zlib.compress), ("br", brotli.compress), ("", bytes)],
)
def test_of_a_large_body_as_much_is_read_as_is_taken(
    path: Path, encoding: str, pack: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (archives, http_bodies):
        monkeypatch.setattr(module, "MOST_BYTES", 100_000)
    large = written(
        response("https://l.example/", pack(bytes(5_000_000)), Content_Encoding=encoding),
        packed=True,
    )
    path.write_bytes(large + b"".join(pieces(packed=True)))
    pages, errors = pages_in(path)
    assert isinstance(pages[0].html, bytes)
    assert 99_000 < len(pages[0].html) <= 100_000
    assert ([page.url for page in pages[1:]], errors) == (URLS, [])


@PACKED
@pytest.mark.parametrize(
    ("length", "content", "message"),
    [
        *(
            (length, b"", "Content-Length")
            for length in (b"4000", b"99999999999", b"1000", b"many", b"-1")
        ),
        (b"", b"\x00\xffgarbage\n" * 9, "not the beginning of a record"),
        (b"", b"WARC/1.0\r\nhead: without end\r\n", "headers have no end"),
    ],
)
def test_a_broken_record_costs_that_record_or_the_rest(
    path: Path, length: bytes, content: bytes, message: str, packed: bool
) -> None:
    records = pieces(packed=False)
    records[3] = content or re.sub(
        rb"Content-Length: \d+", b"Content-Length: " + length, records[3], count=1
    )
    members = [gzip.compress(each) if packed else each for each in records]
    urls, (error,) = read(path, b"".join(members))
    # Where the next one begins, nothing says in a plain file.
    assert urls == [*URLS[:2], *(URLS[3:] if packed else [])]
    assert error.startswith(f"at byte {sum(map(len, members[:3])):,}: ")
    assert message in error


@pytest.mark.parametrize(
    "seed",
    [*range(20), *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(20, 300))],
)
def test_no_damage_hides_more_than_it_touches(path: Path, seed: int) -> None:
    records = pieces(packed=True)
    noise = random.Random(seed)
    hit = noise.randrange(1, 6)
    start = noise.randrange(len(records[hit]))
    length = noise.choice([1, 7, 700, len(records[hit])])
    records[hit] = (
        records[hit][:start]
        + noise.randbytes(noise.choice([0, 1, 99]))
        + records[hit][start + length :]
    )
    urls, _ = read(path, b"".join(records))
    # What is lost at the end of one may be the line that begins the next.
    near = {URLS[hit - 1], *URLS[hit : hit + 1]}
    assert set(URLS) - near <= set(urls)
    assert len(urls) <= len(URLS)


def damaged(frame: bytes) -> bytes:
    """Return a frame that lacks some bytes in its middle."""
    middle = len(frame) // 2
    return frame[:middle] + frame[middle + 9 :]


PLAIN, PACKED_PIECES = pieces(packed=False), pieces(packed=True)
WHOLE = gzip.compress(b"".join(PLAIN))
EMPTY_LINES = gzip.compress(PLAIN[0] + PLAIN[1] + b"\n" * 10_000)
BROKEN = gzip.compress(PLAIN[2].replace(b"Content-Length: ", b"Content-Length: x"))
NO_ARCHIVE = ([], ["at byte 0: .*cannot be read as a web archive"])
ZSTANDARD_PIECES = [zstd.compress(record) for record in PLAIN]
# What the readers of archives in Zstandard get first if they need a dictionary for the records.
DICTIONARY = b"\x5d\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"word"
SKIPPED_FRAME = b"\x50\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"word"
CASES = [
    (b"".join(ZSTANDARD_PIECES), (URLS, [])),
    (SKIPPED_FRAME + b"".join(ZSTANDARD_PIECES), (URLS, [])),
    (zstd.compress(b"".join(PLAIN)), (URLS, [])),
    # One frame is damaged, one is lost, one is cut off.
    (
        b"".join(ZSTANDARD_PIECES[:2]) + damaged(ZSTANDARD_PIECES[2]) + ZSTANDARD_PIECES[3],
        ([URLS[0], URLS[2]], ["at byte "]),
    ),
    (b"".join(ZSTANDARD_PIECES)[:-90], (URLS[:4], ["the file is cut off"])),
    (b"lost\nbytes".join(ZSTANDARD_PIECES), (URLS, ["at byte "] * 5)),
    (DICTIONARY + b"".join(ZSTANDARD_PIECES), ([], ["compressed with a custom dictionary"])),
    (b"lost\nbytes\x1f\x8b\n".join(PACKED_PIECES), (URLS, ["while decompressing"] * 5)),
    # Endless empty lines are no record.
    (EMPTY_LINES + PACKED_PIECES[2], (URLS[:2], ["at byte 0: .* not the beginning of a record"])),
    (
        PACKED_PIECES[0] + BROKEN * 1235 + PACKED_PIECES[5],
        (URLS[4:], ["Content-Length of this"] * 10 + ["1,225 further records damaged"]),
    ),
    (
        PLAIN[0] + PLAIN[1].replace(b"HTTP/1.1 200 OK", b"\x00\xff\x00" * 5) + PLAIN[2],
        (URLS[1:2], ["no status"]),
    ),
    # What stands before a cut is read.
    *(
        (b"".join(each)[:-cut], (URLS[:4], ["at byte "]))
        for each in (PLAIN, PACKED_PIECES)
        for cut in (90, 900)
    ),
    (WHOLE, (URLS, [])),
    (WHOLE[: len(WHOLE) // 2], (URLS[:2], ["at byte 0: the file is cut off"])),
    *(
        (b * 20, NO_ARCHIVE)
        for b in (b"no archive\n" * 99, gzip.compress(b"no\n"), b"\x1f\x8b", b"WARC/1.0\r\n")
    ),
]


@pytest.mark.parametrize(("content", "expected"), CASES, ids=lambda _: "part")
def test_an_archive_is_read_as_far_as_it_goes(
    path: Path, content: bytes, expected: tuple[Any, Any]
) -> None:
    urls, errors = read(path, content)
    assert urls == expected[0]
    for error, pattern in zip(errors, expected[1], strict=True):
        assert re.search(pattern, error)
