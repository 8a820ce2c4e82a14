"""How an index is cut into partitions, and what their scripts are sent and answer.

A partition is one hash slot: 16 of them, spread evenly over the slots, so that masters that share the slots share the
pages. The scripts are those under `lua/`; their heads tell the formats.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np
from redis.crc import key_slot

from crawldedup.search.tables import KEY_BITS
from crawldedup.stores.candidates import choose_pages
from crawldedup.stores.packed_keys import pack_key
from crawldedup.stores.redis.protocol import EVERY_PART, KEY_BYTES, question

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from crawldedup.stores.base import Layout, Query

PARTITIONS: Final = 16
_LEADING_BITS: Final = 4
_NUMBER_BITS: Final = 28
_NUMBER_MASK: Final = (1 << _NUMBER_BITS) - 1
_SLOTS: Final = 16384
_SHIFTED_BITS: Final = 36
"""Of a key: the leading bits and the 32 in front of which they are not, as it is kept in a partition."""

_ENTRY: Final = struct.Struct(">BQI")
_FOUND: Final = np.dtype([("page", ">u4"), ("cost", ">u2"), ("probe", ">u2")])
_NOT_KEPT: Final = np.uint64(KEY_BITS - 8 * KEY_BYTES)
_ACCEPTED: Final = struct.Struct(">III")


@cache
def prefixes(namespace: str) -> tuple[str, ...]:
    """What the keys of each partition begin with. The braces hold what Redis derives the slot from."""
    return tuple(_prefix(namespace, partition) for partition in range(PARTITIONS))


def _prefix(namespace: str, partition: int) -> str:
    attempt = 0
    while True:
        prefix = f"crawldedup:{{{namespace}.{partition:x}{attempt or ''}}}:"
        if key_slot(prefix.encode()) * PARTITIONS // _SLOTS == partition:
            return prefix
        attempt += 1


def home_of(page: int) -> int:
    """The partition that has a page's record."""
    return page >> _NUMBER_BITS


def number_of(page: int) -> bytes:
    """What the page's home calls it."""
    return (page & _NUMBER_MASK).to_bytes(4, "big")


def packed_id(page: int) -> bytes:
    """A page as the tables have it."""
    return page.to_bytes(4, "big")


def unpacked_ids(packed: bytes) -> list[int]:
    """Pages that are told as the tables have them."""
    return [int.from_bytes(packed[place : place + 4], "big") for place in range(0, len(packed), 4)]


def page_id(home: int, number: bytes | int) -> int:
    """What the tables call the page that its home calls `number`."""
    local = number if isinstance(number, int) else int.from_bytes(number, "big")
    return home << _NUMBER_BITS | local


def page_ids(home: int, packed: bytes) -> list[int]:
    """The ids of pages, from their packed numbers."""
    return [page_id(home, packed[place : place + 4]) for place in range(0, len(packed), 4)]


def by_home(pages: Iterable[int]) -> dict[int, bytes]:
    """For each home, the packed numbers of those pages that are its own."""
    parts: dict[int, bytes] = {}
    for page in pages:
        home = home_of(page)
        parts[home] = parts.get(home, b"") + number_of(page)
    return parts


def partition_of_key(key: int) -> int:
    """The partition that holds a key of any table: its leading bits."""
    return key >> KEY_BITS - _LEADING_BITS


def shifted(key: int) -> int:
    """A key as its partition keeps it: the leading bits, which are the same there for all, behind the next 32."""
    return (key >> 28 & 0xFFFF_FFFF) << 32 | key >> 60 << 28 | key & 0x0FFF_FFFF


def entries(pages: Iterable[tuple[int, Sequence[int]]]) -> dict[int, bytes]:
    """For each partition, in their order, what is filed there, of pages given by id and keys."""
    parts: dict[int, bytearray] = {}
    for page, keys in pages:
        for table, key in enumerate(keys):
            parts.setdefault(partition_of_key(key), bytearray()).extend(_ENTRY.pack(table, shifted(key), page))
    return {partition: bytes(part) for partition, part in sorted(parts.items())}


@dataclass(frozen=True, slots=True)
class SplitQuestion:
    """A question, for the partitions of the tables and for homes.

    `probes` has for each partition the numbers of the probes that read ranges of it.
    """

    header: bytes
    keys: bytes
    body: bytes
    costs: bytes
    key_costs: bytes
    parts: dict[int, bytes]
    probes: dict[int, NDArray[np.intp]]

    def to_home(self) -> tuple[bytes, ...]:
        """What a home must know to judge."""
        return self.header, b"", self.body, b"", self.costs, b""

    def to_tables(self, partition: int) -> tuple[bytes, ...]:
        """What a partition of the tables must know to look there."""
        return self.header, self.keys, b"", self.parts.get(partition, b""), b"", self.key_costs


