"""Tables of permuted blocks."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from crawldedup.search.plan import Table, rotated_tables


def all_tables() -> list[Table]:
    return [
        table
        for group in (
            rotated_tables(1),
            rotated_tables(2),
            rotated_tables(5),
            [Table(12)],
        )
        for table in group
    ]


@pytest.mark.parametrize("table", all_tables())
def test_key_is_a_permutation_of_the_bits(table: Table) -> None:
    assert sorted(table.order.tolist()) == list(range(64))
    for place, bit in enumerate(table.order.tolist()):
        key = table.key(1 << 63 - bit)
        assert key == 1 << 63 - place
        assert table.keys(np.array([1 << 63 - bit], np.uint64)).tolist() == [key]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 8])
def test_rotated_tables_lead_with_different_bits(count: int) -> None:
    tables = rotated_tables(count)
    leading = [set(table.order[: 64 // count].tolist()) for table in tables]
    assert len(tables) == count
    assert all(not first & second for first, second in combinations(leading, 2))
