"""Search a SQLite file for candidates: the remembered pages that a page may be a copy of.

A page is a candidate if one of its keys is in one of the query's ranges, unless the query's
prefilter rejects the key. The pages that were added last under the query's exact keys are
candidates as well. For a batch, the file is searched once for all queries, and the arrays below
cover all their ranges, all keys in them, or all pairs of a query and a candidate.

Pages of the batch are not in the file yet. So the earlier queries of the batch are also candidates.
In the arrays, they have numbers from `_BATCH` on, above those of all pages in the file. Earlier
queries that have an exact key of a later query are found by `search.py`.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crawldedup.marks.exact_keys import ExactKeys, sought_keys
from crawldedup.search.decision import Prefilter
from crawldedup.search.plan import KEY_BITS, STORED_BITS
from crawldedup.stores.contract import Query
from crawldedup.stores.sqlite.index import MAX_PAGES, NUMBER_MASK, SqliteIndex, StoredSignature
from crawldedup.stores.sqlite.pages import SIGN, PageRow

NEVER: Final = 1 << 40  # the cost of what no rule accepts
_NO_PREFILTER: Final = Prefilter(bytes(KEY_BITS), 0)
_BATCH: Final = MAX_PAGES  # plus the place of a query in its batch
_PAIR_SHIFT: Final = 32  # more bits than `_BATCH` and a place have
_FIRST_RANGES: Final = 8  # the ranges to read first in a crowd; then twice as many, and so on

# A range is given by the key in its middle. Because the width of a range is a power of 2, the last
# bit that is 1 in that key shows the width.
_IN_RANGES: Final = (
    "SELECT key, k FROM json_each(?) "
    "CROSS JOIN {0} ON k BETWEEN value & value - 1 AND value | value - 1 LIMIT ?"
)
# From each range, the last keys before the probed one, and the first ones from there on.
_NEAR_PROBES: Final = (
    "WITH r AS (SELECT key, value & value - 1 AS low, value | value - 1 AS high, ? AS own FROM "
    "json_each(?)) "
    "SELECT key, k FROM r CROSS JOIN {0} ON k "
    "BETWEEN ifnull((SELECT k FROM {0} WHERE k >= low AND k < (low | (own & (high - low))) "
    "ORDER BY k DESC LIMIT 1 OFFSET ?), low) "
    "AND ifnull((SELECT k FROM {0} WHERE k BETWEEN (low | (own & (high - low))) AND high "
    "ORDER BY k LIMIT 1 OFFSET ?), high)"
)

Ints = NDArray[np.int64]


class Candidate(NamedTuple):
    """A page of the file that a query is compared with, and how much it differs (its cost)."""

    number: int
    cost: int  # the cost by the query's rule, or NEVER if the rule rejects the page
    added_at: int
    seen_at: int
    marks: bytes

    @classmethod
    def of(cls, page: StoredSignature | PageRow, cost: int) -> Self:
        """Make a candidate of a page that has this cost."""
        return cls(page.number, cost, page.added_at, page.seen_at, page.marks)


class EarlierQuery(NamedTuple):
    """An earlier page of the same batch as a candidate.

    It counts while it is in the index with its text.
    """

    place: int  # its place in the batch
    cost: int  # as for a `Candidate`
    keys: int  # how many of its keys are in the ranges and pass the prefilter


class ExactHits(NamedTuple):
    """The pages that were last added under an exact key, by their numbers."""

    table: int  # the table of this key: which of the `ExactKeys` it is
    key: int
    numbers: list[int]  # the numbers in ascending order, at most `MOST_PER_KEY` of them


class Candidates(NamedTuple):
    """All pages that a query of a batch may have to be compared with.

    `pages` and `earlier` were found by search keys, and `others` has the additional pages from
    `exact_hits`. `room` is the number of keys that earlier queries may add before the query reaches
    its limits of keys and candidates. If the earlier queries that count have more keys,
    `single_candidates` has to choose.
    """

    pages: list[Candidate]
    earlier: list[EarlierQuery]
    room: int
    exact_hits: list[ExactHits]
    others: dict[int, Candidate]  # candidates by the numbers of their pages


class _Ranges(NamedTuple):
    """Ranges of keys that queries ask to read, the best ones first for each query."""

    queries: Ints  # the place of the query in its batch
    tables: Ints
    middles: Ints

    @property
    def lows(self) -> Ints:
        return self.middles & self.middles - 1

    @property
    def highs(self) -> Ints:
        return self.middles | self.middles - 1


class _TableRanges(NamedTuple):
    """The ranges of keys in one table: their positions in `_Ranges`, and their middles as JSON."""

    table_name: str
    positions: Ints
    middles: str


class _Keys(NamedTuple):
    """Keys that were found in ranges, and the pages that they belong to."""

    ranges: Ints  # positions in `_Ranges`
    keys: Ints
    pages: Ints  # numbers of pages, or of earlier queries from `_BATCH` on


class _Comparison(NamedTuple):
    """Pairs of a query and a page that were compared, and the cost of each pair."""

    pages: list[StoredSignature]
    costs: list[int]


def batch_candidates(
    index: SqliteIndex, batch: Sequence[Query], places: Sequence[int]
) -> dict[int, Candidates]:
    """Find the candidates of several queries of a batch while reading the file only once.

    Args:
        index: The index.
        batch: All queries of the batch.
        places: The places in the batch of the queries to search for.

    Returns:
        The candidates by the places of the queries. A query is left out if its ranges hold more
        keys than may be read, because pages of the batch would change which keys are read. All are
        left out if there are too many keys in one table. Use `single_candidates` for these.
    """
    own_keys = _signed([query.keys for query in batch])
    ranges = _ranges_of(batch, places)
    file_keys = _keys_in_file(
        index, ranges, limit=sum(batch[place].max_keys_per_side for place in places)
    )
    if file_keys is None:
        return {}
    batch_keys = _keys_in_batch(ranges, own_keys & ~NUMBER_MASK)
    keys = _Keys(
        ranges=np.concatenate((file_keys.ranges, batch_keys.ranges)),
        keys=np.concatenate((file_keys.keys, batch_keys.keys)),
        pages=np.concatenate((file_keys.pages, batch_keys.pages)),
    )
    passes = _key_costs(index, batch, own_keys, ranges, keys) != NEVER
    # Keys of earlier queries are counted later, if their pages are still there by then. Rejected
    # keys don't make candidates, so they are counted as if they were there.
    is_counted = (keys.pages < _BATCH) | ~passes
    key_room = _room_for_keys(batch, ranges, keys.ranges[is_counted], len(index.key_tables))
    pairs, key_counts = np.unique(
        ranges.queries[keys.ranges[passes]] << _PAIR_SHIFT | keys.pages[passes], return_counts=True
    )
    queries = pairs >> _PAIR_SHIFT
    pages = pairs & (1 << _PAIR_SHIFT) - 1
    page_counts = np.bincount(queries[pages < _BATCH], minlength=len(batch))
    page_room = [query.max_candidates for query in batch] - page_counts
    # A candidate has at least one key, so there is room for its page if there is for its keys.
    room = np.minimum(key_room, page_room).tolist()
    exact_hits = _hits_of_batch(index, batch, [place for place in places if room[place] >= 0])
    found = {place: Candidates([], [], room[place], exact_hits[place], {}) for place in exact_hits}
    other_pairs = np.setdiff1d(_pairs_of(exact_hits), pairs)
    all_pairs = np.concatenate((pairs, other_pairs))
    comparison = _compare(
        index, batch, all_pairs >> _PAIR_SHIFT, (all_pairs & (1 << _PAIR_SHIFT) - 1).tolist()
    )
    # A pair that was only found by exact keys has no keys in ranges.
    counts = key_counts.tolist() + [0] * len(other_pairs)
    for place, page, cost, key_count in zip(
        (all_pairs >> _PAIR_SHIFT).tolist(), comparison.pages, comparison.costs, counts, strict=True
    ):
        if place not in found:
            continue
        if page.number >= _BATCH:
            found[place].earlier.append(EarlierQuery(page.number - _BATCH, cost, key_count))
        elif key_count:
            found[place].pages.append(Candidate.of(page, cost))
        else:
            found[place].others[page.number] = Candidate.of(page, cost)
    return found


def _hits_of_batch(
    index: SqliteIndex, batch: Sequence[Query], places: Sequence[int]
) -> dict[int, list[ExactHits]]:
    """Look up the pages that share an exact key with queries, by the places of the queries."""
    keys_of = {place: _sought_keys_of(batch[place]) for place in places}
    hits: dict[int, list[ExactHits]] = {place: [] for place in places}
    for table in range(len(ExactKeys._fields)):
        keys = {keys[table] for keys in keys_of.values()}
        newest = index.newest_with(table, [key for key in keys if key is not None])
        for place in places:
            key = keys_of[place][table]
            if key is not None:
                hits[place].append(ExactHits(table, key, newest.get(key, [])))
    return hits


def _pairs_of(exact_hits: dict[int, list[ExactHits]]) -> Ints:
    """List the pairs of a query and a page that share an exact key."""
    pairs = []
    for place, hits in exact_hits.items():
        for hit in hits:
            pairs += [place << _PAIR_SHIFT | number for number in hit.numbers]
    return np.array(pairs, np.int64)


def _sought_keys_of(query: Query) -> ExactKeys:
    """Return the exact keys to look up in order to find the original of a query's page."""
    record = query.record
    return sought_keys(record.search, record.digest, record.marks)


