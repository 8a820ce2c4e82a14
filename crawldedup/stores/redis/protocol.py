"""Pack what the scripts under `lua/` are sent, and unpack what they answer.

Numbers are big-endian. `lua/lib/records.lua` describes records, `lua/lib/search.lua` questions, and the head of each
script the rest.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from crawldedup.search.limits import STORED_BITS
from crawldedup.search.tables import KEY_BITS
from crawldedup.stores.base import Answer, Record, Status
from crawldedup.stores.candidates import key_costs
from crawldedup.stores.redis.errors import UnexpectedReplyError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from crawldedup.search.crowd import Crowd
    from crawldedup.search.decision import WeightedThreshold
    from crawldedup.search.tables import Order
    from crawldedup.stores.base import CrawlSession, Entry, Layout, Query

RECORDS_PER_LIST: Final = 512
EVERY_PART: Final = 255
KEY_BYTES: Final = 5

_HEAD: Final = struct.Struct(">IIII8s4s8s")
_SEARCH_PLACE: Final = 16
_SIGNATURE_PLACE: Final = _HEAD.size
_QUESTION: Final = struct.Struct(">IIBBIIIIH")
_CROWD: Final = struct.Struct(">IB")
_CRAWL: Final = struct.Struct(">IIBI")
_MOST_COPIES: Final = 0xFF_FFFF
_LOADED: Final = struct.Struct(">II")
_MOST: Final = 0xFFFF_FFFF
_HOME: Final = 0xFF
"""Stands before the home of a page. No URL begins with this byte, so pages of earlier versions have none."""
_RANK: Final = 0xFE
"""Stands before the rank of a page, if that is not 0."""
_PARTS: Final = 8
_NIBBLES: Final = 9
_NOT_KEPT: Final = np.uint64(KEY_BITS - 8 * KEY_BYTES)


def bytes8(value: int) -> bytes:
    """Return eight bytes of a number."""
    return value.to_bytes(8, "big")


def packed_keys(keys: Sequence[int]) -> bytes:
    """Return the keys of a page in all tables, eight bytes each."""
    return struct.pack(f">{len(keys)}Q", *keys)


def packed_order(tables: Sequence[Order]) -> bytes:
    """Return where in a record the bits of the tables' keys are, two bytes each; 0 is a bit that an order lacks."""
    packed = b""
    for table in tables:
        bits = table.order
        places = np.where(bits < KEY_BITS, bits + 8 * _SEARCH_PLACE, bits - KEY_BITS + 8 * _SIGNATURE_PLACE)
        packed += places.astype(">u2").tobytes().ljust(2 * KEY_BITS, b"\0")
    return packed


def question(query: Query, layout: Layout, now: int) -> tuple[bytes, ...]:
    """Return where to look and what to accept; `now` is 0 for the server's clock."""
    entry, rule, retention = query.entry, query.rule, query.retention
    prefilter = query.prefilter
    return (
        _QUESTION.pack(
            now,
            retention.ttl_seconds or 0,
            retention.refresh,
            query.exact_only,
            rule.limit,
            min(query.max_candidates, _MOST),
            min(query.max_keys, _MOST),
            prefilter.limit if prefilter else 0,
            len(entry.signature),
        ),
        packed_keys(entry.keys),
        body_of(entry),
        *_packed_search(query, layout),
        _packed_crowd(rule.crowd),
    )


def beside(asked: Sequence[bytes], costs: Sequence[int]) -> tuple[bytes, ...]:
    """Return the same question, told the costs of pages that resemble the page in other partitions.

    Those of the nearest suffice: a crowd of as many as the rule has limits is as good as a larger one.
    """
    *others, crowd = asked
    return (*others, crowd + costs_packed(sorted(costs)[: _CROWD.unpack_from(crowd)[1]]) if crowd else crowd)


def costs_packed(costs: Sequence[int]) -> bytes:
    """Return costs, four bytes each."""
    return struct.pack(f">{len(costs)}I", *costs)


