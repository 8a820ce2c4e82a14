"""Simhashes, permuted tables, and all near pairs of a collection, as in the package simhash-py.

Fingerprints are cut into blocks (Manku, Jain & Das Sarma, WWW 2007). If two differ in at most
`distance` bits, at least blocks - distance of their blocks are equal. There is a table for each
choice of that many blocks, sorted by these blocks, so the two are near each other in at least one
of the tables. With 6 blocks, and 3 bits that may differ:

    63------53|52------42|41-----32|31------21|20------10|09------0|
    |    A    |     B    |    C    |     D    |     E    |    F    |    the fingerprint
    |    A    |    C    |    F    |     B    |     D    |     E    |    its key in the table A C F
"""

from array import array
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, pairwise
from typing import Any, Final, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from crawldedup.errors import ConfigurationError

Hashes = NDArray[np.uint64]
_Token = TypeVar("_Token")
_Keys = TypeVar("_Keys", int, Hashes)

ALL_BYTES: Final = range(256)


def shingle(tokens: Iterable[_Token], window: int = 4) -> Iterator[list[_Token]]:
    """Return every run of `window` tokens, or none if there are fewer tokens.

    Raises ConfigurationError below 1.
    """
    if window < 1:
        raise ConfigurationError(
            f"a shingle of {window!r} tokens was asked for; it has at least one"
        )
    listed = list(tokens)
    return (listed[start : start + window] for start in range(len(listed) - window + 1))


def compute(
    hashes: Sequence[int], *, weights: Sequence[float] | None = None, bits: int = 64
) -> int:
    """Return the simhash of hashes: bit j is set if hashes with bit j outweigh those without it.

    `weights` has a weight for each hash, by default 1. In a tie, a bit is not set. The result is 0
    if there are no hashes. Bits of a hash above `bits` (32 or 64) are ignored. Raises
    ConfigurationError for other `bits`.
    """
    return int.from_bytes(np.packbits(bit_sums(hashes, weights, bits) > 0).tobytes(), "big")


def bit_sums(
    hashes: Sequence[int], weights: Sequence[float] | None = None, bits: int = 64
) -> NDArray[np.float64]:
    """For each bit, return the weight of the hashes that have it minus that of the others.

    The shape is (bits,), and the highest bit comes first. Raises ConfigurationError for `bits`
    other than 32 and 64.
    """
    if bits not in (32, 64):
        raise ConfigurationError(f"bits is {bits!r}; it must be 32 or 64")
    octets = np.array(hashes, np.uint64).astype(">u8").view(np.uint8).reshape(-1, 8)
    signs = np.unpackbits(octets, axis=1)[:, 64 - bits :].astype(np.float64) * 2 - 1
    sums: NDArray[np.float64] = (
        signs.sum(axis=0) if weights is None else np.asarray(weights, np.float64) @ signs
    )
    return sums


def num_differing_bits(first: int, second: int) -> int:
    """Return the Hamming distance of two simhashes: the number of bits that differ."""
    return (first ^ second).bit_count()


def near_keys(
    keys: Sequence[int], prefix: int, mask: int, key: int, distance: int
) -> Iterator[int]:
    """Yield the sorted keys that begin with a prefix and differ from `key` in few bits.

    `mask` covers the bits of the prefix.
    """
    for place in range(bisect_left(keys, prefix & mask), len(keys)):
        if (keys[place] ^ prefix) & mask:
            return
        if (keys[place] ^ key).bit_count() <= distance:
            yield keys[place]