def single_candidates(index: SqliteIndex, query: Query) -> list[Candidate]:
    """Find the candidates of one query, within its limits of keys and candidates."""
    (exact_hits,) = _hits_of_batch(index, [query], [0]).values()
    pages = dict.fromkeys(_pages_in_ranges(index, query))
    for hit in exact_hits:
        pages.update(dict.fromkeys(hit.numbers))
    comparison = _compare(index, [query], np.zeros(len(pages), np.int64), list(pages))
    return [
        Candidate.of(page, cost)
        for page, cost in zip(comparison.pages, comparison.costs, strict=True)
    ]


def compared(query: Query, pages: Sequence[PageRow]) -> list[Candidate]:
    """Compare a query with pages, and return them as its candidates."""
    if not pages:
        return []
    queries = np.zeros(len(pages), np.int64)
    stored = [StoredSignature.of(page) for page in pages]
    costs = _costs([query], queries, stored, range(len(pages)))
    return [Candidate.of(page, cost) for page, cost in zip(pages, costs, strict=True)]


def _pages_in_ranges(index: SqliteIndex, query: Query) -> list[int]:
    """Return the numbers of the pages that one query's search keys find."""
    own_keys = _signed([query.keys])
    ranges = _ranges_of([query], [0])
    keys = _keys_in_file(index, ranges, limit=query.max_keys_per_side)
    if keys is None or len(keys.keys) > query.max_keys:
        keys = _keys_near_probes(index, ranges, own_keys[0] & ~NUMBER_MASK, query)
    if not len(keys.keys):
        return []
    key_costs = _key_costs(index, [query], own_keys, ranges, keys)
    passing = np.flatnonzero(key_costs != NEVER)
    if len(passing) > query.max_candidates:
        passing = passing[np.lexsort((keys.keys[passing], keys.ranges[passing]))]
    # If there are too many pages, those whose keys cost least are compared, and the first ones
    # among equals.
    pages, first_at, page_of_key = np.unique(
        keys.pages[passing], return_index=True, return_inverse=True
    )
    least_cost = np.full(len(pages), NEVER)
    np.minimum.at(least_cost, page_of_key, key_costs[passing])
    cheapest: list[int] = pages[np.lexsort((first_at, least_cost))].tolist()
    return cheapest[: query.max_candidates]