def costs_unpacked(packed: bytes) -> tuple[int, ...]:
    """Return the costs that were packed."""
    return struct.unpack(f">{len(packed) // 4}I", packed)


def _packed_crowd(crowd: Crowd | None) -> bytes:
    """Return what `read_crowd` reads; nothing without a rule."""
    return b"" if crowd is None else _CROWD.pack(crowd.reach, len(crowd.limits)) + costs_packed(crowd.limits)


def crawl(query: Query, session: CrawlSession, *, again: bool = False, place: int = 0, batch: bytes = b"") -> bytes:
    """Return what a check needs beside the question, but for the pages delivered.

    `again` if the answer to the same one was lost; `place` is the question's in the batch of this name.
    """
    flags = (again or query.is_asked_again) + {True: 0, None: 2, False: 4}[query.is_own] + 8 * query.on_its_way
    flags += 16 * (query.revisit_rule is not None)
    own = _CRAWL.pack(min(query.retention.max_pages or 0, _MOST), session.number, flags, place)
    return own + packed_rule(query.revisit_rule) + batch


def packed_rule(rule: WeightedThreshold | None) -> bytes:
    """Return the rule of revisits, if there is one. It has as many costs as the question's own."""
    return b"" if rule is None else rule.limit.to_bytes(4, "big") + rule.costs


def url_keys_of(pages: Sequence[int]) -> bytes:
    """Return the URL keys of pages, eight bytes each."""
    return b"".join(map(bytes8, pages))


def body_of(entry: Entry | Record) -> bytes:
    """Return a record without its times and counters, which the script puts in front."""
    numbers = struct.pack(">QIQ", entry.search, entry.digest, entry.url_key)
    home = b"" if entry.home is None else bytes((_HOME, entry.home))
    rank = bytes((_RANK, entry.rank)) if entry.rank else b""
    return numbers + entry.signature + home + rank + entry.url.encode("utf-8", "replace")


def _packed_search(query: Query, layout: Layout) -> tuple[bytes, bytes, bytes]:
    """Return the probes, the costs of the threshold, and those of the prefilter.

    A probe has eight bytes: table, lowest key, number of leading bits that its keys share, and a bit for each eighth of
    the range that can hold keys the prefilter accepts. The prefilter has a cost byte for each value of each four bits.
    """
    plan = query.plan
    spans = plan.lows ^ plan.highs
    free = np.frexp((spans >> _NOT_KEPT).astype(np.float64))[1]
    probes = plan.tables.astype(np.uint64) << np.uint64(56)
    probes |= plan.lows >> _NOT_KEPT << np.uint64(16)
    probes |= (8 * KEY_BYTES - free).astype(np.uint64) << np.uint64(8)
    if query.prefilter is None or not len(plan):
        return _bytes_of(probes | np.uint64(EVERY_PART)), query.rule.costs, b""
    costs = np.zeros((len(layout.tables), KEY_BITS), np.float32)
    costs[:, :STORED_BITS] = key_costs(query.prefilter, layout)
    probes |= _wanted_parts(query, query.prefilter.limit, costs, spans, free)
    nibbles = np.minimum(costs[:, : 4 * _NIBBLES].reshape(-1, 4) @ _bits(4).T, 255).astype(np.uint8)
    return _bytes_of(probes), query.rule.costs, nibbles.tobytes()


def _bytes_of(numbers: NDArray[np.uint64]) -> bytes:
    return numbers.astype(">u8").tobytes()


