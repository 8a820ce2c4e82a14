"""`crawldedup filter` on web archives."""

from __future__ import annotations

import gzip
import json
import random
import re
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from crawldedup.cli import main
from tests.commands.archive_files import conversion, info, links, metadata, request, response, written


def page(seed: int, url: str = "https://e.example/page", *, of: str | None = None, id: str | None = None) -> Any:
    words = random.Random(seed).choices([f"word{number}" for number in range(4000)], k=300)
    record = response(url, f"<p>{' '.join(words)}".encode())
    return record | {"warc_headers_dict": links(of, id)}


def image(*, of: str | None = None, id: str | None = None) -> dict[str, Any]:
    record = response("https://e.example/i.png", b"\x89PNG\x00" * 99, Content_Type="image/png")
    return record | {"warc_headers_dict": links(of, id)}


def run(*arguments: object) -> int:
    return main(["filter", *map(str, arguments)])


def crawl() -> list[dict[str, Any]]:
    """Return records that name each other as those of several crawlers do: either may name the other."""
    return [
        request("https://e.example/1", id="q1", of="r1"),
        page(1, id="r1"),
        metadata("https://e.example/1", of="r1", id="m1"),
        page(1, "https://e.example/copy", id="r2", of="q2"),
        request("https://e.example/2", id="q2"),
        metadata("https://e.example/2", of="r2", id="m2"),
        metadata("https://e.example/2", of="q2", id="n2"),
        image(id="r3"),
        request("https://e.example/3", of="r3", id="q3"),
        request("https://e.example/4", id="q4"),
        page(5, id="r5"),
    ]


STAY = [0, 1, 2, 7, 8, 9, 10]


@pytest.mark.parametrize(("source", "target"), [("crawl.warc", "out.warc"), ("crawl.warc.gz", "out.warc.gz")])
def test_what_was_captured_with_a_copy_goes_with_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], source: str, target: str
) -> None:
    plain = [info(packed=False), *map(partial(written, packed=False), crawl())]
    path, out = tmp_path / source, tmp_path / target
    path.write_bytes(b"".join(gzip.compress(each) if source.endswith(".gz") else each for each in plain))
    assert run(path, "-o", out, "--dropped", tmp_path / "dropped.jsonl", "--json") == 0
    counts = json.loads(capsys.readouterr().out)
    assert (counts["items"], counts["written"], counts["exact_duplicate"]) == (3, 2, 1)
    assert (counts["records"], counts["records_written"]) == (12, 8)
    expected = [plain[0], *(plain[number + 1] for number in STAY)]
    content = out.read_bytes()
    assert (gzip.decompress(content) if target.endswith(".gz") else content) == b"".join(expected)
    with out.open("rb") as stream:
        assert len([record.rec_type for record in ArchiveIterator(stream)]) == len(expected)
    (line,) = map(json.loads, (tmp_path / "dropped.jsonl").read_text().splitlines())
    assert (line["url"], line["original"]) == ("https://e.example/copy", "https://e.example/page")
    assert line["place"].startswith(f"{path}, at byte ")


def test_members_are_copied_byte_for_byte(tmp_path: Path) -> None:
    records = [info(packed=True), written(page(1), packed=True), written(page(1), packed=True)]
    records.append(gzip.compress(written(page(2), packed=False), 1))
    (tmp_path / "crawl.warc.gz").write_bytes(b"".join(records))
    assert run(tmp_path / "crawl.warc.gz", "-o", tmp_path / "out.warc.gz") == 0
    assert (tmp_path / "out.warc.gz").read_bytes() == b"".join([records[0], records[1], records[3]])


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("named_by_request", [True, False])
def test_companions_are_found_in_any_order(tmp_path: Path, order: tuple[int, ...], named_by_request: bool) -> None:
    def group(name: str, seed: int) -> list[bytes]:
        made = [
            request("https://e.example/", id=f"q{name}", of=f"r{name}" if named_by_request else None),
            page(seed, id=f"r{name}", of=None if named_by_request else f"q{name}"),
            metadata("https://e.example/", id=f"m{name}", of=f"r{name}"),
        ]
        return [written(made[number], packed=False) for number in order]

    kept, copy, other = group("a", 1), group("b", 1), group("c", 2)
    (tmp_path / "crawl.warc").write_bytes(b"".join([*kept, *copy, *other]))
    assert run(tmp_path / "crawl.warc", "-o", tmp_path / "out.warc") == 0
    assert (tmp_path / "out.warc").read_bytes() == b"".join([*kept, *other])