def _ranges_of(batch: Sequence[Query], places: Sequence[int]) -> _Ranges:
    plans = [batch[place].plan for place in places]
    lows = np.concatenate([plan.lows for plan in plans])
    highs = np.concatenate([plan.highs for plan in plans])
    # The bits of stored keys that vary within a range.
    inner = lows ^ highs | NUMBER_MASK
    return _Ranges(
        queries=np.repeat(np.array(places, np.int64), [len(plan) for plan in plans]),
        tables=np.concatenate([plan.tables for plan in plans]),
        middles=_signed((highs | inner) ^ inner >> 1),
    )


def _signed(keys: ArrayLike) -> Ints:
    """Convert keys to the signed integers that SQLite stores; see `SIGN`."""
    return (np.asarray(keys, np.uint64) ^ SIGN).view(np.int64)


def _by_table(index: SqliteIndex, ranges: _Ranges, start: int = 0) -> Iterator[_TableRanges]:
    """Group ranges by the table that they belong to.

    Args:
        index: The index.
        ranges: The ranges.
        start: The position of the first of these ranges among all ranges.
    """
    for table, name in enumerate(index.key_tables):
        positions = np.flatnonzero(ranges.tables == table)
        yield _TableRanges(name, positions + start, str(ranges.middles[positions].tolist()))


