"""Pack what the scripts under `lua/` are sent, and unpack what they answer.

Numbers are big-endian. `lua/lib/records.lua` describes records, `lua/lib/search.lua` questions, and
the head of each script the rest. A batch is packed by arrays over the probes of all its queries.
"""

import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from crawldedup.search.decision import Crowd, WeightedThreshold
from crawldedup.search.plan import KEY_BITS, STORED_BITS, ProbePlan, Table
from crawldedup.stores import contract
from crawldedup.stores.contract import Answer, Layout, PageName, Query, Record
from crawldedup.verdict import Kind

KEY_BYTES: Final = 5

_HEAD: Final = struct.Struct(">IIIIQIQ")
_SEARCH_PLACE: Final = 16
_QUESTION: Final = struct.Struct(">IIBBIIIH")
_BODY: Final = struct.Struct(">QIQ")
_ANSWER: Final = struct.Struct(">BBIII")
_CHANGED, _ABANDONED, _REPLACES = 1, 2, 4
_KINDS: Final = (Kind.NEW, Kind.NEAR_DUPLICATE, Kind.EXACT_DUPLICATE, Kind.REVISIT)
_MOST: Final = 0xFFFF_FFFF
_RANK_MARK: Final = b"\xfe"  # before the rank of a page, if that is not 0
_NIBBLES: Final = 9
_BITS_OF_NIBBLES: Final = np.unpackbits(np.arange(16, dtype=np.uint8)[None], axis=0)[4:].astype(
    np.float32
)
_NO_COSTS: Final = bytes(KEY_BITS)
_PAGE_BYTES: Final = contract.PAGE_BITS // 8


def pack_order(tables: Sequence[Table]) -> bytes:
    """Return where in a record the bits of the tables' keys are, two bytes each."""
    return b"".join((table.order + 8 * _SEARCH_PLACE).astype(">u2").tobytes() for table in tables)


def pack_questions(queries: Sequence[Query], layout: Layout, now: int) -> list[tuple[bytes, ...]]:
    """Return for each query its limits, keys, body, probes, costs of the rule and of the prefilter,
    and limits of cost.

    `now` is 0 for the server's clock. A body is a record without its times and counters. A probe
    has 8 bytes: table, lowest key, how many leading bits its keys share, and 0. The prefilter has a
    cost byte for each value of four bits.
    """
    if not queries:
        return []
    keys = np.array([query.keys for query in queries], np.uint64)
    costs = np.zeros((*keys.shape, 4 * _NIBBLES), np.float32)
    of_bits = b"".join(query.prefilter.costs if query.prefilter else _NO_COSTS for query in queries)
    key_bits = np.stack([table.order[:STORED_BITS] for table in layout.tables])
    costs[:, :, :STORED_BITS] = np.frombuffer(of_bits, np.uint8).reshape(-1, KEY_BITS)[:, key_bits]
    nibbles = (
        np.minimum(costs.reshape(-1, 4) @ _BITS_OF_NIBBLES, 255)
        .astype(np.uint8)
        .reshape(len(queries), -1)
    )
    probes = _pack_probes([query.plan for query in queries])
    own_keys, first = keys.astype(">u8"), 0
    packed: list[tuple[bytes, ...]] = []
    for place, query in enumerate(queries):
        record, kept, rule, last = (
            query.record,
            query.retention,
            query.rule,
            first + 8 * len(query.plan),
        )
        key_limit, key_costs = (
            (query.prefilter.limit, nibbles[place].tobytes()) if query.prefilter else (0, b"")
        )
        most = (
            min(query.max_candidates, _MOST),
            min(query.max_keys, _MOST),
            key_limit,
            len(record.signature),
        )
        head = _QUESTION.pack(now, kept.ttl_seconds or 0, kept.refresh, query.exact_only, *most)
        rank = _RANK_MARK + bytes((record.rank,)) if record.rank else b""
        body = _BODY.pack(record.search, record.digest, record.url_key) + record.signature + rank
        body += record.url.encode("utf-8", "replace")
        search = (own_keys[place].tobytes(), body, probes[first:last])
        packed.append((head, *search, rule.costs, key_costs, _pack_limits(rule.bounds)))
        first = last
    return packed