def _wanted_parts(
    query: Query, limit: int, costs: NDArray[np.float32], spans: NDArray[np.uint64], free: NDArray[np.int32]
) -> NDArray[np.uint64]:
    """Return for each probe which eighths of its range can hold accepted keys, one bit each.

    This is worked out for ranges as wide as the last one, which nearly all are; the others want every eighth. `costs`
    are those of the bits of each table's keys, shape (tables, 64).
    """
    plan = query.plan
    own = np.array(query.entry.keys, np.uint64)
    flipped = (own.take(plan.tables) ^ plan.lows) & ~spans
    bits = np.unpackbits(flipped.astype(">u8").view(np.uint8).reshape(-1, 8), axis=1)
    spent = (bits.astype(np.float32) @ costs.T)[np.arange(len(plan)), plan.tables]
    prefix = 8 * KEY_BYTES - int(free[-1])
    next_bits = own >> np.uint64(max(KEY_BITS - prefix - 3, 0)) & np.uint64(7)
    of_parts = _bits(3)[np.arange(_PARTS) ^ next_bits.astype(np.intp)[:, None]]
    next_costs = (of_parts * costs[:, None, prefix : prefix + 3]).sum(axis=2)
    wanted = np.packbits(spent[:, None] + next_costs.take(plan.tables, axis=0) <= limit, axis=1)[:, 0]
    return np.where(free == free[-1], wanted, EVERY_PART).astype(np.uint64)


@cache
def _bits(width: int) -> NDArray[np.float32]:
    """Return the bits of the numbers of so many bits, shape (2^width, width)."""
    return np.unpackbits(np.arange(1 << width, dtype=np.uint8)[:, None], axis=1)[:, -width:].astype(np.float32)


def loaded(records: Sequence[Record], layout: Layout) -> bytes:
    """Return records for the script that loads them."""
    packed = bytearray()
    for record in records:
        copies = min(record.copies, _MOST_COPIES) << 8
        # No crawler has the number 0, so the page is an earlier crawl's.
        body = struct.pack(">IIII", record.added_at, record.seen_at, copies, 0) + body_of(record)
        packed += packed_record(body, layout.keys(record.search, record.signature), record.packed_text)
    return bytes(packed)


def packed_record(record: bytes, keys: Sequence[int], text: bytes) -> bytes:
    """Return a record of a page with these keys and this kept text for the script that loads it."""
    return _LOADED.pack(len(record), len(text)) + packed_keys(keys) + record + text


def crawler_of(record: bytes) -> int:
    """Return the number of the crawler that has delivered a page of the index last, or has it on its way."""
    return int(_HEAD.unpack_from(record)[3])


def answer_from(reply: Any, layout: Layout) -> Answer:
    """Return the answer that the script `check` replied."""
    status, changed, pages, candidates, record, flags, *text = reply
    found = unpacked(record, layout, *text[:1]) if record else None
    return Answer(Status(status.decode()), found, bool(changed), pages, candidates, bool(flags & 1), bool(flags & 2))


def unpacked(record: bytes, layout: Layout, text: bytes = b"") -> Record:
    """Return a record of the index. Raises UnexpectedReplyError for what is not a record."""
    if not isinstance(record, bytes) or len(record) < _HEAD.size + layout.signature_bytes:
        raise UnexpectedReplyError("a reply holds something else than a record of a page")
    added_at, seen_at, copies, _, search, digest, url_key = _HEAD.unpack_from(record)
    end = _HEAD.size + layout.signature_bytes
    home, url = _marked(record, end, _HOME)
    rank, url = _marked(record, url, _RANK)
    return Record(
        url=record[url:].decode("utf-8", "replace"),
        url_key=int.from_bytes(url_key, "big"),
        search=int.from_bytes(search, "big"),
        signature=record[_HEAD.size : end],
        digest=int.from_bytes(digest, "big"),
        added_at=added_at,
        seen_at=seen_at,
        copies=copies >> 8,
        home=home,
        rank=rank or 0,
        packed_text=text,
    )


def _marked(record: bytes, place: int, mark: int) -> tuple[int | None, int]:
    """Return the byte behind a mark at this place, if it is there, and the place behind both."""
    is_there = len(record) > place + 1 and record[place] == mark
    return (record[place + 1], place + 2) if is_there else (None, place)
