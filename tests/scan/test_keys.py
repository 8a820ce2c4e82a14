"""Near duplicates share a key; unrelated pages share one as rarely as a key of that length allows."""

from __future__ import annotations

import numpy as np
import pytest

from crawldedup.scan.columns import VOLATILITY_UNIT
from crawldedup.scan.pairs import KEYS_A_TABLE, MOST_PAGES, key_bits, keys_of, numbers_in, pack
from crawldedup.search.model import cosine, search_similarity
from crawldedup.search.query import TABLES


def pages(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the search bits of pages with these weights, and the sizes of the weights."""
    search = np.packbits(weights >= 0, axis=1).view(">u8").ravel().astype(np.uint64)
    return search, np.minimum(np.abs(weights) * VOLATILITY_UNIT, 255).astype(np.uint8)


def share_a_key(first: np.ndarray, second: np.ndarray, bits: int) -> np.ndarray:
    met = np.zeros(len(first), bool)
    for table in TABLES:
        keys = [keys_of(*pages(each), table, bits=bits, similarity=0.9) for each in (first, second)]
        one, other = (each >> np.uint64(64 - bits) for each in keys)
        met |= (one[:, :, None] == other[:, None, :]).any(axis=(1, 2))
    return met


@pytest.mark.parametrize(("similarity", "least"), [(0.85, 0.97), (0.9, 0.99), (0.95, 0.999)])
def test_near_duplicates_meet(similarity: float, least: float) -> None:
    random = np.random.default_rng(1)
    rho = cosine(search_similarity(similarity))
    first = random.standard_normal((5000, 64))
    second = rho * first + np.sqrt(1 - rho * rho) * random.standard_normal((5000, 64))
    assert share_a_key(first, second, key_bits(1_000_000)).mean() > least


def test_unrelated_pages_rarely_meet() -> None:
    random = np.random.default_rng(2)
    first, second = random.standard_normal((2, 20_000, 64))
    expected = 2 * KEYS_A_TABLE**2 / 2**12
    assert share_a_key(first, second, 12).mean() == pytest.approx(expected, rel=0.3)


def test_a_page_is_filed_under_its_own_key_and_under_keys_one_or_more_bits_away() -> None:
    search, volatility = pages(np.random.default_rng(3).standard_normal((100, 64)))
    for table in TABLES:
        own = np.array([table.key(int(each)) for each in search], np.uint64)
        keys = keys_of(search, volatility, table, bits=16, similarity=0.9)
        assert (keys[:, 0] == own).all()
        differing = np.bitwise_count(keys ^ own[:, None])
        assert (differing[:, 1:] >= 1).all()
        assert ((keys ^ own[:, None]) << np.uint64(16) == 0).all()
        assert all(len(set(row)) == KEYS_A_TABLE for row in keys.tolist())


def test_keys_grow_with_the_collection() -> None:
    assert [key_bits(pages) for pages in (0, 1, 2000, 1_000_000, 10_000_000, 2**40)] == [8, 8, 8, 17, 21, 34]


def test_a_packed_key_holds_the_number_of_its_page() -> None:
    numbers = np.array([0, 7, MOST_PAGES - 1], np.uint64)
    packed = pack(np.full(3, 2**64 - 1, np.uint64), numbers)
    assert numbers_in(packed).tolist() == numbers.tolist()
