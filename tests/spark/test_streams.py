"""What tasks do on sorted streams of Arrow batches, wherever the batches are cut."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip(
    "pyspark", reason="the session `spark` of noxfile.py installs pyspark, and fails without it"
)

import pyarrow as pa

from crawldedup.scan.engine import Goal, Order, Resemblances
from crawldedup.scan.pairs import candidate_pairs, crowded, distinct, near_pairs, pair
from crawldedup.spark import tasks
from crawldedup.spark.tasks import batch, decide_pairs, make_pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

BITS = 8


def cut(rows: pa.RecordBatch, rng: np.random.Generator) -> Iterator[pa.RecordBatch]:
    """Yield the rows in batches of random sizes, some of them empty."""
    places = np.sort(rng.integers(0, len(rows), 20))
    for start, end in pairwise([0, *places.tolist(), len(rows)]):
        yield rows.slice(start, end - start)


@pytest.mark.parametrize("at_once", [1, 100, 1000, 10**6])
def test_runs_are_paired_as_in_memory(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_KEYS_AT_ONCE", at_once)
    rng = np.random.default_rng(5)
    # Half of the pages are a crowd, and its runs are long.
    search = np.where(
        np.arange(1500) % 2,
        rng.integers(0, 1 << 63, 1500, np.uint64),
        np.uint64(12345) << np.uint64(40),
    )
    search ^= np.uint64(1) << rng.integers(0, 64, 1500, np.uint64)
    numbers = np.arange(1500, dtype=np.uint64) * np.uint64(7)
    packed = search >> np.uint64(30) << np.uint64(30) | numbers
    order = np.argsort(packed)
    packed, search, numbers = packed[order], search[order], numbers[order]
    by_number = np.zeros(numbers.max() + 1, np.uint64)
    by_number[numbers.astype(int)] = search
    near = partial(near_pairs, by_number, np.zeros((len(by_number), 4), np.uint64), 16, 0)
    wanted = distinct(np.concatenate(list(candidate_pairs(packed, BITS, near))))

    rows = batch(key=(packed ^ np.uint64(1 << 63)).view(np.int64), search=search.view(np.int64))
    found = pa.Table.from_batches(make_pairs(BITS, cut(rows, rng)))
    later, earlier = (found[name].to_numpy() for name in ("later", "earlier"))
    is_pair = earlier >= 0
    pairs = pair(later[is_pair].astype(np.uint64), earlier[is_pair].astype(np.uint64))
    assert len(wanted) > 1000
    assert distinct(pairs).tolist() == wanted.tolist()
    assert np.unique(later[~is_pair]).tolist() == crowded(packed, BITS).tolist() != []


@pytest.mark.parametrize("at_once", [1, 100, 10**6])
def test_pages_are_decided_as_in_one_block(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_PAIRS_AT_ONCE", at_once)
    rng = np.random.default_rng(6)
    later = rng.integers(1, 300, 2000)
    earlier = rng.integers(0, later)
    later, earlier = np.unique(np.stack((later, earlier)), axis=1)
    crowd = Goal(0.9, 0.98).crowd
    costs = rng.integers(0, crowd.reach, len(later))
    order = Order(300, crowd)
    wanted = order.decide(Resemblances(later, earlier, costs))
    near = np.flatnonzero(order.original != np.arange(300))

    rows = batch(later=later, earlier=earlier, value=costs.astype(float))
    found = pa.Table.from_batches(decide_pairs(300, crowd, True, cut(rows, rng))).to_pylist()
    told = {(row["later"], row["earlier"]) for row in found if not row["is_wanted"]}
    asked = np.array(
        [(row["later"], row["earlier"]) for row in found if row["is_wanted"]], np.uint64
    )
    assert len(near) > 50
    assert told == set(zip(near.tolist(), order.original[near].tolist(), strict=True))
    assert len(wanted) > 10
    assert distinct(pair(asked[:, 0], asked[:, 1])).tolist() == wanted.tolist()
