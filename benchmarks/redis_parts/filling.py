"""Indexes of random pages, as large as wanted, within minutes; and questions to them.

A hundred million pages through `Store.check` would take hours of the server. So here the keys of a finished
index are written directly: one ZADD a bucket, one RPUSH a list of records, the filters as long strings. How far an
index of so many pages has been cut is what the rule of `grow` in `writing.lua` comes to.
`redis_index.py verify` compares the outcome with an index that was made page by page.
"""

from __future__ import annotations

import re
import socket
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from benchmarks.redis_parts.server import CLIENT_CORE, LAYOUT, PREFIX, pinned
from benchmarks.shared.common import progress
from crawldedup.search.query import TABLES
from crawldedup.stores.base import DIGEST_MASK
from crawldedup.stores.redis.client import script_text
from crawldedup.stores.redis.protocol import KEY_BYTES
from tests.stores.pages import random_page

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from benchmarks.redis_parts.server import IndexServer
    from tests.stores.pages import Page

    Keys = NDArray[np.uint64]
    Packet = list[bytes | memoryview]

URL = "https://www.example.com/section/{:020d}/page-{:012d}.html?n=0"
URL_BYTES = len(URL.format(0, 0))
PLANTS = 2_000
"""So many pages stand first in every index: those that are looked for."""
SINCE_1970 = 1_760_000_000

RECORDS_PER_LIST = 512
CHUNK = 256 * RECORDS_PER_LIST
"""Records that are made and sent at a time."""
SLICE_BITS = 5
"""A table is made in so many bits' slices by its leading bits: the rest of a key and a page number are 64 bits."""
KEPT_BITS = 8 * KEY_BYTES
PAGE_BITS = 64 - (KEPT_BITS - SLICE_BITS)
MOST_PAGES = 1 << PAGE_BITS
PIECE_BYTES = 1 << 20

# Rows as they are sent: what comes before an argument, the argument, what comes after it.
MEMBER_PREFIX, END = b"$1\r\n0\r\n$9\r\n", b"\r\n"
MEMBER = np.dtype([("prefix", f"S{len(MEMBER_PREFIX)}"), ("key", "u1", KEY_BYTES), ("page", ">u4"), ("end", "S2")])
HEAD = [("added_at", ">u4"), ("seen_at", ">u4"), ("copies", ">u4"), ("crawler", ">u4")]
BODY = [("search", ">u8"), ("digest", ">u4"), ("url_key", ">u8"), ("signature", "u1", LAYOUT.signature_bytes)]


def number_in_layout(name: str) -> int:
    """A number that the scripts know."""
    found = re.search(rf"^local {name} = (\d+)", script_text("join"), re.MULTILINE)
    if found is None:
        raise LookupError(f"layout.lua has no {name}")
    return int(found[1])


BUCKET_PAGES, FILTER_BITS = number_in_layout("BUCKET_PAGES"), number_in_layout("FILTER_BITS")