@lru_cache(64)
def _pack_limits(bounds: Crowd) -> bytes:
    return struct.pack(f">II{len(bounds.limits)}I", bounds.reach, bounds.far, *bounds.limits)


def _pack_probes(plans: Sequence[ProbePlan]) -> bytes:
    tables, lows, highs = (
        np.concatenate([getattr(plan, name) for plan in plans])
        for name in ("tables", "lows", "highs")
    )
    not_kept = np.uint64(KEY_BITS - 8 * KEY_BYTES)
    # The exponent of a whole number is how many bits it has.
    free = np.frexp((lows ^ highs) >> not_kept)[1]
    probes = tables.astype(np.uint64) << np.uint64(56) | lows >> not_kept << np.uint64(16)
    packed: bytes = (probes | (8 * KEY_BYTES - free << 8).astype(np.uint64)).astype(">u8").tobytes()
    return packed


def pack_rule(rule: WeightedThreshold | None) -> bytes:
    """Return the rule of revisits: its limit and the costs of bits; nothing for none."""
    return rule.limit.to_bytes(4, "big") + rule.costs if rule else b""


def pack_names(names: Sequence[PageName]) -> bytes:
    """Return the URL keys of pages, eight bytes each."""
    return struct.pack(f">{len(names)}Q", *(name.url_key for name in names))


def crawler_of(reply: bytes) -> int:
    """Return the number of the crawler that has delivered the page in the reply of `check`, or has
    it pending.
    """
    return int(_HEAD.unpack_from(reply, _ANSWER.size)[3])


def unpack_answer(reply: bytes, layout: Layout) -> Answer:
    """Return what the script `check` replied."""
    kind, how, pages, candidates, size = _ANSWER.unpack_from(reply)
    end = _ANSWER.size + size
    rest = reply[end:]
    record = unpack_record(reply[_ANSWER.size : end], layout, rest) if size else None
    rejected = unpack_record(rest, layout) if rest and not size else None
    is_changed, is_abandoned, replaces = (
        bool(how & flag) for flag in (_CHANGED, _ABANDONED, _REPLACES)
    )
    return Answer(
        _KINDS[kind], record, is_changed, pages, candidates, is_abandoned, replaces, rejected
    )


def unpack_record(record: bytes, layout: Layout, text: bytes = b"") -> Record:
    """Return a record of the index. Raises ValueError or struct.error for what is none."""
    added_at, seen_at, copies, _, search, digest, url_key = _HEAD.unpack_from(record)
    end = _HEAD.size + layout.signature_bytes
    if len(record) < end:
        raise ValueError("a record is too short")
    rank, place = (record[end + 1], end + 2) if record[end : end + 1] == _RANK_MARK else (0, end)
    url, signature = record[place:].decode("utf-8", "replace"), record[_HEAD.size : end]
    return Record(
        url, url_key, search, signature, digest, rank, text, added_at, seen_at, copies >> 8
    )


def pack_anchors(query: contract.AnchorQuery) -> tuple[bytes, ...]:
    """Return the page of a query, its URL, and its anchors."""
    page = query.name.page.to_bytes(_PAGE_BYTES, "big")
    return (
        page,
        query.url.encode("utf-8", "replace"),
        struct.pack(f">{len(query.anchors)}Q", *query.anchors),
    )


def unpack_holders(reply: Sequence[Any]) -> contract.Holders:
    """Return what the script `anchors` replied."""
    is_known, lists, named = reply
    held = tuple(
        None if len(packed) >= contract.MOST_HOLDERS * _PAGE_BYTES else _pages(packed)
        for packed in lists
    )
    urls = {
        _pages(page)[0]: url.decode("utf-8", "replace")
        for page, url in zip(named[::2], named[1::2], strict=True)
    }
    return contract.Holders(held, urls, bool(is_known))


def _pages(packed: bytes) -> tuple[int, ...]:
    starts = range(0, len(packed), _PAGE_BYTES)
    return tuple(int.from_bytes(packed[at : at + _PAGE_BYTES], "big") for at in starts)
