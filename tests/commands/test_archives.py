"""Web archives that are damaged, and texts and encodings in them."""

from __future__ import annotations

import gzip
import random
import re
import zlib
from pathlib import Path

import brotli
import pytest

from crawldedup.commands import archives
from crawldedup.commands.sources import readable_sources as sources
from crawldedup.page import Page
from tests.commands.archive_files import conversion, info, request, response, written

URLS = [f"https://e.example/{number}" for number in range(5)]


def pieces(*, packed: bool) -> list[bytes]:
    """Return an archive record by record: what describes it, and five pages of which each is 3 kB."""
    noise = random.Random(1)
    bodies = [f"<p>{url} {noise.randbytes(1500).hex()}".encode() for url in URLS]
    pages = [written(response(url, body), packed=packed) for url, body in zip(URLS, bodies, strict=True)]
    return [info(packed=packed), *pages]


def read(path: Path) -> tuple[list[str], list[str]]:
    """Return the URLs and the errors of an archive."""
    errors: list[Exception] = []
    urls = [page.url for page in sources([str(path)], errors.append)]
    return urls, [str(error).removeprefix(f"{path}, ") for error in errors]


def with_length(record: bytes, length: str) -> bytes:
    changed, number = re.subn(rb"Content-Length: \d+", b"Content-Length: " + length.encode(), record, count=1)
    assert number == 1
    return changed


DAMAGES = {
    "too long": (lambda record: with_length(record, "4000"), "Content-Length"),
    "beyond the end": (lambda record: with_length(record, "99999999999"), "Content-Length"),
    "too short": (lambda record: with_length(record, "1000"), "Content-Length"),
    "no number": (lambda record: with_length(record, "many"), "Content-Length"),
    "negative": (lambda record: with_length(record, "-1"), "Content-Length"),
    "no status": (lambda record: record.replace(b"HTTP/1.1 200 OK", b"\x00\xff\x00" * 5), "status"),
    "no end of the header": (lambda record: record[:100] + b"\r\n", "no "),
    "garbage": (lambda record: b"\x00\xffgarbage\n" * 9, "no record"),
}


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_broken_record_costs_that_record_or_the_rest(tmp_path: Path, damage: str, packed: bool) -> None:
    change, message = DAMAGES[damage]
    path = tmp_path / "crawl.warc"
    records = pieces(packed=False)
    records[3] = change(records[3])
    path.write_bytes(b"".join(gzip.compress(each) if packed else each for each in records))
    urls, (error,) = read(path)
    # Where the next one begins, nothing says in a plain file.
    is_framed = packed or damage == "no status"
    assert urls == [*URLS[:2], *(URLS[3:] if is_framed else [])]
    place = sum(len(gzip.compress(each) if packed else each) for each in records[:3])
    assert error.startswith(f"at byte {place:,}: ")
    assert message in error


def test_garbage_between_members_costs_none(tmp_path: Path) -> None:
    path = tmp_path / "crawl.warc"
    path.write_bytes(b"lost\nbytes\x1f\x8b\n".join(pieces(packed=True)))
    urls, errors = read(path)
    assert urls == URLS
    assert len(errors) == 5
    assert all("while decompressing" in error for error in errors)


