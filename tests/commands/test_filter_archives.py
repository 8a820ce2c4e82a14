"""`crawldedup filter` on web archives."""

from __future__ import annotations

import gzip
import json
import random
import re
from itertools import permutations
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from crawldedup.cli import main
from tests.commands.archive_files import conversion, info, links, metadata, request, response, written

PLACE = "https://e.example/page"


def page(seed: int, url: str = PLACE, *, of: str | None = None, id: str | None = None) -> bytes:
    words = random.Random(seed).choices([f"word{number}" for number in range(4000)], k=300)
    record = response(url, f"<p>{' '.join(words)}".encode())
    return written(record | {"warc_headers_dict": links(of, id)}, packed=False)


def image(**names: str) -> bytes:
    record = response("https://e.example/i.png", b"\x89PNG\x00" * 99, Content_Type="image/png")
    return written(record | {"warc_headers_dict": links(**names)}, packed=False)


def asked(**names: str) -> bytes:
    return written(request(PLACE, **names), packed=False)


def noted(**names: str) -> bytes:
    return written(metadata(PLACE, **names), packed=False)


def nameless(record: bytes) -> bytes:
    return re.sub(rb"WARC-Record-ID: .*?\r\n", b"", record)


def in_order(order: tuple[int, ...], *, is_named_by_request: bool) -> tuple[list[bytes], list[int]]:
    """Return a page, its copy and another page, each with a request and metadata, and what stays."""
    records = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        ids = {"of": f"r{name}"} if is_named_by_request else {}
        group = [
            asked(id=f"q{name}", **ids),
            page(seed, id=f"r{name}", of=None if is_named_by_request else f"q{name}"),
            noted(id=f"m{name}", of=f"r{name}"),
        ]
        records += [group[number] for number in order]
    return records, [0, 1, 2, 6, 7, 8]


# Records that name each other as those of several crawlers do: either may name the other.
CRAWL = [
    *(asked(id="q1", of="r1"), page(1, id="r1"), noted(of="r1", id="m1")),
    *(page(1, "https://e.example/copy", id="r2", of="q2"), asked(id="q2"), noted(of="r2", id="m2")),
    *(noted(of="q2", id="n2"), image(id="r3"), asked(of="r3", id="q3"), asked(id="q4"), page(5, id="r5")),
]
CASES = {
    "as crawlers write them": (CRAWL, [0, 1, 2, 7, 8, 9, 10]),
    **{
        f"{order}, named by {'request' if by else 'response'}": in_order(order, is_named_by_request=by)
        for order in permutations(range(3))
        for by in (True, False)
    },
    "a request of a copy and of a page": (
        [page(1, id="a"), page(1, id="b", of="q"), image(id="c", of="q"), asked(id="q")],
        [0, 2, 3],
    ),
    "records of one id": ([page(1, id="a"), asked(id="q", of="a")] * 2, [0, 1, 3]),
    "records without id": (
        [nameless(page(1)), nameless(page(1)), nameless(asked(of="a")), page(2, id="b")],
        [0, 2, 3],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_was_captured_with_a_copy_goes_with_it(tmp_path: Path, case: str) -> None:
    records, stay = CASES[case]
    (tmp_path / "crawl.warc").write_bytes(b"".join(records))
    assert main(["filter", str(tmp_path / "crawl.warc"), "-o", str(tmp_path / "out.warc")]) == 0
    assert (tmp_path / "out.warc").read_bytes() == b"".join(records[number] for number in stay)


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = main(["filter", *map(str, arguments)])
    return status, *capsys.readouterr()


def test_members_are_copied_byte_for_byte_across_archives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = [written(conversion(f"{PLACE}/{seed}", f"{seed} word " * 99), packed=True) for seed in (1, 2)]
    members = [info(packed=True), *texts, *(gzip.compress(record, 1) for record in CRAWL)]
    for name in "ab":
        (tmp_path / f"{name}.warc.gz").write_bytes(b"".join(members))
    inputs, out = [tmp_path / f"{name}.warc.gz" for name in "ab"], tmp_path / "out.warc.gz"
    status, told, _ = run(capsys, *inputs, "-o", out, "--dropped", tmp_path / "d.jsonl", "--json")
    counts = [json.loads(told)[name] for name in ("items", "written", "records", "records_written")]
    stay = [*members[:3], *(members[number + 3] for number in CASES["as crawlers write them"][1])]
    again = [members[0], *(members[number + 3] for number in (7, 8, 9))]
    assert out.read_bytes() == b"".join(stay + again)
    assert (status, counts) == (0, [10, 4, 28, len(stay + again)])
    with out.open("rb") as stream:
        assert len(list(ArchiveIterator(stream))) == len(stay + again)
    first, *_ = map(json.loads, (tmp_path / "d.jsonl").read_text().splitlines())
    assert (first["url"], first["original"]) == ("https://e.example/copy", PLACE)
    assert first["place"].startswith(f"{inputs[0]}, at byte ")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.warc.gz", gzip.compress(b"".join(CRAWL)), "`warcio recompress` parts them"),
        ("a.warc", gzip.compress(b"".join(CRAWL)), "is packed, other than its name says"),
        ("a.warc", b"no archive\n" * 20, "cannot be read as a web archive"),
        ("a.jl", b"{}", "filter keeps the form"),
    ],
)
def test_what_cannot_be_copied_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    (tmp_path / "b.warc").write_bytes(info(packed=False))
    out = "out.warc.gz" if name.endswith(".gz") else "out.warc"
    inputs = [tmp_path / "b.warc", tmp_path / name] if out == "out.warc" else [tmp_path / name]
    status, _, err = run(capsys, *inputs, "-o", tmp_path / out)
    assert (status, message in err) == (2, True), err
    assert {path.name for path in tmp_path.iterdir()} == {name, "b.warc"}


def test_what_is_damaged_is_told_and_what_cannot_be_compared_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, last = page(1), page(4)
    odd = page(3).replace(b"HTTP/1.1 200 OK", b"\x00\xff\x00" * 5)
    empty = written(response("https://e.example/empty", b""), packed=False)
    lost = page(2).replace(b"Content-Length: ", b"Content-Length: 9")
    (tmp_path / "crawl.warc").write_bytes(b"".join([first, odd, empty, last, lost, first]))
    status, _, err = run(capsys, tmp_path / "crawl.warc", "-o", tmp_path / "out.warc")
    # Of what follows nothing is known.
    assert (status, (tmp_path / "out.warc").exists()) == (1, False)
    assert (tmp_path / "out.warc.partial").read_bytes() == b"".join([first, odd, empty, last])
    for message in (
        f"at byte {sum(map(len, (first, odd, empty, last))):,}: this record is cut off, or its Content-Len",
        f"at byte {len(first):,}: this record cannot be read: its HTTP headers have no status",
        "https://e.example/empty: kept without being compared (empty)",
    ):
        assert message in err


def test_a_record_without_the_empty_lines_behind_it_gets_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [page(1), page(2)]
    inputs = [tmp_path / "a.warc", tmp_path / "b.warc"]
    for path, record in zip(inputs, records, strict=True):
        path.write_bytes(record.removesuffix(b"\r\n\r\n"))
    assert run(capsys, *inputs, "-o", tmp_path / "out.warc")[0] == 0
    assert (tmp_path / "out.warc").read_bytes() == b"".join(records)
