"""Pack what the scripts under `lua/` are sent, and unpack what they answer.

Numbers are big-endian. `lua/lib/records.lua` describes records, `lua/lib/search.lua` questions, and the head of each
script the rest. A batch is packed by arrays over the probes of all its queries.
"""

import struct
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from crawldedup.search.decision import Crowd
from crawldedup.search.plan import KEY_BITS, STORED_BITS, Table
from crawldedup.stores import base
from crawldedup.stores.base import Answer, Layout, PageName, Query, Record, Status

RECORDS_PER_LIST: Final = 512
EVERY_PART: Final = 255
KEY_BYTES: Final = 5

_HEAD: Final = struct.Struct(">IIIIQIQ")
_SEARCH_PLACE: Final = 16
_QUESTION: Final = struct.Struct(">IIBBIIIIH")
_BODY: Final = struct.Struct(">QIQ")
_CRAWL: Final = struct.Struct(">IIBI")
_IS_PENDING, _HAS_RULE = 1, 2
_ANSWER: Final = struct.Struct(">BBIII")
_CHANGED, _ABANDONED, _REPLACES = 1, 2, 4
_STATUSES: Final = (Status.NEW, Status.NEAR, Status.EXACT, Status.REVISIT)
_MOST: Final = 0xFFFF_FFFF
_RANK_MARK: Final = b"\xfe"  # before the rank of a page, if that is not 0
_PARTS: Final = 8
_NIBBLES: Final = 9
_NO_COSTS: Final = bytes(KEY_BITS)
_NOT_KEPT: Final = np.uint64(KEY_BITS - 8 * KEY_BYTES)
_PAGE_BYTES: Final = base.PAGE_BITS // 8

Numbers = NDArray[np.uint64]
Costs = NDArray[np.float32]


def pack_order(tables: Sequence[Table]) -> bytes:
    """Return where in a record the bits of the tables' keys are, two bytes each; 0 is a bit that an order lacks."""
    orders = ((table.order + 8 * _SEARCH_PLACE).astype(">u2").tobytes() for table in tables)
    return b"".join(order.ljust(2 * KEY_BITS, b"\0") for order in orders)


def pack_questions(queries: Sequence[Query], layout: Layout, now: int) -> list[tuple[bytes, ...]]:
    """Return for each query its limits, keys, body, probes, costs of the rule and of the prefilter, and crowd.

    `now` is 0 for the server's clock. A body is a record without its times and counters. A probe has eight bytes:
    table, lowest key, number of leading bits that its keys share, and a bit for each eighth of the range that can hold
    keys the prefilter accepts. The prefilter has a cost byte for each value of each four bits.
    """
    if not queries:
        return []
    keys = np.array([query.keys for query in queries], np.uint64)
    costs = np.zeros((*keys.shape, KEY_BITS), np.float32)
    given = b"".join(query.prefilter.costs if query.prefilter else _NO_COSTS for query in queries)
    costs[:, :, :STORED_BITS] = np.frombuffer(given, np.uint8).reshape(-1, KEY_BITS)[:, _key_bits(layout.tables)]
    by_nibble = costs[:, :, : 4 * _NIBBLES].reshape(-1, 4) @ _bits(4)
    probes = _pack_probes(queries, keys, costs.ravel(), by_nibble.ravel()).astype(">u8").tobytes()
    nibbles = np.minimum(by_nibble, 255).astype(np.uint8).reshape(len(queries), -1)
    own_keys, first = keys.astype(">u8"), 0
    packed: list[tuple[bytes, ...]] = []
    for place, query in enumerate(queries):
        record, kept, rule, last = query.record, query.retention, query.rule, first + 8 * len(query.plan)
        key_limit, key_costs = (query.prefilter.limit, nibbles[place].tobytes()) if query.prefilter else (0, b"")
        most = (min(query.max_candidates, _MOST), min(query.max_keys, _MOST), key_limit, len(record.signature))
        head = _QUESTION.pack(now, kept.ttl_seconds or 0, kept.refresh, query.exact_only, rule.limit, *most)
        rank = _RANK_MARK + bytes((record.rank,)) if record.rank else b""
        body = _BODY.pack(record.search, record.digest, record.url_key) + record.signature + rank
        body += record.url.encode("utf-8", "replace")
        search = (own_keys[place].tobytes(), body, probes[first:last])
        packed.append((head, *search, rule.costs, key_costs, _pack_crowd(rule.crowd)))
        first = last
    return packed


@lru_cache(64)
def _pack_crowd(crowd: Crowd | None) -> bytes:
    return b"" if crowd is None else struct.pack(f">I{len(crowd.limits)}I", crowd.reach, *crowd.limits)


