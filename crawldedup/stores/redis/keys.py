"""Names of an index's keys, without making them all: of large indexes there are millions."""

from __future__ import annotations

import random
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

SAMPLE: Final = 64
"""So many keys of a kind are measured, to project what all of them take."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names that begin with `stem` and end with one of the numbers."""

    stem: str
    numbers: range


def bucket_names(stem: str, depth: int, split: int) -> list[Names]:
    """Of one table's buckets: those of which `split` are cut one bit deeper than `depth` (see `lua/layout.lua`)."""
    deeper = 1 << depth + 1
    return [Names(stem, range(deeper, deeper + 2 * split)), Names(stem, range((1 << depth) + split, deeper))]


def sample(names: Sequence[Names]) -> tuple[list[str], int]:
    """At most SAMPLE of the names, chosen at random, and how many there are in all."""
    ends = list(accumulate(len(some.numbers) for some in names))
    total = ends[-1] if ends else 0
    chosen = []
    for place in random.sample(range(total), min(SAMPLE, total)):
        which = bisect_right(ends, place)
        some = names[which]
        chosen.append(f"{some.stem}{some.numbers[place - ends[which]]}")
    return chosen, total