class Table:
    """A sorted table of permuted hashes, or a shard of it.

    `permutation` are masks of contiguous bits that together cover every bit once, leading blocks
    first. The last `distance` of them aren't used to search, where `distance` is the maximum number
    of bits that may differ. A shard only keeps keys with its `first_bytes`. Query every shard,
    because only one of them has the neighbors of a query.

    Raises ConfigurationError for masks that aren't a permutation, and for shards if near keys share
    less than a byte.

    Example:
        >>> a, b, c, d = block_masks(4)
        >>> table = Table(3, [d, a, b, c])
        >>> table.insert(0xCAFE)
        >>> table.find_first(0x7000_0000_0000_CAFE) == 0xCAFE, table.find_first(0xCAFF)
        (True, None)
    """

    def __init__(
        self, distance: int, permutation: Sequence[int], *, first_bytes: range = ALL_BYTES
    ) -> None:
        self.distance = distance
        self.permutation = permutation
        self.first_bytes = first_bytes
        bits = sum(permutation).bit_length()
        if sum(permutation) != (1 << bits) - 1 or sum(map(int.bit_count, permutation)) != bits:
            raise ConfigurationError(
                f"{list(map(hex, permutation))} are not masks that cover every bit once"
            )
        if not 0 <= distance < len(permutation):
            raise ConfigurationError(
                f"{len(permutation)} blocks for distance {distance}: there must be more blocks"
            )
        prefix = sum(map(int.bit_count, permutation[: len(permutation) - distance]))
        if first_bytes != ALL_BYTES and prefix < 8:
            raise ConfigurationError(
                f"near keys share {prefix} bits; a shard needs 8: take more blocks"
            )
        self.search_mask = (1 << bits) - (1 << bits - prefix)
        # Keys with fewer bits than a byte have no shards.
        self._below_first_byte = max(bits - 8, 0)
        self._moves = []
        for mask in permutation:
            bits -= mask.bit_count()
            self._moves.append((mask, bits - (mask & -mask).bit_length() + 1))
        self._keys = array("Q")

    def permute(self, hashes: _Keys) -> _Keys:
        """Return the keys of hashes in this table. They are given as a number or an array."""
        keys: Any = hashes & 0
        for mask, left in self._moves:
            keys |= (hashes & mask) << left if left >= 0 else (hashes & mask) >> -left
        return cast("_Keys", keys)

    def unpermute(self, keys: _Keys) -> _Keys:
        """Return the hashes that have these keys in this table."""
        hashes: Any = keys & 0
        for mask, left in self._moves:
            hashes |= keys >> left & mask if left >= 0 else keys << -left & mask
        return cast("_Keys", hashes)

    def insert(self, number: int) -> None:
        """Add a hash, unless it belongs to another shard."""
        key = self.permute(number)
        if key >> self._below_first_byte in self.first_bytes and self._place_of(key) is None:
            insort(self._keys, key)

    def insert_all(self, numbers: Iterable[int] | Hashes) -> None:
        """Add many hashes at once."""
        keys = self.permute(_as_array(numbers))
        own = keys[np.isin(keys >> self._below_first_byte, self.first_bytes)]
        self._keys = array("Q", np.union1d(np.array(self._keys, np.uint64), own).tobytes())

    def remove(self, number: int) -> None:
        """Remove a hash if it is there."""
        place = self._place_of(self.permute(number))
        if place is not None:
            del self._keys[place]

    def find_first(self, number: int) -> int | None:
        """Return a hash with equal leading blocks and at most `distance` other bits, or None."""
        return next(iter(self.find_all(number)), None)

    def find_all(self, number: int) -> list[int]:
        """Return all hashes with equal leading blocks and at most `distance` other bits."""
        own = self.permute(number)
        return list(
            map(self.unpermute, near_keys(self._keys, own, self.search_mask, own, self.distance))
        )

    def __len__(self) -> int:
        return len(self._keys)

    def _place_of(self, key: int) -> int | None:
        place = bisect_left(self._keys, key)
        return place if place < len(self._keys) and self._keys[place] == key else None


