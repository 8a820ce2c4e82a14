"""Tables of permuted blocks."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawldedup.errors import ConfigurationError
from crawldedup.search.tables import BlockSearch, Table, rotated_tables, split_blocks


@st.composite
def searches(draw: st.DrawFn) -> BlockSearch:
    bits = draw(st.integers(2, 64))
    blocks = draw(st.integers(1, min(bits, 7)))
    return BlockSearch(blocks, draw(st.integers(0, blocks - 1)), bits)


def all_tables() -> list[Table]:
    return [
        table
        for group in (
            rotated_tables(1),
            rotated_tables(2),
            rotated_tables(5),
            rotated_tables(3, bits=32),
            rotated_tables(8, bits=8),
            BlockSearch(4, 3).tables,
            BlockSearch(6, 2, 17).tables,
        )
        for table in group
    ]


@pytest.mark.parametrize("table", all_tables())
def test_key_is_a_permutation_of_the_bits(table: Table) -> None:
    assert sorted(table.order.tolist()) == list(range(table.bits))
    for place, bit in enumerate(table.order.tolist()):
        assert table.key(1 << table.bits - 1 - bit) == 1 << table.bits - 1 - place


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_keys_of_many_fingerprints_are_those_of_each(data: st.DataObject) -> None:
    table = data.draw(st.sampled_from(all_tables()))
    values = data.draw(st.lists(st.integers(0, (1 << table.bits) - 1), max_size=20))
    fingerprints = np.array(values, np.uint64)
    keys = table.keys(fingerprints)
    assert keys.dtype == np.uint64
    assert keys.tolist() == [table.key(value) for value in values]
    assert table.fingerprints(keys).tolist() == values
    for value in values:
        written = f"{value:0{table.bits}b}"
        assert f"{table.key(value):0{table.bits}b}" == "".join(written[bit] for bit in table.order.tolist())


@given(st.integers(1, 64), st.integers(1, 64))
def test_blocks_cover_every_bit_and_are_of_equal_width(bits: int, count: int) -> None:
    if count > bits:
        return
    blocks = split_blocks(bits, count)
    covered = [bit for first, width in blocks for bit in range(first, first + width)]
    assert covered == list(range(bits))
    widths = [width for _, width in blocks]
    assert len(widths) == count
    assert max(widths) - min(widths) <= 1
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 8])
def test_rotated_tables_lead_with_different_bits(count: int) -> None:
    tables = rotated_tables(count)
    leading = [set(table.order[: 64 // count].tolist()) for table in tables]
    assert len(tables) == count
    assert all(not first & second for first, second in combinations(leading, 2))


@given(searches())
@settings(max_examples=100, deadline=None)
def test_number_of_tables_and_their_prefixes(search: BlockSearch) -> None:
    assert len(search.tables) == len(search.prefixes) == math.comb(search.blocks, search.distance)
    assert len({table.blocks for table in search.tables}) == len(search.tables)
    for table, prefix in zip(search.tables, search.prefixes, strict=True):
        assert prefix == sum(width for _, width in table.blocks[: search.blocks - search.distance])
        assert 0 < prefix <= search.bits


@given(searches(), st.data())
@settings(max_examples=200, deadline=None)
def test_near_fingerprints_share_the_prefix_of_a_table(search: BlockSearch, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, (1 << search.bits) - 1))
    flipped = data.draw(st.sets(st.integers(0, search.bits - 1), max_size=search.distance))
    second = first ^ sum(1 << bit for bit in flipped)
    assert any(
        table.key(first) >> search.bits - prefix == table.key(second) >> search.bits - prefix
        for table, prefix in zip(search.tables, search.prefixes, strict=True)
    )


@pytest.mark.parametrize(("blocks", "distance", "bits"), [(3, 3, 64), (2, 3, 64), (65, 3, 64), (4, -1, 64), (9, 3, 8)])
def test_impossible_searches(blocks: int, distance: int, bits: int) -> None:
    with pytest.raises(ConfigurationError, match="more blocks than bits"):
        BlockSearch(blocks, distance, bits)


@pytest.mark.parametrize("count", [0, -1, 65])
def test_impossible_numbers_of_tables(count: int) -> None:
    with pytest.raises(ConfigurationError, match="number of tables"):
        rotated_tables(count)
