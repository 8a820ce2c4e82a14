"""Pack queries into bytes for the scripts under `lua/`, and unpack their replies.

Numbers are big-endian. `lua/lib/records.lua` describes records, `lua/lib/search.lua` describes
questions, and the head of each script describes its arguments and its reply.
"""

import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from crawldedup.marks.packing import unpacked
from crawldedup.marks.relation import Conflict
from crawldedup.search.decision import Crowd, WeightedThreshold
from crawldedup.search.plan import KEY_BITS, STORED_BITS, ProbePlan, Table
from crawldedup.stores import anchors, contract
from crawldedup.stores.contract import Answer, Layout, PageName, Query, Record
from crawldedup.verdict import Kind

Argument = str | bytes | int
"""The types of arguments that can be sent to the server."""

KEY_BYTES: Final = 5
_PROBE_BYTES: Final = 8
_MOST: Final = 0xFFFF_FFFF
_PAGE_BYTES: Final = contract.PAGE_BITS // 8


class Question(NamedTuple):
    """A query in packed form, as the scripts read it in ARGV[2] to ARGV[8].

    The scripts are `find.lua` and `check.lua`. `read_question` in `lua/lib/search.lua` unpacks it.
    """

    # Limits for searching (see `_pack_limits`), then hashes of proved views, 3 bytes each.
    limits: bytes
    keys: bytes  # the page's key in each table, 8 bytes each
    body: bytes  # the record of the page without the head that the server writes
    probes: bytes  # 8 bytes each: table, lowest key, number of leading bits that its keys share, 0
    costs: bytes  # the rule's cost of each bit of the signature, one byte each
    # The prefilter's cost of each value of each four bits of a key. Empty without a prefilter.
    key_costs: bytes
    bounds: bytes  # the limits of the rule's costs, as numbers of 4 bytes


class CheckArguments(NamedTuple):
    """The arguments of the script `check.lua`, in the order of its ARGV.

    A new argument becomes a field at the end, and the next element of ARGV.
    """

    profile: str
    question: Question
    packed_text: bytes  # text of the page to store; may be empty
    max_pages: int  # the most pages that the index may have; 0 for no limit
    crawler: int  # the number of the crawler that asks
    is_pending: int  # 1 or 0, like all flags that are sent
    revisit_rule: bytes
    batch: bytes  # the name of the batch; empty for a single page
    place: int  # the place of the page in its batch
    is_retry: int  # 1 if an answer to the same question may have been lost

    def as_arguments(self) -> list[Any]:
        """Return the arguments as the script takes them. The question becomes several."""
        profile, question, *others = self
        return [profile, *question, *others]


class JoinArguments(NamedTuple):
    """The arguments of the script `join.lua`, which lets a crawler join the crawl of an index."""

    profile: str
    order: bytes
    secret: bytes  # the key of an index that begins
    now: int | str
    process: str
    number: int  # the number of the crawler; with 0 or less, it gets a new one


class AnchorsArguments(NamedTuple):
    """The arguments of the script `anchors.lua`, which remembers the anchors of a page."""

    profile: str
    adds_page: int  # 1 or 0
    now: int | str
    ttl_seconds: int  # 0 for no limit
    most_anchors: int
    page: bytes
    url: bytes
    anchors: bytes


class _RecordHead(NamedTuple):
    """The fields of fixed size at the start of a record.

    The signature, the marks, the rank and the URL follow.
    """

    added_at: int
    seen_at: int
    copies_and_tag: int  # the tag is the last byte
    crawler: int
    # The body begins here: the fields that `pack_body` packs. The server writes those above.
    search: int
    digest: int
    url_key: int


_BODY_HEAD_FORMAT: Final = "QIQ"
_BODY_HEAD: Final = struct.Struct(f">{_BODY_HEAD_FORMAT}")
_RECORD_HEAD: Final = struct.Struct(f">IIII{_BODY_HEAD_FORMAT}")
_BODY_AT: Final = _RECORD_HEAD.size - _BODY_HEAD.size
# These bytes come before the marks of a page and before its rank. A page without marks has neither
# the byte nor the length that follows it. Most pages have the rank 0, which is left out. No URL
# begins with these bytes.
_MARKS_MARK: Final = b"\xfd"
_RANK_MARK: Final = b"\xfe"


def pack_body(record: Record) -> bytes:
    """Pack a record without the fields that the server itself writes. See `unpack_record`."""
    head = _BODY_HEAD.pack(record.search, record.digest, record.url_key)
    marks = _MARKS_MARK + bytes((len(record.marks),)) + record.marks if record.marks else b""
    rank = _RANK_MARK + bytes((record.rank,)) if record.rank else b""
    return head + record.signature + marks + rank + record.url.encode("utf-8", "replace")