def _keys_in_file(index: SqliteIndex, ranges: _Ranges, *, limit: int) -> _Keys | None:
    """Read the keys in ranges from the file. Return None if a table has `limit` or more."""
    found_ranges = []
    found_keys = []
    for table in _by_table(index, ranges):
        rows = index.db.execute(
            _IN_RANGES.format(table.table_name), (table.middles, limit)
        ).fetchall()
        if len(rows) == limit:
            return None
        columns = np.array(rows, np.int64).reshape(-1, 2)
        found_ranges.append(table.positions[columns[:, 0]])
        found_keys.append(columns[:, 1])
    keys = np.concatenate(found_keys)
    return _Keys(np.concatenate(found_ranges), keys, keys & NUMBER_MASK)


def _keys_near_probes(index: SqliteIndex, ranges: _Ranges, own_keys: Ints, query: Query) -> _Keys:
    """Read the keys that are nearest to the probed one, starting with the best ranges."""
    found: list[tuple[int, int]] = []
    offset = query.max_keys_per_side - 1
    start = 0
    end = _FIRST_RANGES
    # In a crowd, a few ranges hold all the keys that may be read.
    while start < len(ranges.middles) and len(found) < query.max_keys:
        some = _Ranges(*(column[start:end] for column in ranges))
        for table, own_key in zip(_by_table(index, some, start), own_keys.tolist(), strict=True):
            positions = table.positions.tolist()
            rows = index.db.execute(
                _NEAR_PROBES.format(table.table_name), (own_key, table.middles, offset, offset)
            )
            found += [(positions[place_in_table], key) for place_in_table, key in rows]
        start = end
        end = 2 * end
    columns = np.array(sorted(found)[: query.max_keys], np.int64).reshape(-1, 2)
    keys = columns[:, 1]
    return _Keys(columns[:, 0], keys, keys & NUMBER_MASK)


def _keys_in_batch(ranges: _Ranges, own_keys: Ints) -> _Keys:
    """Find keys of queries that are in the ranges of later queries of the batch.

    Args:
        ranges: The ranges.
        own_keys: The keys of the queries of the batch, (queries, tables).
    """
    tables = own_keys.shape[1]
    unstored_bits = KEY_BITS - STORED_BITS
    # The keys of all tables in one order: those of a table come after those of the table before it.
    offsets = np.arange(tables) << STORED_BITS
    leading = (own_keys >> unstored_bits) + offsets
    order = leading.argsort(axis=None)
    ordered = leading.ravel()[order]
    range_offsets = ranges.tables << STORED_BITS
    starts = ordered.searchsorted((ranges.lows >> unstored_bits) + range_offsets)
    ends = ordered.searchsorted((ranges.highs >> unstored_bits) + range_offsets, "right")
    # From here on, one element for each key of each range.
    counts = ends - starts
    found_ranges = np.repeat(np.arange(len(counts)), counts)
    positions = np.arange(len(found_ranges)) + np.repeat(ends - counts.cumsum(), counts)
    places = order[positions] // tables
    is_earlier = places < ranges.queries[found_ranges]
    found_ranges = found_ranges[is_earlier]
    places = places[is_earlier]
    keys = own_keys[places, ranges.tables[found_ranges]]
    return _Keys(found_ranges, keys, places + _BATCH)


def _key_costs(
    index: SqliteIndex, batch: Sequence[Query], own_keys: Ints, ranges: _Ranges, keys: _Keys
) -> Ints:
    """Return how much each key costs by its query's prefilter, or NEVER if that rejects it."""
    queries = ranges.queries[keys.ranges]
    tables = ranges.tables[keys.ranges]
    differing = keys.keys ^ own_keys[queries, tables]
    prefilters = [query.prefilter or _NO_PREFILTER for query in batch]
    # (queries, search bits)
    bit_costs = np.frombuffer(b"".join([rule.costs for rule in prefilters]), np.uint8).reshape(
        len(batch), -1
    )
    # (keys, stored bits)
    bits = np.unpackbits(
        differing.astype(">i8").view(np.uint8).reshape(-1, 8), axis=1, count=STORED_BITS
    )
    bits *= bit_costs[queries[:, None], index.key_bits[tables]]
    costs: Ints = bits.sum(axis=1, dtype=np.int64)
    limits = np.array([rule.limit for rule in prefilters])
    costs[costs > limits[queries]] = NEVER
    return costs


