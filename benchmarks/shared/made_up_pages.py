"""Columns of made-up pages: weights are normal numbers, and copies have the similarity that they are made with.

Of `mixed` pages, one in ten is an exact copy, and one in five a near copy of similarity 0.5 to 1. `copies` are copies
of one page. Of `template` pages, half resemble each other with J = 0.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from crawldedup.fingerprinting.fingerprint import SEARCH_BITS, VERIFY_BITS
from crawldedup.scan.columns import LAYOUT, VOLATILITY_UNIT, Columns
from crawldedup.scan.engine import Goal
from crawldedup.search.decision import threshold_rows
from crawldedup.search.model import search_similarity

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

GOAL: Final = Goal(0.9, 0.98)
BLOCK: Final = 1 << 13
"""Pages are made so many at once, each block from its number."""
SHAPES: Final = ("mixed", "copies", "template")
_TEMPLATE: Final = 0.6
_SIMILARITIES: tuple[Callable[[float], float], ...] = (search_similarity, float)
"""How similar the features of the search bits and of the verify bits of two pages are, given their similarity."""


@dataclass(frozen=True)
class Pages:
    """Makes the fingerprints of so many pages, a block at a time."""

    count: int
    shape: str

    @property
    def blocks(self) -> int:
        return -(-self.count // BLOCK)

    def block(self, number: int) -> Columns:
        size = min(BLOCK, self.count - number * BLOCK)
        rng = np.random.default_rng([number if self.shape != "copies" else 0, 1])
        weights = [rng.standard_normal((BLOCK, bits), np.float32) for bits in (SEARCH_BITS, VERIFY_BITS)]
        digests = rng.integers(0, 1 << 63, BLOCK, np.uint64)
        source = np.arange(BLOCK)
        if self.shape == "copies":
            source[:] = 0
        elif self.shape == "template":
            odd = source % 2 == 1
            template = np.random.default_rng(0)
            for each, kind in zip(weights, _SIMILARITIES, strict=True):
                shared = template.standard_normal((1, each.shape[1]), np.float32)
                each[odd] = _near(shared, each[odd], np.full(odd.sum(), kind(_TEMPLATE)))
        else:
            half = BLOCK // 2
            later = np.arange(half, BLOCK)
            copy, near = later[later % 5 == 0], later[later % 5 < 3]
            source[copy] = rng.integers(0, half, len(copy))
            near = near[near % 5 > 0]
            other, similarity = rng.integers(0, half, len(near)), rng.uniform(0.5, 1, len(near))
            for each, kind in zip(weights, _SIMILARITIES, strict=True):
                each[near] = _near(each[other], each[near], np.array([kind(value) for value in similarity]))
        search, verify = (each[source[:size]] for each in weights)
        return _columns(search, verify, digests[source[:size]])

    def columns(self) -> Columns:
        parts = [self.block(number).by_name() for number in range(self.blocks)]
        joined: dict[str, Any] = {name: np.concatenate([part[name] for part in parts]) for name in LAYOUT}
        return Columns(**joined)

    def columns_in(self, folder: Path) -> Columns:
        """Return columns that are on disk, as those of a scan are."""
        files = {name: (folder / name).open("wb") for name in LAYOUT}
        for number in range(self.blocks):
            for name, column in self.block(number).by_name().items():
                files[name].write(column.tobytes())
        for file in files.values():
            file.close()
        mapped: dict[str, Any] = {
            name: np.memmap(folder / name, kind, "r", shape=(self.count,)) for name, kind in LAYOUT.items()
        }
        return Columns(**mapped)


def _near(first: Floats, second: Floats, similarity: NDArray[np.float64]) -> Floats:
    """Return weights that are as near to the first ones as those of pages of this similarity."""
    rho = (2 * similarity / (1 + similarity)).astype(np.float32)[:, None]
    found: Floats = rho * first + np.sqrt(1 - rho * rho) * second
    return found


def _columns(search: Floats, verify: Floats, digest: NDArray[np.uint64]) -> Columns:
    return Columns(
        search=np.packbits(search >= 0, axis=1).view(">u8").ravel().astype(np.uint64),
        verify=np.packbits(verify >= 0, axis=1),
        digest=digest,
        volatility=np.minimum(np.abs(search) * VOLATILITY_UNIT, 255).astype(np.uint8),
        steps=threshold_rows(verify, GOAL.threshold).astype(np.uint16),
        thin=np.zeros(len(search), np.bool_),
        rank=np.zeros(len(search), np.uint8),
    )
