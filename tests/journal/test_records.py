from __future__ import annotations

import json

import pytest

from crawldedup.journal.records import LONGEST_URL, header_in, line_of, record_in, shown
from tests.journal.lines import header

HOSTILE = [
    "https://e.com/\"}\n{'",
    "https://e.com/\u202egnp.exe\u2028\x1b[31m",
    "https://e.com/caf\udce9",
    "https://e.com/\ud83d\ude00",
    "https://e.com/" + "\U0001f600" * 10_000,
    "",
]


@pytest.mark.parametrize("url", HOSTILE, ids=ascii)
def test_a_hostile_url_stays_in_its_line(url: str) -> None:
    line = line_of({"url": shown(url)})
    assert line.isascii()
    assert line.splitlines(keepends=True) == [line]
    arrived = json.loads(line)["url"]
    # DuckDB and others refuse what is no Unicode text.
    arrived.encode("utf-8")
    assert arrived[:14] == url[:14]
    assert len(arrived) <= LONGEST_URL


def test_long_urls_that_differ_at_their_ends_stay_different() -> None:
    stem = "https://e.com/" + "a" * 10_000
    cut = {shown(stem + end) for end in "xyz"}
    assert len(cut) == 3
    assert all(len(url) == LONGEST_URL and url.endswith("…") for url in cut)
    assert shown("x" * LONGEST_URL) == "x" * LONGEST_URL


@pytest.mark.parametrize("line", [b"", b"{", b'{"t": 1', b"[1]", b"\xff\xfe", b"[" * 100_000, b'{"a": 1}', b"null"])
def test_what_is_no_header_is_refused(line: bytes) -> None:
    assert header_in(line) is None
    assert line == b'{"a": 1}' or record_in(line) is None


@pytest.mark.parametrize("change", [{"crawldedup_journal": 2}, {"crawl": 7}, {"started": "now"}])
def test_a_header_of_another_version_is_refused(change: dict[str, object]) -> None:
    assert header_in(line_of(header("a"))) == header("a")
    assert header_in(line_of({**header("a"), **change})) is None
