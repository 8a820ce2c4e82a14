from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service.serving import Service, service_here


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service over a file. Tests name pages of their own."""
    store = f"sqlite:///{tmp_path_factory.mktemp('store')}/index.sqlite"
    with service_here(store=store, paragraphs="mark") as started:
        yield started
