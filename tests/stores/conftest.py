"""What the contract tests begin with: an empty index in every kind of store, and pages for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.stores.backends import Backend, Clock
from tests.stores.pages import LAYOUT, Page, random_page

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawldedup.stores.base import Store


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(backend: Backend, clock: Clock) -> Iterator[Store]:
    store = backend.store(LAYOUT, clock)
    assert store.open() == 0
    yield store
    store.close()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@pytest.fixture
def page(rng: np.random.Generator) -> Page:
    return random_page(rng)


@pytest.fixture
def other(rng: np.random.Generator) -> Page:
    return random_page(rng)