def unpack_record(packed: bytes, layout: Layout, text: bytes = b"") -> Record:
    """Unpack a record that the server has sent.

    Args:
        packed: The fields that the server wrote, and a body as `pack_body` returns it.
        layout: The layout of the index, which says how long a signature is.
        text: The stored text of the page.

    Raises:
        ValueError: If `packed` is too short to be a record, or has invalid marks.
        struct.error: For the same reason.
        TypeError: If `packed` or `text` aren't bytes.
    """
    memoryview(text)
    head = _RecordHead(*_RECORD_HEAD.unpack_from(packed))
    signature_end = _RECORD_HEAD.size + layout.signature_bytes
    if len(packed) < signature_end:
        raise ValueError("a record is too short")
    marks = b""
    url_at = signature_end
    if packed.startswith(_MARKS_MARK, url_at):
        marks_at = url_at + 2
        url_at = marks_at + packed[url_at + 1]
        marks = packed[marks_at:url_at]
        unpacked(marks)
    rank = 0
    if packed.startswith(_RANK_MARK, url_at):
        rank = packed[url_at + 1]
        url_at += 2
    return Record(
        url=packed[url_at:].decode("utf-8", "replace"),
        url_key=head.url_key,
        search=head.search,
        signature=packed[_RECORD_HEAD.size : signature_end],
        digest=head.digest,
        rank=rank,
        packed_text=text,
        marks=marks,
        added_at=head.added_at,
        seen_at=head.seen_at,
        copies=head.copies_and_tag >> 8,
    )


def pack_order(tables: Sequence[Table]) -> bytes:
    """Pack the order of the bits in each table's keys.

    For each bit of a key, two bytes say where a record has it.
    """
    first_bit = 8 * _BODY_AT
    return b"".join((table.order + first_bit).astype(">u2").tobytes() for table in tables)


# Clock, time to live, whether visits refresh it, whether only equal digests count, most candidates,
# most keys, limit of the prefilter's costs, length of the signature: see `_pack_limits`.
_LIMITS: Final = struct.Struct(">IIBBIIIH")
_NIBBLES: Final = 9  # groups of four bits that hold the STORED_BITS of a key
_BITS_OF_NIBBLES: Final = np.unpackbits(np.arange(16, dtype=np.uint8)[None], axis=0)[4:].astype(
    np.float32
)
_NO_COSTS: Final = bytes(KEY_BITS)


def pack_questions(queries: Sequence[Query], layout: Layout, now: int) -> list[Question]:
    """Pack the question to the server for each query.

    The arrays of all queries are computed at once, which is faster than one query after another.

    Args:
        queries: The pages to look up.
        layout: The layout of the index.
        now: The time in seconds since 1970, or 0 for the server's clock.
    """
    if not queries:
        return []
    keys = np.array([query.keys for query in queries], np.uint64).astype(">u8")
    nibble_costs = _nibble_costs(queries, layout)
    probes = _pack_probes([query.plan for query in queries])
    questions: list[Question] = []
    probes_at = 0
    for place, query in enumerate(queries):
        probes_end = probes_at + _PROBE_BYTES * len(query.plan)
        questions.append(
            Question(
                limits=_pack_limits(query, now) + _pack_views(query.proved_views),
                keys=keys[place].tobytes(),
                body=pack_body(query.record),
                probes=probes[probes_at:probes_end],
                costs=query.rule.costs,
                key_costs=nibble_costs[place].tobytes() if query.prefilter else b"",
                bounds=_pack_bounds(query.rule.bounds, query.rule.limit),
            )
        )
        probes_at = probes_end
    return questions


def _pack_limits(query: Query, now: int) -> bytes:
    retention = query.retention
    prefilter = query.prefilter
    return _LIMITS.pack(
        now,
        retention.ttl_seconds or 0,
        retention.refresh,
        query.exact_only,
        min(query.max_candidates, _MOST),
        min(query.max_keys, _MOST),
        prefilter.limit if prefilter else 0,
        len(query.record.signature),
    )


def _pack_views(hashes: Sequence[int]) -> bytes:
    return b"".join([views.to_bytes(3, "big") for views in hashes])


@lru_cache(64)
def _pack_bounds(bounds: Crowd, limit: int) -> bytes:
    numbers = (bounds.reach, bounds.far, limit, bounds.of_views, *bounds.limits)
    return struct.pack(f">{len(numbers)}I", *numbers)


def _nibble_costs(queries: Sequence[Query], layout: Layout) -> NDArray[np.uint8]:
    """Return a table that lets the server apply the prefilter to four bits of a key at a time.

    For each query (a row), it has the cost of each value of each group of four bits. The costs of a
    query without a prefilter are 0.
    """
    order = np.stack([table.order[:STORED_BITS] for table in layout.tables])
    packed = b"".join(query.prefilter.costs if query.prefilter else _NO_COSTS for query in queries)
    bit_costs = np.frombuffer(packed, np.uint8).reshape(-1, KEY_BITS)
    costs = np.zeros((len(queries), len(layout.tables), 4 * _NIBBLES), np.float32)
    costs[:, :, :STORED_BITS] = bit_costs[:, order]
    sums: NDArray[np.float32] = costs.reshape(-1, 4) @ _BITS_OF_NIBBLES
    return np.minimum(sums, 255).astype(np.uint8).reshape(len(queries), -1)