@dataclass(frozen=True)
class Cut:
    """How far the tables of an index are cut: the first `split` of 2^depth buckets once more."""

    depth: int
    split: int

    @classmethod
    def of(cls, pages: int) -> Cut:
        """Where an index of so many pages has come to, that never held more."""
        buckets = max(1, -(-pages // BUCKET_PAGES))
        depth = buckets.bit_length() - 1
        return cls(depth, buckets - (1 << depth))

    def depths(self, keys: Keys) -> Keys:
        """How deep the buckets lie that hold keys of KEPT_BITS bits."""
        return self.depth + (keys < self.split << KEPT_BITS - self.depth).astype(np.uint64)

    def buckets(self, keys: Keys) -> Keys:
        """The names of those buckets."""
        depths = self.depths(keys)
        return (np.uint64(1) << depths) + (keys >> KEPT_BITS - depths)


def filtered_bits(depth: int) -> int:
    """Bits of a key that the filter of a bucket of this depth tells."""
    return depth + min(FILTER_BITS, 32 - depth)


class Wire:
    """A connection that sends one packet of commands while the next is made. Raises RuntimeError if one is refused."""

    def __init__(self, server: IndexServer) -> None:
        self._socket = socket.create_connection(("127.0.0.1", server.port))
        self._sender = ThreadPoolExecutor(1)
        self._under_way: Future[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._sender.shutdown()
        self._socket.close()

    def send(self, packet: Packet, commands: int) -> None:
        """Send these as soon as the server has answered those before."""
        joined = b"".join(packet)
        self.wait()
        self._under_way = self._sender.submit(self._exchange, joined, commands)

    def wait(self) -> None:
        """Return when the server has answered everything."""
        if self._under_way is not None:
            self._under_way.result()

    def _exchange(self, packet: bytes, commands: int) -> None:
        self._socket.sendall(packet)
        # All answers are numbers, a line each, and none of them is below 0.
        while commands > 0:
            answers = self._socket.recv(1 << 16)
            if not answers or b"-" in answers:
                raise RuntimeError(f"the server refuses to be filled: {answers[:200].decode(errors='replace')}")
            commands -= answers.count(b"\n")


def begun(count: int, *arguments: bytes) -> bytes:
    """The first arguments of a command of `count` arguments."""
    return b"*%d\r\n" % count + b"".join(b"$%d\r\n%b\r\n" % (len(argument), argument) for argument in arguments)


def grouped(rows: NDArray[np.void], starts: Sequence[int], begin: Callable[[int, int], bytes]) -> Packet:
    """A command for each run of rows: what `begin` makes of its first row and their number, and the rows."""
    sent, size = memoryview(rows.tobytes()), rows.itemsize
    packet: Packet = []
    for first, last in zip(starts, [*starts[1:], len(rows)], strict=True):
        packet += (begin(first, last - first), sent[first * size : last * size])
    return packet


def plants() -> list[Page]:
    """The pages that stand first in every index."""
    rng = np.random.default_rng(4)
    return [random_page(rng) for _ in range(PLANTS)]


def random_rows(start: int, count: int, urls: bool) -> NDArray[np.void]:
    """Records of unrelated pages; the same for the same `start`."""
    size = sum(np.dtype([part]).itemsize for part in (*HEAD, *BODY)) + URL_BYTES * urls
    prefix = b"$%d\r\n" % size
    url = [("url", f"S{URL_BYTES}")] if urls else []
    rows = np.zeros(count, [("prefix", f"S{len(prefix)}"), *HEAD, *BODY, *url, ("end", "S2")])
    rng = np.random.default_rng([6, start])
    rows["prefix"], rows["end"] = prefix, END
    rows["added_at"] = rows["seen_at"] = SINCE_1970
    for name in ("search", "digest", "url_key"):
        rows[name] = rng.integers(0, 1 << 8 * rows[name].itemsize, count, np.uint64)
    rows["signature"] = np.frombuffer(rng.bytes(rows["signature"].size), np.uint8).reshape(count, -1)
    if start == 0:
        for row, page in zip(rows, plants(), strict=False):
            row["search"], row["digest"], row["url_key"] = page.search, page.digest & DIGEST_MASK, page.digest
            row["signature"] = np.frombuffer(page.signature, np.uint8)
    if urls:
        numbers = range(start, start + count)
        rows["url"] = [URL.format(*parts).encode() for parts in zip(rows["url_key"].tolist(), numbers, strict=True)]
    return rows


def fill(server: IndexServer, pages: int, *, urls: bool) -> None:
    """Write an index of so many pages; a store has made the head of an empty one."""
    reader, head = server.reader(), f"{PREFIX}m"
    epoch: Any = reader.hget(head, "epoch")
    steps = pages * (len(TABLES) + 2)
    with pinned(CLIENT_CORE), Wire(server) as wire, progress(f"writing {pages:,} pages", steps) as advance:
        cut = Filler(wire, f"{PREFIX}{epoch}:", pages, urls, advance).fill()
    reader.hset(head, mapping={"pages": pages, "next": pages, "depth": cut.depth, "split": cut.split})


@dataclass
class Filler:
    """Writes an index whose keys begin with `data`."""

    wire: Wire
    data: str
    pages: int
    urls: bool
    advance: Callable[[int], None]

    def fill(self) -> Cut:
        """Write everything but the head of the index."""
        cut = Cut.of(self.pages)
        search, url_keys = self._records()
        keys = np.empty_like(search)
        for number, table in enumerate(TABLES):
            for start in range(0, self.pages, CHUNK):
                keys[start : start + CHUNK] = table.keys(search[start : start + CHUNK])
            self._table(f"t{number}", keys, cut, f"f{number}")
        self._table("u", url_keys, cut)
        self.wire.wait()
        return cut

    def _records(self) -> tuple[Keys, Keys]:
        """Write the records; the search bits and URL keys of all pages."""
        search, url_keys = np.empty(self.pages, np.uint64), np.empty(self.pages, np.uint64)
        for start in range(0, self.pages, CHUNK):
            rows = random_rows(start, min(CHUNK, self.pages - start), self.urls)
            search[start : start + CHUNK], url_keys[start : start + CHUNK] = rows["search"], rows["url_key"]

            def begin(first: int, count: int, start: int = start) -> bytes:
                key = f"{self.data}r:{(start + first) // RECORDS_PER_LIST}"
                return begun(2 + count, b"RPUSH", key.encode())

            starts = range(0, len(rows), RECORDS_PER_LIST)
            self.wire.send(grouped(rows, starts, begin), len(starts))
            self.advance(len(rows))
        return search, url_keys

    def _table(self, name: str, keys: Keys, cut: Cut, filter_name: str | None = None) -> None:
        """Write a table, given the keys of all pages, slice by slice."""
        slices = (keys >> np.uint64(64 - SLICE_BITS)).astype(np.uint8)
        low_bits = np.uint64(MOST_PAGES - 1)
        for number in range(1 << SLICE_BITS):
            pages = np.flatnonzero(slices == number).astype(np.uint64)
            packed = keys[pages] << np.uint64(SLICE_BITS) & ~low_bits | pages
            packed.sort()
            of_slice = packed >> np.uint64(PAGE_BITS) | np.uint64(number << KEPT_BITS - SLICE_BITS)
            if filter_name:
                self._filter(filter_name, of_slice, cut, number)
            # The server looks for a member's place from the first one on: there it is, if the last come first.
            self._buckets(name, of_slice[::-1], packed[::-1] & low_bits, cut)
            self.advance(len(pages))

    def _buckets(self, name: str, keys: Keys, pages: Keys, cut: Cut) -> None:
        """Write members, given in the order of their keys."""
        rows = np.empty(len(keys), MEMBER)
        rows["prefix"], rows["page"], rows["end"] = MEMBER_PREFIX, pages, END
        rows["key"] = (keys << np.uint64(64 - KEPT_BITS)).astype(">u8").view(np.uint8).reshape(-1, 8)[:, :KEY_BYTES]
        names = cut.buckets(keys)
        starts = np.flatnonzero(np.diff(names, prepend=np.uint64(0))).tolist()
        of_start = dict(zip(starts, names[starts].tolist(), strict=True))

        def begin(first: int, count: int) -> bytes:
            return begun(2 + 2 * count, b"ZADD", f"{self.data}{name}:{of_start[first]}".encode())

        self.wire.send(grouped(rows, starts, begin), len(starts))

    def _filter(self, name: str, keys: Keys, cut: Cut, number: int) -> None:
        """Write the filter of one slice of the keys, up to the last bucket of each depth."""
        depths = cut.depths(keys)
        packet: Packet = []
        for depth in np.unique(depths).tolist():
            bits = filtered_bits(depth)
            first = number << bits - SLICE_BITS
            flags = np.zeros(1 << bits - SLICE_BITS, np.bool_)
            flags[(keys[depths == depth] >> KEPT_BITS - bits).astype(np.intp) - first] = True
            # Below `split` the deeper string has its buckets, and ends with the last of them.
            end = (2 * cut.split << bits - depth) - first if depth > cut.depth else len(flags)
            filled = np.packbits(flags[:end]).tobytes()
            for place in range(0, len(filled), PIECE_BYTES):
                piece = filled[place : place + PIECE_BYTES]
                key, offset = f"{self.data}{name}:{depth}", first // 8 + place
                packet.append(begun(4, b"SETRANGE", key.encode(), b"%d" % offset, piece))
        self.wire.send(packet, len(packet))
