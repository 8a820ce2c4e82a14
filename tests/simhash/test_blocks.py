"""The exact block search misses no pair within its distance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawldedup.errors import ConfigurationError
from crawldedup.simhash.blocks import BlockSearch, fingerprints_of, keys_of
from tests.search.test_tables import all_tables


@st.composite
def searches(draw: st.DrawFn) -> BlockSearch:
    bits = draw(st.integers(2, 64))
    blocks = draw(st.integers(1, min(bits, 7)))
    return BlockSearch(blocks, draw(st.integers(0, blocks - 1)), bits)


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


@given(st.integers(0, (1 << 64) - 1), st.data())
@settings(max_examples=150, deadline=None)
def test_the_plan_holds_every_fingerprint_within_the_distance(fingerprint: int, data: st.DataObject) -> None:
    blocks = data.draw(st.integers(1, 7))
    search = BlockSearch(blocks, data.draw(st.integers(0, blocks - 1)))
    plan = search.plan(fingerprint)
    flips = data.draw(st.sets(st.integers(0, 63), max_size=search.distance))
    near = fingerprint ^ sum(1 << bit for bit in flips)
    ranges = zip(search.tables, plan.lows.tolist(), plan.highs.tolist(), strict=True)
    assert any(low <= table.key(near) <= high for table, low, high in ranges)
    assert plan.tables.tolist() == list(range(math.comb(search.blocks, search.distance)))
    assert plan.recall == 1
    sizes = [high - low + 1 for low, high in zip(plan.lows.tolist(), plan.highs.tolist(), strict=True)]
    assert sizes == [1 << 64 - prefix for prefix in search.prefixes]


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_keys_of_many_fingerprints_are_those_of_each(data: st.DataObject) -> None:
    table = data.draw(st.sampled_from(all_tables()))
    values = data.draw(st.lists(st.integers(0, (1 << table.bits) - 1), max_size=20))
    fingerprints = np.array(values, np.uint64)
    keys = keys_of(fingerprints, table)
    assert keys.dtype == np.uint64
    assert keys.tolist() == [table.key(value) for value in values]
    assert fingerprints_of(keys, table).tolist() == values
    for value in values:
        written = f"{value:0{table.bits}b}"
        assert f"{table.key(value):0{table.bits}b}" == "".join(written[bit] for bit in table.order.tolist())
