"""Tables of permuted blocks."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawldedup.errors import ConfigurationError
from crawldedup.search.plan import Table, rotated_tables, split_blocks


def all_tables() -> list[Table]:
    return [
        table
        for group in (
            rotated_tables(1),
            rotated_tables(2),
            rotated_tables(5),
            rotated_tables(3, bits=32),
            rotated_tables(8, bits=8),
            [Table(((12, 5), (0, 6), (6, 6)))],
        )
        for table in group
    ]


@pytest.mark.parametrize("table", all_tables())
def test_key_is_a_permutation_of_the_bits(table: Table) -> None:
    assert sorted(table.order.tolist()) == list(range(table.bits))
    for place, bit in enumerate(table.order.tolist()):
        assert table.key(1 << table.bits - 1 - bit) == 1 << table.bits - 1 - place


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


@pytest.mark.parametrize("count", [0, -1, 65])
def test_impossible_numbers_of_tables(count: int) -> None:
    with pytest.raises(ConfigurationError, match="number of tables"):
        rotated_tables(count)