def test_a_request_of_a_copy_and_of_a_page_stays(tmp_path: Path) -> None:
    records = [page(1, id="a"), page(1, id="b", of="q"), image(id="c", of="q"), request("https://e.example/", id="q")]
    plain = [written(record, packed=False) for record in records]
    (tmp_path / "crawl.warc").write_bytes(b"".join(plain))
    assert run(tmp_path / "crawl.warc", "-o", tmp_path / "out.warc") == 0
    assert (tmp_path / "out.warc").read_bytes() == b"".join([plain[0], *plain[2:]])


def test_records_of_one_id_or_of_none_stay_with_those_that_stay(tmp_path: Path) -> None:
    pair = [
        written(page(1, id="a"), packed=False),
        written(request("https://e.example/", id="q", of="a"), packed=False),
    ]
    nameless = [re.sub(rb"WARC-Record-ID: .*?\r\n", b"", each) for each in pair]
    other = written(page(2, id="b"), packed=False)
    for records, stay in (([*pair, *pair], [0, 1, 3]), ([nameless[0], *nameless, other], [0, 2, 3])):
        (tmp_path / "crawl.warc").write_bytes(b"".join(records))
        assert run(tmp_path / "crawl.warc", "-o", tmp_path / "out.warc", "--force") == 0
        assert (tmp_path / "out.warc").read_bytes() == b"".join(records[number] for number in stay)


def test_texts_are_filtered_across_archives(tmp_path: Path) -> None:
    texts = [" ".join(f"{seed}w{number}" for number in range(99)) for seed in (1, 2, 3)]
    records = [
        written(conversion(f"https://e.example/{number}", each), packed=True) for number, each in enumerate(texts)
    ]
    (tmp_path / "a.warc.wet.gz").write_bytes(b"".join([info(packed=True), *records[:2]]))
    (tmp_path / "b.warc.wet.gz").write_bytes(b"".join([info(packed=True), *records[1:]]))
    out = tmp_path / "out.warc.gz"
    assert run(tmp_path / "a.warc.wet.gz", tmp_path / "b.warc.wet.gz", "-o", out) == 0
    with out.open("rb") as stream:
        urls = [record.rec_headers.get_header("WARC-Target-URI") for record in ArchiveIterator(stream)]
    assert [url for url in urls if url] == [f"https://e.example/{number}" for number in range(3)]
    assert len(urls) == 5


@pytest.mark.parametrize("name", ["whole.warc.gz", "crawl.warc"])
def test_records_that_are_packed_together_are_not_copied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"".join(written(record, packed=False) for record in crawl())))
    assert run(path, "-o", tmp_path / f"out{name[5:]}") == 2
    err = capsys.readouterr().err
    assert ("`warcio recompress` parts them" if name.endswith(".gz") else "is packed, other than its name says") in err
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_what_is_damaged_is_told_and_what_cannot_be_compared_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, odd, empty, last, lost = (
        written(record, packed=False)
        for record in (
            page(1),
            page(3),
            response("https://e.example/empty", b""),
            page(4),
            page(2),
        )
    )
    odd = odd.replace(b"HTTP/1.1 200 OK", b"\x00\xff\x00" * 5)
    lost = lost.replace(b"Content-Length: ", b"Content-Length: 9")
    (tmp_path / "crawl.warc").write_bytes(b"".join([first, odd, empty, last, lost, first]))
    assert run(tmp_path / "crawl.warc", "-o", tmp_path / "out.warc") == 1
    # Of what follows nothing is known.
    assert not (tmp_path / "out.warc").exists()
    assert (tmp_path / "out.warc.partial").read_bytes() == b"".join([first, odd, empty, last])
    err = capsys.readouterr().err
    assert f"at byte {sum(map(len, (first, odd, empty, last))):,}: this record is cut off, or its Content-Len" in err
    assert f"at byte {len(first):,}: this record cannot be read: its HTTP headers have no status" in err
    assert "https://e.example/empty: kept without being compared (empty)" in err


@pytest.mark.parametrize(
    ("inputs", "target"), [(["a.warc"], "o.jsonl"), (["a.warc"], "-"), (["a.warc", "b.jl"], "o.warc")]
)
def test_archives_and_feeds_are_not_mixed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, inputs: list[str], target: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.warc").write_bytes(info(packed=False))
    Path("b.jl").write_text("{}")
    assert run(*inputs, "-o", target) == 2
    assert "filter keeps the form" in capsys.readouterr().err


def test_what_is_no_archive_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.warc").write_bytes(info(packed=False))
    (tmp_path / "b.warc").write_bytes(b"no archive\n" * 20)
    assert run(tmp_path / "a.warc", tmp_path / "b.warc", "-o", tmp_path / "out.warc") == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.warc", "b.warc"]