def split(query: Query, layout: Layout, now: int) -> SplitQuestion:
    """The question of a query; `now` is 0 for the servers' clocks."""
    header, _, body, packed, costs, key_costs = question(query, layout, now)
    probes = np.frombuffer(packed, np.uint8).reshape(-1, 8)
    moved, low_parts, counts = _moved(probes)
    parts: dict[int, bytes] = {}
    chosen: dict[int, NDArray[np.intp]] = {}
    for partition in range(PARTITIONS):
        inside = np.flatnonzero((low_parts <= partition) & (partition < low_parts + counts))
        if len(inside):
            parts[partition] = moved[inside].tobytes()
            chosen[partition] = inside
    nibbles = np.frombuffer(key_costs, np.uint8).reshape(-1, 9, 16)
    return SplitQuestion(
        header=header,
        keys=struct.pack(f">{len(query.entry.keys)}Q", *map(shifted, query.entry.keys)),
        body=body,
        costs=costs,
        # The cost of what differs in the leading bits moves with them.
        key_costs=np.roll(nibbles, -1, axis=1).tobytes(),
        parts=parts,
        probes=chosen,
    )


def _moved(probes: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.intp], NDArray[np.intp]]:
    """Probes of shifted keys, the first partition that each is for, and how many there are; shapes (probes, ..)."""
    padded = np.zeros((len(probes), 8), np.uint8)
    padded[:, 8 - KEY_BYTES :] = probes[:, 1 : 1 + KEY_BYTES]
    lows = padded.view(">u8").ravel().astype(np.uint64)
    bits = probes[:, 6].astype(np.intp)
    kept = 8 * KEY_BYTES
    leading = (lows >> np.uint64(kept - _LEADING_BITS)).astype(np.intp)
    following = lows >> np.uint64(_LEADING_BITS) & np.uint64(0xFFFF_FFFF)
    whole = following << np.uint64(8) | lows >> np.uint64(kept - _LEADING_BITS) << np.uint64(4) | lows & np.uint64(15)
    is_whole = bits > _SHIFTED_BITS
    lows = np.where(is_whole, whole, following << np.uint64(8))
    moved = probes.copy()
    moved[:, 1 : 1 + KEY_BYTES] = lows.astype(">u8").view(np.uint8).reshape(-1, 8)[:, 8 - KEY_BYTES :]
    moved[:, 6] = np.where(is_whole, bits, np.maximum(bits - _LEADING_BITS, 0))
    # Parts of a range that spans several partitions are none of a range within one.
    moved[bits < _LEADING_BITS, 7] = EVERY_PART
    return moved, leading, 1 << np.maximum(_LEADING_BITS - bits, 0)


def best_pages(query: Query, found: dict[int, bytes], split_question: SplitQuestion) -> list[int]:
    """The pages to compare, of what all partitions found: those of the lowest costs, the best ranges first."""
    if not found:
        return []
    rows = [np.frombuffer(packed, _FOUND) for packed in found.values()]
    probes = [
        split_question.probes[partition].take(row["probe"].astype(np.intp) - 1)
        for partition, row in zip(found, rows, strict=True)
    ]
    pages, costs = (np.concatenate([row[name] for row in rows]).astype(np.intp) for name in ("page", "cost"))
    order = np.lexsort((np.concatenate(probes), costs))
    return list(dict.fromkeys(pages.take(order).tolist()))[: query.max_candidates]


def finds(query: Query, layout: Layout, keys: Sequence[int]) -> bool:
    """Whether the ranges of a query reach a page with these keys, and its key rule accepts it."""
    plan = query.plan
    others = np.array(keys, np.uint64).take(plan.tables)
    lows, highs, kept = (values >> _NOT_KEPT for values in (plan.lows, plan.highs, others))
    reached = np.flatnonzero((lows <= kept) & (kept <= highs))
    packed = np.array([pack_key(key, 0) for key in others[reached].tolist()], np.uint64)
    return bool(choose_pages(query, layout, plan.tables[reached], packed))


def found_pages(packed: bytes) -> list[int]:
    """The pages that one partition found."""
    pages: list[int] = np.frombuffer(packed, _FOUND)["page"].tolist()
    return pages


def accepted_pages(home: int, packed: bytes) -> list[tuple[int, int, int]]:
    """What a home accepts: cost, time of adding, and page."""
    return [(cost, added, page_id(home, number)) for cost, added, number in _ACCEPTED.iter_unpack(packed)]
