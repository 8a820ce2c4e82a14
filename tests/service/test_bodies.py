"""Compressed request bodies are read like plain ones, and never expand to gigabytes."""

from __future__ import annotations

import gzip
import json
import time
import tracemalloc
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from crawldedup.commands.packing import zstandard
from crawldedup.errors import MissingDependencyError
from crawldedup.service import bodies
from crawldedup.service.bodies import coding_of, unpacked
from crawldedup.service.problems import ProblemError
from tests.service.serving import Service, service_here, story

ZSTD: Any = zstandard("a test")
MOST = 100_000
PACK = {"gzip": gzip.compress, "zstd": ZSTD.compress}
CODINGS = pytest.mark.parametrize("coding", PACK)


@pytest.fixture(scope="module")
def small() -> Iterator[Service]:
    """A service that takes bodies of 100,000 bytes."""
    with service_here(max_body=MOST) as started:
        yield started


def send(service: Service, coding: str, body: bytes, kind: str = "application/json") -> Any:
    headers = {"content-type": kind, "content-encoding": coding}
    return service.http.post("/v1/check?url=https://a.example/", content=body, headers=headers)


@CODINGS
def test_a_compressed_page_is_read_as_a_plain_one(small: Service, coding: str) -> None:
    begin = sum(coding.encode())
    text = " ".join(story(number) for number in range(begin, begin + 20))
    first = small.check(f"https://{coding}.example/plain", text=text)
    page = {"url": f"https://{coding}.example/packed", "text": text}
    for body in (
        PACK[coding](json.dumps(page).encode()),
        # A body of several members, as programs make it that append.
        PACK[coding](json.dumps(page).encode()[:50]) + PACK[coding](json.dumps(page).encode()[50:]),
    ):
        answer = send(small, coding, body)
        assert (answer.status_code, answer.json()["original"]) == (200, first["url"])
    html = PACK[coding](f"<p>{story(3)}".encode())
    assert send(small, coding, html, "text/html").status_code == 200
    form = PACK[coding](b"first=one&second=two")
    headers = {"content-type": "application/x-www-form-urlencoded", "content-encoding": coding}
    assert small.http.post("/", content=form, headers=headers).status_code == 200


@CODINGS
@pytest.mark.parametrize("size", [MOST + 1, 300_000_000])
def test_a_body_that_holds_too_much_is_refused(small: Service, coding: str, size: int) -> None:
    bomb = PACK[coding](b" " * size)
    begun = time.monotonic()
    answer = send(small, coding, bomb[:MOST])
    assert (answer.status_code, "100,000 bytes" in answer.json()["detail"]) == (413, True)
    assert time.monotonic() - begun < 5
    assert send(small, coding, PACK[coding](b" " * MOST)).status_code == 400  # no JSON


@CODINGS
def test_what_a_body_holds_is_bounded_while_it_is_decompressed(coding: str) -> None:
    bomb = PACK[coding](bytes(50_000_000))
    tracemalloc.start()
    try:
        with pytest.raises(ProblemError, match="8,388,608 bytes"):
            unpacked(bomb, coding, 8 << 20)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 40_000_000


@pytest.mark.parametrize(
    ("coding", "body", "said"),
    [
        ("gzip", b"{}", "damaged"),
        ("gzip", b"", "cut off"),
        ("gzip", gzip.compress(b"{}", mtime=0)[:-1], "cut off"),
        ("gzip", gzip.compress(b"{}", mtime=0) + b"rest", "damaged"),
        ("gzip", zlib.compress(b"{}"), "damaged"),
        ("zstd", b"{}{}{}{}", "damaged"),
        ("zstd", ZSTD.compress(b"{}" * 99)[:-1], "cut off"),
        ("gzip", gzip.compress(b"", mtime=0) * 1_001, "1,000 members"),
        ("zstd", ZSTD.compress(b"") * 1_001, "1,000 members"),
        # 3,000 letters in a frame whose decoder may ask for 128 MB.
        ("zstd", bytes.fromhex("28b52ffd0088550000186162630100b2d37743"), "too much memory"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_damaged_body_is_refused(small: Service, coding: str, body: bytes, said: str) -> None:
    answer = send(small, coding, body)
    assert (answer.status_code, answer.json()["type"]) == (400, "urn:crawldedup:invalid")
    assert said in answer.json()["detail"]


def test_many_members_take_no_time() -> None:
    """The bytes after a member must not all be copied for each member."""
    body = gzip.compress(b"x") * 1_000 + gzip.compress(b"y" * 1000)
    body += bytes(7 << 20)
    begun = time.process_time()
    with pytest.raises(ProblemError):
        unpacked(body, "gzip", 8 << 20)
    assert time.process_time() - begun < 2


@pytest.mark.parametrize(
    "values", [["br"], ["gzip, gzip"], ["gzip", "zstd"], ["identity, gzip"], ["x" * 9000]]
)
def test_other_codings_are_refused_with_those_that_are_taken(values: list[str]) -> None:
    headers = [(b"content-encoding", value.encode()) for value in values]
    with pytest.raises(ProblemError, match="gzip, zstd") as raised:
        coding_of(headers)
    assert raised.value.problem.status == 415
    assert raised.value.headers["accept-encoding"] == "gzip, zstd"
    assert len(raised.value.problem.detail) < 300


@pytest.mark.parametrize(("value", "coding"), [("", ""), ("Identity", ""), ("GZIP ", "gzip")])
def test_codings_are_read_in_any_case(value: str, coding: str) -> None:
    assert coding_of([(b"content-encoding", value.encode())]) == coding
    assert coding_of([(b"content-length", b"1")]) == ""


def test_without_zstandard_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(what: str) -> object:
        raise MissingDependencyError(f"{what} needs pip install backports.zstd")

    monkeypatch.setattr(bodies, "zstandard", missing)
    with pytest.raises(ProblemError, match=r"pip install backports\.zstd") as raised:
        unpacked(ZSTD.compress(b"{}"), "zstd", MOST)
    assert raised.value.problem.status == 415