def _pack_probes(plans: Sequence[ProbePlan]) -> bytes:
    """Pack the probes (ranges of keys to read) of all plans, one after the other."""
    tables = np.concatenate([plan.tables for plan in plans]).astype(np.uint64)
    lows = np.concatenate([plan.lows for plan in plans])
    highs = np.concatenate([plan.highs for plan in plans])
    dropped_bits = np.uint64(KEY_BITS - 8 * KEY_BYTES)
    # The exponent of a whole number is its number of bits.
    free_bits = np.frexp((lows ^ highs) >> dropped_bits)[1]
    shared_bits = (8 * KEY_BYTES - free_bits).astype(np.uint64)
    probes = (
        tables << np.uint64(56)
        | lows >> dropped_bits << np.uint64(16)
        | shared_bits << np.uint64(8)
    )
    packed: bytes = probes.astype(">u8").tobytes()
    return packed


def pack_rule(rule: WeightedThreshold | None) -> bytes:
    """Pack the rule by which a revisited page counts as unchanged, or return b"" for none."""
    return rule.limit.to_bytes(4, "big") + rule.costs if rule else b""


def pack_names(names: Sequence[PageName]) -> bytes:
    """Pack the URL keys of pages, eight bytes each."""
    return struct.pack(f">{len(names)}Q", *(name.url_key for name in names))


def pack_page(name: PageName) -> bytes:
    """Return the bytes under which the index files the anchors of a page."""
    return name.page.to_bytes(_PAGE_BYTES, "big")


def pack_anchors(anchors: Sequence[int]) -> bytes:
    """Pack anchors, eight bytes each."""
    return struct.pack(f">{len(anchors)}Q", *anchors)


class _AnswerHead(NamedTuple):
    """The fields of fixed size at the start of a reply of `check.lua`.

    A record and some more bytes follow. If there is a record, the rest is its earlier text. If
    there is none, the rest is the nearest record that was rejected.
    """

    kind: int
    flags: int
    conflict: int  # what tells the page apart from the rejected record
    pages: int
    candidates: int
    record_bytes: int


_ANSWER: Final = struct.Struct(">BBBIII")
_KINDS: Final = (Kind.NEW, Kind.NEAR_DUPLICATE, Kind.EXACT_DUPLICATE, Kind.REVISIT)
_CHANGED: Final = 1
_ABANDONED: Final = 2
_REPLACES: Final = 4


def unpack_answer(reply: bytes, layout: Layout) -> Answer:
    """Unpack the answer in a reply of `check.lua`.

    Raises LookupError, ValueError or struct.error if it is malformed.
    """
    head = _AnswerHead(*_ANSWER.unpack_from(reply))
    record_end = _ANSWER.size + head.record_bytes
    rest = reply[record_end:]
    record: Record | None = None
    rejected: Record | None = None
    if head.record_bytes:
        record = unpack_record(reply[_ANSWER.size : record_end], layout, rest)
    elif rest:
        rejected = unpack_record(rest, layout)
    return Answer(
        kind=_KINDS[head.kind],
        record=record,
        changed=bool(head.flags & _CHANGED),
        pages=head.pages,
        candidates=head.candidates,
        abandoned=bool(head.flags & _ABANDONED),
        replaces=bool(head.flags & _REPLACES),
        rejected=rejected,
        conflict=Conflict(head.conflict),
    )


def crawler_of(reply: bytes) -> int:
    """Return the number of the crawler that has the page in a reply of `check.lua`.

    That crawler has delivered the page, or has yet to deliver it. Raises struct.error if the reply
    has no record.
    """
    return _RecordHead(*_RECORD_HEAD.unpack_from(reply, _ANSWER.size)).crawler


def unpack_holders(reply: Sequence[Any]) -> anchors.Holders:
    """Unpack a reply of `anchors.lua`: the pages that have each anchor.

    Raises ValueError, TypeError or AttributeError if it is malformed.
    """
    is_known, lists, pages_and_urls = reply
    holders: list[tuple[int, ...] | None] = []
    for packed in lists:
        is_full = len(packed) >= anchors.MOST_HOLDERS * _PAGE_BYTES
        holders.append(None if is_full else _unpack_pages(packed))
    urls: dict[int, str] = {}
    for packed, url in zip(pages_and_urls[::2], pages_and_urls[1::2], strict=True):
        urls[int.from_bytes(packed, "big")] = url.decode("utf-8", "replace")
    return anchors.Holders(tuple(holders), urls, bool(is_known))


def _unpack_pages(packed: bytes) -> tuple[int, ...]:
    starts = range(0, len(packed), _PAGE_BYTES)
    return tuple(int.from_bytes(packed[at : at + _PAGE_BYTES], "big") for at in starts)