def _pack_probes(queries: Sequence[Query], keys: Numbers, costs: Costs, by_nibble: Costs) -> Numbers:
    """Return the probes of all queries, given the costs of the bits of their keys, and of each four bits.

    Which eighths of a range are wanted is worked out for ranges as wide as the last one of the page, which nearly all
    are; the others want every eighth.
    """
    counts = np.array([len(query.plan) for query in queries])
    if not counts.any():
        return np.empty(0, np.uint64)
    tables, lows, highs = (
        np.concatenate([getattr(query.plan, name) for query in queries]) for name in ("tables", "lows", "highs")
    )
    spans = lows ^ highs
    free = np.frexp((spans >> _NOT_KEPT).astype(np.float64))[1]
    page = np.arange(len(queries)).repeat(counts)
    row = page * keys.shape[1] + tables
    usual = free.take(counts.cumsum() - 1)
    prefix = (8 * KEY_BYTES - usual).repeat(keys.shape[1])
    own = keys.ravel()
    flipped = (own.take(row) ^ lows) & ~spans
    spent = np.zeros(len(lows), np.float32)
    for number in range(min(-(-int(prefix.max()) // 4), _NIBBLES)):
        nibble = (flipped >> np.uint64(KEY_BITS - 4 - 4 * number) & np.uint64(15)).astype(np.int64)
        spent += by_nibble.take((row * _NIBBLES + number) * 16 + nibble)
    # The three bits behind the prefix tell the eighths of a range.
    first_bits = np.arange(len(own)) * KEY_BITS + prefix
    by_part = costs.take(first_bits[:, None] + np.arange(3)) @ _bits(3)
    own_part = (own >> np.maximum(KEY_BITS - 3 - prefix, 0).astype(np.uint64) & np.uint64(7)).astype(np.int64)
    part = (row * _PARTS)[:, None] + (np.arange(_PARTS) ^ own_part.take(row)[:, None])
    limits = np.array([query.prefilter.limit if query.prefilter else 0 for query in queries], np.float32)
    is_wanted = by_part.take(part) <= (limits.take(page) - spent)[:, None]
    wanted = np.where(free == usual.take(page), np.packbits(is_wanted, axis=1)[:, 0], EVERY_PART)
    probes: Numbers = tables.astype(np.uint64) << np.uint64(56) | lows >> _NOT_KEPT << np.uint64(16)
    probes |= (8 * KEY_BYTES - free << 8 | wanted).astype(np.uint64)
    return probes


@cache
def _key_bits(tables: tuple[Table, ...]) -> NDArray[np.intp]:
    """Return the fingerprint bits of each table's keys, as far as they are kept, shape (tables, STORED_BITS)."""
    return np.stack([table.order[:STORED_BITS] for table in tables])


@cache
def _bits(width: int) -> Costs:
    """Return the bits of the numbers of so many bits, shape (width, 2^width)."""
    numbers = np.arange(1 << width, dtype=np.uint8)[:, None]
    return np.ascontiguousarray(np.unpackbits(numbers, axis=1)[:, -width:].T.astype(np.float32))


def pack_crawl(query: Query, session: base.CrawlSession, place: int, batch: bytes, most: int | None) -> bytes:
    """Return what a check needs beside the question, the names of delivered pages and the text.

    `place` is the question's in the batch of this name, which is empty for one question; `most` limits the pages.
    """
    rule = query.revisit_rule
    flags = _IS_PENDING * query.is_pending + _HAS_RULE * (rule is not None)
    own = _CRAWL.pack(min(most or 0, _MOST), session.number, flags, place)
    return own + (rule.limit.to_bytes(4, "big") + rule.costs if rule else b"") + batch


def pack_names(names: Sequence[PageName]) -> bytes:
    """Return the URL keys of pages, eight bytes each."""
    return struct.pack(f">{len(names)}Q", *(name.url_key for name in names))


def crawler_of(reply: bytes) -> int:
    """Return the number of the crawler that has delivered the page in the reply of `check`, or has it pending."""
    return int(_HEAD.unpack_from(reply, _ANSWER.size)[3])


def unpack_answer(reply: bytes, layout: Layout) -> Answer:
    """Return what the script `check` replied."""
    status, how, pages, candidates, size = _ANSWER.unpack_from(reply)
    end = _ANSWER.size + size
    record = unpack_record(reply[_ANSWER.size : end], layout, reply[end:]) if size else None
    is_changed, is_abandoned, replaces = (bool(how & flag) for flag in (_CHANGED, _ABANDONED, _REPLACES))
    return Answer(_STATUSES[status], record, is_changed, pages, candidates, is_abandoned, replaces)


def unpack_record(record: bytes, layout: Layout, text: bytes = b"") -> Record:
    """Return a record of the index. Raises ValueError or struct.error for what is none."""
    added_at, seen_at, copies, _, search, digest, url_key = _HEAD.unpack_from(record)
    end = _HEAD.size + layout.signature_bytes
    if len(record) < end:
        raise ValueError("a record is too short")
    rank, place = (record[end + 1], end + 2) if record[end : end + 1] == _RANK_MARK else (0, end)
    url, signature = record[place:].decode("utf-8", "replace"), record[_HEAD.size : end]
    return Record(url, url_key, search, signature, digest, rank, text, added_at, seen_at, copies >> 8)


def pack_anchors(query: base.AnchorQuery) -> tuple[bytes, ...]:
    """Return the page of a query, its URL, and its anchors."""
    page = query.name.page.to_bytes(_PAGE_BYTES, "big")
    return page, query.url.encode("utf-8", "replace"), struct.pack(f">{len(query.anchors)}Q", *query.anchors)


def unpack_holders(reply: Sequence[Any]) -> base.Holders:
    """Return what the script `anchors` replied."""
    is_known, lists, named = reply
    held = tuple(None if len(packed) >= base.MOST_HOLDERS * _PAGE_BYTES else _pages(packed) for packed in lists)
    urls = {_pages(page)[0]: url.decode("utf-8", "replace") for page, url in zip(named[::2], named[1::2], strict=True)}
    return base.Holders(held, urls, bool(is_known))


def _pages(packed: bytes) -> tuple[int, ...]:
    starts = range(0, len(packed), _PAGE_BYTES)
    return tuple(int.from_bytes(packed[at : at + _PAGE_BYTES], "big") for at in starts)