def _room_for_keys(batch: Sequence[Query], ranges: _Ranges, key_ranges: Ints, tables: int) -> Ints:
    """Return how many more keys each query may read before it reaches its limit.

    The number is negative if there are too many already.

    Args:
        batch: The queries.
        ranges: The ranges.
        key_ranges: For each key that was read, the position of its range.
        tables: The number of tables of keys.
    """
    buckets = ranges.queries[key_ranges] * tables + ranges.tables[key_ranges]
    counts = np.bincount(buckets, minlength=len(batch) * tables).reshape(-1, tables)
    most_of_side = np.array([query.max_keys_per_side for query in batch])
    most = np.array([query.max_keys for query in batch])
    room_of_side = most_of_side - 1 - counts.max(axis=1)
    room: Ints = np.minimum(room_of_side, most - counts.sum(axis=1))
    return room


def _compare(
    index: SqliteIndex, batch: Sequence[Query], queries: Ints, pages: Sequence[int]
) -> _Comparison:
    """Return the pages of pairs of a query and a page, in order, and the cost of each by `_costs`.

    Args:
        index: The index.
        batch: The queries.
        queries: For each pair, the place of the query.
        pages: For each pair, the number of the page. From `_BATCH` on, it's the place of an earlier
            query instead.
    """
    if not pages:
        return _Comparison([], [])
    # The queries come first, so they can be found by their places.
    stored = [
        StoredSignature(_BATCH + place, query.record.signature, query.record.digest, 0, 0, b"")
        for place, query in enumerate(batch)
    ]
    stored += index.signatures_of({page for page in pages if page < _BATCH})
    position_of = {row.number: position for position, row in enumerate(stored)}
    positions = [position_of[page] for page in pages]
    costs = _costs(batch, queries, stored, positions)
    return _Comparison([stored[position] for position in positions], costs)


def _costs(
    batch: Sequence[Query],
    queries: Ints,
    pages: Sequence[StoredSignature],
    positions: Sequence[int],
) -> list[int]:
    """Return how much each page differs from a query (its cost), by the rule of the query.

    It's 0 if their texts are the same, and `NEVER` or more if the rule can't accept the page.

    Args:
        batch: The queries.
        queries: For each pair, the place of the query.
        pages: The pages.
        positions: For each pair, the position of the page.
    """
    own_signatures = _signature_rows([query.record.signature for query in batch])
    signatures = _signature_rows([page.signature for page in pages])
    own_digests = np.array([query.record.digest for query in batch])
    digests = np.array([page.digest for page in pages])
    # (queries, signature bits)
    bit_costs = np.frombuffer(b"".join([query.rule.costs for query in batch]), np.uint8).reshape(
        len(batch), -1
    )
    # (pairs, signature bits)
    bits = np.unpackbits(signatures[positions] ^ own_signatures[queries], axis=1)
    bits *= bit_costs[queries]
    costs = bits.sum(axis=1, dtype=np.int64)
    limits = np.array([_highest_cost(query) for query in batch])
    costs[costs > limits[queries]] = NEVER
    # Thin pages with equal bits don't have to have equal texts.
    costs[np.array([query.exact_only for query in batch])[queries]] += 1
    costs[digests[positions] == own_digests[queries]] = 0
    found: list[int] = costs.tolist()
    return found


def _highest_cost(query: Query) -> int:
    """Return the highest cost that a page with another text may have to count for a query."""
    bounds = query.rule.bounds
    may_have_views = bool(query.record.marks)
    highest = -1 if query.exact_only else bounds.far
    return max(highest, bounds.of_views) if may_have_views else highest


def _signature_rows(signatures: Sequence[bytes]) -> NDArray[np.uint8]:
    """Return signatures as an array of bytes, (signatures, bytes)."""
    return np.frombuffer(b"".join(signatures), np.uint8).reshape(len(signatures), -1)
