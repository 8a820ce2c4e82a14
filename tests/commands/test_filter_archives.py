"""`crawldedup filter` on web archives."""

from __future__ import annotations

import gzip
import json
import random
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from crawldedup.commands.packing import zstandard
from tests.commands.archive_files import conversion, metadata, request, response, written
from tests.commands.conftest import Run

zstd: Any = zstandard("a test")

PLACE = "https://e.example/page"


def page(seed: int, url: str = PLACE, **names: str) -> bytes:
    words = random.Random(seed).choices([f"word{number}" for number in range(4000)], k=300)
    return written(response(url, f"<p>{' '.join(words)}".encode(), **names), packed=False)


def image(**names: str) -> bytes:
    return written(
        response(PLACE, b"\x89PNG\x00" * 99, Content_Type="image/png", **names), packed=False
    )


def asked(**names: str) -> bytes:
    return written(request(PLACE, **names), packed=False)


def noted(**names: str) -> bytes:
    return written(metadata(PLACE, **names), packed=False)


def in_order(order: tuple[int, ...], *, is_named_by_request: bool) -> tuple[list[bytes], list[int]]:
    """Return a page, its copy and another page, each with a request and metadata, and what stays."""
    records = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        question = asked(id=f"q{name}", of=f"r{name}" * is_named_by_request)
        answer = page(seed, id=f"r{name}", of=f"q{name}" * (not is_named_by_request))
        group = [question, answer, noted(id=f"m{name}", of=f"r{name}")]
        records += [group[number] for number in order]
    return records, [0, 1, 2, 6, 7, 8]


# Records that name each other as those of several crawlers do: either may name the other.
CRAWL = [
    *(asked(id="q1", of="r1"), page(1, id="r1"), noted(of="r1", id="m1")),
    *(page(1, "https://e.example/copy", id="r2", of="q2"), asked(id="q2"), noted(of="r2", id="m2")),
    *(
        noted(of="q2", id="n2"),
        image(id="r3"),
        asked(of="r3", id="q3"),
        asked(id="q4"),
        page(5, id="r5"),
    ),
]
CASES = {
    "as crawlers write them": (CRAWL, [0, 1, 2, 7, 8, 9, 10]),
    "a request of a copy and of a page": (
        [page(1, id="a"), page(1, id="b", of="q"), image(id="c", of="q"), asked(id="q")],
        [0, 2, 3],
    ),
    **{
        f"{order}, {by}": in_order(order, is_named_by_request=by)
        for order in permutations(range(3))
        for by in (0, 1)
    },
}


@pytest.mark.parametrize("case", CASES)
def test_what_was_captured_with_a_copy_goes_with_it(run: Run, case: str) -> None:
    records, stay = CASES[case]
    Path("crawl.warc").write_bytes(b"".join(records))
    assert run("filter crawl.warc -o out.warc").status == 0
    assert Path("out.warc").read_bytes() == b"".join(records[number] for number in stay)


def test_members_are_copied_byte_for_byte_across_archives(run: Run) -> None:
    texts = [
        written(conversion(f"{PLACE}/{seed}", f"{seed} word " * 99), packed=True) for seed in (1, 2)
    ]
    members = [written(None, packed=True), *texts, *(gzip.compress(record, 1) for record in CRAWL)]
    for name in ("a.warc.gz", "b.warc.gz"):
        Path(name).write_bytes(b"".join(members))
    (counts,) = run("filter a.warc.gz b.warc.gz -o out.warc.gz --dropped d.jsonl --json").values
    stay = [members[number] for number in (0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 0, 10, 11, 12)]
    assert Path("out.warc.gz").read_bytes() == b"".join(stay)
    figures = [
        counts[name]
        for name in ("items", "written", "exact_duplicate", "records", "records_written")
    ]
    assert figures == [10, 4, 6, 28, 14]
    with Path("out.warc.gz").open("rb") as stream:
        assert len(list(ArchiveIterator(stream))) == 14
    first = json.loads(Path("d.jsonl").read_text().splitlines()[0])
    assert (first["url"], first["original"]) == ("https://e.example/copy", PLACE)
    assert first["place"].startswith("a.warc.gz, at byte ")


def test_frames_of_zstandard_are_copied_byte_for_byte(run: Run) -> None:
    frames = [zstd.compress(record) for record in CRAWL]
    Path("a.warc.zst").write_bytes(b"".join(frames))
    (counts,) = run("filter a.warc.zst -o out.warc.zst --json").values
    stay = Path("out.warc.zst").read_bytes()
    assert counts["records_written"] < counts["records"] == len(frames)
    assert stay == b"".join(frame for frame in frames if frame in stay)
    Path("plain.warc").write_bytes(b"".join(CRAWL))
    run("filter plain.warc -o out.warc")
    assert zstd.decompress(stay) == Path("out.warc").read_bytes()


def test_a_revisit_record_is_compressed_as_its_archive(run: Run) -> None:
    Path("a.warc.zst").write_bytes(b"".join(zstd.compress(record) for record in CRAWL))
    assert run("filter a.warc.zst -o out.warc.zst --revisit").status == 0
    assert b"WARC-Type: revisit" in zstd.decompress(Path("out.warc.zst").read_bytes())


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.warc.gz", gzip.compress(b"".join(CRAWL)), "`warcio recompress` separates them"),
        (
            "a.warc",
            gzip.compress(b"".join(CRAWL)),
            "is packed as .gz, which does not match its name",
        ),
        ("a.warc.zst", gzip.compress(CRAWL[0]), "is packed as .gz, which does not match its name"),
        ("a.warc", b"no archive\n" * 20, "cannot be read as a web archive"),
    ],
    ids=["together", "by another name", "otherwise", "no archive"],
)
def test_what_cannot_be_copied_writes_nothing(
    run: Run, name: str, content: bytes, message: str
) -> None:
    Path(name).write_bytes(content)
    said = run(f"filter {name} -o out{name[1:]}")
    assert (said.status, message in said.err, [*Path().iterdir()]) == (2, True, [Path(name)]), (
        said.err
    )


def test_damaged_items_are_reported_and_others_kept_without_comparison(run: Run) -> None:
    first, last = page(1), page(4)
    odd = page(3).replace(b"HTTP/1.1 200 OK", b"\x00\xff\x00" * 5)
    empty = written(response("https://e.example/empty", b""), packed=False)
    lost = page(2).replace(b"Content-Length: ", b"Content-Length: 9")
    Path("crawl.warc").write_bytes(b"".join([first, odd, empty, last, lost, first]))
    said = run("filter crawl.warc -o out.warc")
    # Of what follows nothing is known.
    assert (said.status, Path("out.warc").exists()) == (1, False)
    assert Path("out.warc.partial").read_bytes() == b"".join([first, odd, empty, last])
    for message in (
        f"at byte {sum(map(len, (first, odd, empty, last))):,}: this record is cut off",
        f"at byte {len(first):,}: this record cannot be read: its HTTP headers have no status",
        "https://e.example/empty: kept without being compared (empty)",
    ):
        assert message in said.err