def test_endless_empty_lines_are_no_record(tmp_path: Path) -> None:
    path = tmp_path / "crawl.warc.gz"
    first, second, third, *_ = pieces(packed=False)
    path.write_bytes(gzip.compress(first + second + b"\n" * 10_000) + gzip.compress(third))
    urls, (error,) = read(path)
    assert (urls, error) == (URLS[:2], "at byte 0: what begins here is no record")


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
def test_what_stands_before_a_cut_is_read(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "crawl.warc"
    records = pieces(packed=packed)
    whole, start = b"".join(records), sum(map(len, records[:4]))
    for cut in range(start + 20, start + len(records[4]) - 20, 101):
        path.write_bytes(whole[:cut])
        urls, errors = read(path)
        assert urls == URLS[:3]
        (error,) = errors
        assert error.startswith(f"at byte {start:,}: ")


def test_a_damaged_member_costs_that_record_only(tmp_path: Path) -> None:
    path = tmp_path / "crawl.warc.gz"
    records = pieces(packed=True)
    start = sum(map(len, records[:3]))
    for place in range(12, len(records[3]) - 1, 97):
        damaged = bytearray(b"".join(records))
        damaged[start + place] ^= 0x55
        path.write_bytes(damaged)
        urls, errors = read(path)
        assert urls == [*URLS[:2], *URLS[3:]]
        assert len(errors) == 1


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(300))
def test_no_damage_hides_more_than_it_touches(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "crawl.warc.gz"
    records = pieces(packed=True)
    noise = random.Random(seed)
    hit = noise.randrange(1, 6)
    start = noise.randrange(len(records[hit]))
    length = noise.choice([1, 7, 700, len(records[hit])])
    records[hit] = records[hit][:start] + noise.randbytes(noise.choice([0, 1, 99])) + records[hit][start + length :]
    path.write_bytes(b"".join(records))
    urls, _ = read(path)
    # What is lost at the end of one may be the line that begins the next.
    near = {URLS[hit - 1], *URLS[hit : hit + 1]}
    assert set(URLS) - near <= set(urls)
    assert len(urls) <= len(URLS)


def test_of_many_damaged_records_the_number_is_told(tmp_path: Path) -> None:
    path = tmp_path / "crawl.warc.gz"
    good, *_, bad = pieces(packed=False)
    packed = [gzip.compress(each) for each in (good, *[with_length(bad, "x")] * 1234, bad)]
    path.write_bytes(b"".join(packed))
    urls, errors = read(path)
    assert urls == URLS[4:]
    assert len(errors) == 11
    assert errors[-1].endswith("1,224 further records damaged")


@pytest.mark.parametrize(
    "content", [b"no archive\n" * 99, gzip.compress(b"no archive\n", mtime=0), b"\x1f\x8b", b"WARC/1.0\r\n"]
)
def test_what_is_no_archive_is_refused_with_one_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "crawl.warc"
    path.write_bytes(content * 20)
    errors: list[Exception] = []
    assert list(sources([str(path)], errors.append)) == []
    (error,) = errors
    assert re.search(r"crawl\.warc, at byte 0: .* \(it cannot be read as a web archive\)", str(error))


def test_an_empty_archive_has_no_pages(tmp_path: Path) -> None:
    path = tmp_path / "crawl.warc.gz"
    for content in (b"", gzip.compress(b"")):
        path.write_bytes(content)
        assert read(path) == ([], [])


def test_an_archive_that_is_packed_as_a_whole_is_read(tmp_path: Path) -> None:
    path = tmp_path / "crawl.warc.gz"
    whole = gzip.compress(b"".join(pieces(packed=False)))
    path.write_bytes(whole)
    assert read(path) == (URLS, [])
    path.write_bytes(whole[: len(whole) // 2])
    urls, errors = read(path)
    assert urls == URLS[:2]
    assert errors == ["at byte 0: the file is cut off in this record"]


def test_a_large_member_is_read_as_far_as_it_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_BYTES", 5000)
    path = tmp_path / "crawl.warc.gz"
    large = written(response("https://l.example/", b"<p>" + b"large " * 5000), packed=True)
    path.write_bytes(b"".join([*pieces(packed=True), large]))
    errors: list[Exception] = []
    *_, page = sources([str(path)], errors.append)
    assert isinstance(page.html, bytes)
    assert 4000 < len(page.html) < 5000
    assert not errors


def test_texts_that_were_made_of_pages_are_pages(tmp_path: Path) -> None:
    path = tmp_path / "crawl.warc.wet.gz"
    records = [conversion(url, f"Grüße von {url}") for url in URLS]
    path.write_bytes(info(packed=True) + b"".join(written(each, packed=True) for each in records))
    assert [(page.url, page.text) for page in sources([str(path)])] == [(url, f"Grüße von {url}") for url in URLS]


HTML = b"<p>" + b"The ferry leaves at seven. " * 50


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
        ("GZIP", HTML),
        ("deflate", zlib.compress(HTML)),
        ("deflate", raw_deflate(HTML)),
        ("deflate", HTML),
        ("br", brotli.compress(HTML)),
        ("br", HTML),
        ("unknown", HTML),
    ],
)
@pytest.mark.parametrize("transfer", ["", "chunked"])
def test_encodings_of_bodies_are_removed(tmp_path: Path, encoding: str, body: bytes, transfer: str) -> None:
    path = tmp_path / "crawl.warc"
    sent = chunked(body) if transfer else body
    record = response(URLS[0], sent, Content_Encoding=encoding, Transfer_Encoding=transfer)
    path.write_bytes(written(record, packed=False))
    assert list(sources([str(path)], lambda error: pytest.fail(str(error)))) == [Page(URLS[0], html=HTML)]


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, brotli.compress])
def test_a_body_of_gigabytes_is_cut_off(tmp_path: Path, pack: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_BYTES", 100_000)
    encoding = {gzip.compress: "gzip", zlib.compress: "deflate", brotli.compress: "br"}[pack]  # type: ignore[index]
    path = tmp_path / "crawl.warc"
    path.write_bytes(written(response(URLS[0], pack(bytes(50_000_000)), Content_Encoding=encoding), packed=False))  # type: ignore[operator]
    (page,) = sources([str(path)], lambda error: pytest.fail(str(error)))
    assert page.html == bytes(100_000)


def test_requests_and_other_records_are_no_pages(tmp_path: Path) -> None:
    path = tmp_path / "crawl.warc"
    records = [
        request(URLS[0]),
        response(URLS[1], b"<p>moved", status="301 Moved"),
        response("dns:e.example", b"1.2.3.4"),
        response(URLS[2], b"", status="204 No Content"),
    ]
    path.write_bytes(b"".join(written(each, packed=False) for each in records))
    assert read(path) == ([URLS[2]], [])