class Corpus:
    """The tables of all permutations, which together find every hash within `distance` bits.

    Hashes with `bits` bits are cut into `blocks` blocks. With more blocks, there are more tables,
    and each is faster to search. `first_bytes` are those of a shard (see `Table`). All shards
    together find the same as one corpus.

    Raises ConfigurationError unless 0 <= distance < blocks <= bits <= 64.

    Example:
        >>> corpus = Corpus(blocks=6, distance=3)
        >>> corpus.insert(0xCAFE)
        >>> corpus.find_first(0xCAFF) == 0xCAFE
        True
    """

    def __init__(
        self, blocks: int, distance: int, *, bits: int = 64, first_bytes: range = ALL_BYTES
    ) -> None:
        if not 0 <= distance < blocks <= bits <= 64:
            raise ConfigurationError(
                f"{blocks} blocks for distance {distance} in {bits} bits: there must be more "
                "blocks than bits that may differ, and no more blocks than bits"
            )
        masks = block_masks(blocks, bits)
        self.tables: list[Table] = []
        for leading in combinations(masks, blocks - distance):
            others = [mask for mask in masks if mask not in leading]
            self.tables.append(Table(distance, [*leading, *others], first_bytes=first_bytes))

    def insert(self, number: int) -> None:
        """Add a hash."""
        for table in self.tables:
            table.insert(number)

    def insert_all(self, numbers: Iterable[int] | Hashes) -> None:
        """Add many hashes at once."""
        hashes = _as_array(numbers)
        for table in self.tables:
            table.insert_all(hashes)

    def remove(self, number: int) -> None:
        """Remove a hash if it is there."""
        for table in self.tables:
            table.remove(number)

    def find_first(self, number: int) -> int | None:
        """Return a stored hash that differs in at most `distance` bits, or None."""
        return next((near for table in self.tables for near in table.find_all(number)), None)

    def find_all(self, number: int) -> list[int]:
        """Return all stored hashes that differ in at most `distance` bits, sorted."""
        return sorted({near for table in self.tables for near in table.find_all(number)})


def find_all(
    hashes: Iterable[int] | Hashes, blocks: int, distance: int, *, bits: int = 64
) -> list[tuple[int, int]]:
    """Return every pair of different hashes that differ in at most `distance` bits.

    No pair is missed. Pairs are sorted, with the smaller hash first. There are C(blocks, distance)
    passes, and with more blocks, each is faster. Raises ConfigurationError unless
    0 <= distance < blocks <= bits <= 64, and for a hash with more bits.

    Example:
        >>> for pair in find_all([0xCAFE, 0xCAFF, 0xBEEF], blocks=5, distance=3):
        ...     print(*map(hex, pair))
        0xcafe 0xcaff
    """
    tables = Corpus(blocks, distance, bits=bits).tables
    distinct = np.sort(_as_array(hashes))
    # Not np.unique, which takes longer than all the rest.
    distinct = distinct[
        np.concatenate((distinct[:1] == distinct[:1], distinct[1:] != distinct[:-1]))
    ]
    if len(distinct) and int(distinct[-1]) >> bits:
        raise ConfigurationError(
            f"{int(distinct[-1]):#x} has more than {bits} bits; give the right number as `bits`"
        )
    pairs = [table.unpermute(near) for table in tables for near in _near_pairs(table, distinct)]
    ordered = np.sort(np.concatenate([np.empty((2, 0), np.uint64), *pairs], axis=1), axis=0)
    return [(first, second) for first, second in np.unique(ordered, axis=1).T.tolist()]


def _near_pairs(table: Table, hashes: Hashes) -> Iterator[Hashes]:
    """Find pairs of hashes in a table that differ in few enough bits, and yield them in batches.

    Such pairs share the leading blocks of their keys. A batch has the shape (2, pairs).
    """
    keys = np.sort(table.permute(hashes))
    prefixes = keys & table.search_mask
    starts = np.flatnonzero(prefixes[1:] == prefixes[:-1])
    step = 1
    while len(starts):
        near = starts[np.bitwise_count(keys[starts] ^ keys[starts + step]) <= table.distance]
        yield np.stack((keys[near], keys[near + step]))
        step += 1
        # If a key shares its prefix with the one `step` further on, so do all keys in between.
        starts = starts[: np.searchsorted(starts, len(keys) - step)]
        starts = starts[prefixes[starts] == prefixes[starts + step]]


def block_masks(blocks: int, bits: int = 64) -> list[int]:
    """Return the masks of the blocks that `bits` bits are cut into, the leading one first."""
    edges = [number * bits // blocks for number in range(blocks, -1, -1)]
    return [(1 << high) - (1 << low) for high, low in pairwise(edges)]


def _as_array(hashes: Iterable[int] | Hashes) -> Hashes:
    return (
        hashes.astype(np.uint64)
        if isinstance(hashes, np.ndarray)
        else np.fromiter(hashes, np.uint64)
    )
