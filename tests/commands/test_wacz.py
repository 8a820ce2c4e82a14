"""Archives as Browsertrix and Heritrix write them:

WARC files in a WACZ, and revisits in place of exact copies.
"""

from __future__ import annotations

import gzip
import zipfile
from copy import copy
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from tests.commands.archive_files import request, written
from tests.commands.conftest import Run
from tests.commands.test_filter_archives import page

URLS = [f"https://e.example/{number}" for number in range(4)]
# The second is a copy of the first, byte for byte; the third one has its text alone.
PAGES = [
    page(1, URLS[0], id="a"),
    page(1, URLS[1], id="b"),
    page(1, URLS[2], X_Served="1"),
    page(2, URLS[3]),
]
PAGES[2] = PAGES[2].replace(b"<p>", b"<b>", 1)
QUESTION = written(request(URLS[1], of="b"), packed=False)


def wacz(name: str, warcs: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> str:
    with zipfile.ZipFile(name, "w", method) as archive:
        archive.writestr("datapackage.json", "{}")
        for member, content in warcs.items():
            archive.writestr(member, content)
        archive.writestr("pages/pages.jsonl", "{}\n")
    return name


def packed(records: list[bytes]) -> bytes:
    return b"".join(gzip.compress(record, mtime=0) for record in records)


WARCS = {
    "archive/a.warc.gz": packed(PAGES[:2]),
    "archive/b.warc.gz": packed(PAGES[2:]),
    "indexes/x.warc.gz": b"?",
}


def records_in(name: str) -> list[Any]:
    with Path(name).open("rb") as file:
        return [
            (each.rec_type, each.rec_headers, each.content_stream().read())
            for each in ArchiveIterator(file)
        ]


def test_the_pages_of_a_wacz_are_those_of_its_archives(run: Run) -> None:
    wacz("crawl.wacz", WARCS)
    for line in ("check crawl.wacz --store memory:// --json", "scan crawl.wacz --json"):
        assert run(line).status == 0
    verdicts = run("check crawl.wacz --store memory:// --json").values
    assert [(verdict["url"], verdict["kind"]) for verdict in verdicts] == [
        *zip(URLS, ("new", "exact_duplicate", "exact_duplicate", "new"), strict=True)
    ]
    assert run("filter crawl.wacz -o out.warc.gz").status == 0
    assert Path("out.warc.gz").read_bytes() == packed([PAGES[0], PAGES[3]])
    # Of what is not packed, each file ends where the next one begins.
    wacz(
        "plain.wacz", {"archive/a.warc": b"".join(PAGES[:2]), "archive/b.warc": b"".join(PAGES[2:])}
    )
    assert len(run("check plain.wacz --store memory:// --json").values) == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda: wacz("a.wacz", WARCS, zipfile.ZIP_DEFLATED),
            "compressed a second time: unpack it",
        ),
        (
            lambda: Path("a.wacz").write_bytes(Path(wacz("b.wacz", WARCS)).read_bytes()[:-30]),
            "cannot be read as a WACZ",
        ),
        (lambda: Path("a.wacz").write_bytes(b"no archive" * 99), "cannot be read as a web archive"),
        (lambda: overlapping("a.wacz"), "overlap"),
        # The damaged bytes are those of the offset of the directory, and of a name.
        *((lambda at=at: damaged("a.wacz", at), "a.wacz cannot be read") for at in (-6, -5)),
        (lambda: unnamed("a.wacz"), "a.wacz cannot be read as a WACZ"),
    ],
)
def test_files_that_are_not_wacz_are_rejected(run: Run, change: Any, message: str) -> None:
    change()
    for line in ("check a.wacz --store memory://", "filter a.wacz -o out.warc.gz"):
        said = run(line)
        assert (said.status > 0, message in said.err, said.err.count("\n")) == (True, True, 1), (
            said.err
        )


def damaged(name: str, at: int) -> None:
    """Change a byte near the end of a file."""
    content = bytearray(Path(wacz(name, WARCS)).read_bytes())
    content[at] ^= 0xFF
    Path(name).write_bytes(content)


def unnamed(name: str) -> None:
    """Call a member in no encoding, though it claims UTF-8."""
    wacz(name, {**WARCS, "\u00e4\u00e4.txt": b""})
    content = Path(name).read_bytes().replace("\u00e4\u00e4".encode(), b"\xff\xff\xff\xff")
    Path(name).write_bytes(content)


def overlapping(name: str) -> None:
    """Let a second name stand for the bytes of the first."""
    with zipfile.ZipFile(name, "w") as archive:
        archive.writestr("archive/a.warc.gz", WARCS["archive/a.warc.gz"])
        twin = copy(archive.filelist[0])
        twin.filename = "archive/b.warc.gz"
        archive.filelist.append(twin)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_exact_copies_become_revisits_and_every_url_is_read(run: Run, suffix: str) -> None:
    records = [written(None, packed=False), *PAGES[:2], QUESTION, *PAGES[2:]]
    Path(f"crawl.warc{suffix}").write_bytes(packed(records) if suffix else b"".join(records))
    (counts,) = run(f"filter crawl.warc{suffix} -o out.warc{suffix} --revisit --json").values
    assert [
        counts[name] for name in ("records", "records_written", "revisits", "exact_duplicate")
    ] == [6, 5, 1, 2]
    found = records_in(f"out.warc{suffix}")
    kinds = [kind for kind, _, _ in found]
    assert kinds == ["warcinfo", "response", "revisit", "request", "response"]
    named = [head.get_header("WARC-Target-URI") for _, head, _ in found]
    # A copy by its text alone has no payload that another one holds.
    assert named[1:] == [URLS[0], URLS[1], URLS[1], URLS[3]]
    original, (_, head, body) = found[1][1], found[2]
    assert (body, head.get_header("WARC-Refers-To-Target-URI")) == (b"", URLS[0])
    assert head.get_header("WARC-Refers-To-Date") == original.get_header("WARC-Date")
    assert head.get_header("WARC-Payload-Digest") == original.get_header("WARC-Payload-Digest")
    assert head.get_header("WARC-Record-ID") == "<urn:uuid:b>"
    with Path(f"out.warc{suffix}").open("rb") as file:
        revisit = [*ArchiveIterator(file, no_record_parse=False)][2]
        assert revisit.http_headers.get_header("Content-Type") == "text/html"


def test_revisits_are_for_archives_and_no_wacz_is_written(run: Run) -> None:
    Path("a.jl").write_text('{"url": "x", "text": "y"}\n')
    assert "--revisit is for web archives" in run("filter a.jl -o b.jl --revisit").err
    assert "a WACZ cannot be written" in run(f"filter {wacz('c.wacz', WARCS)} -o d.wacz").err
