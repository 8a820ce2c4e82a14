from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from crawldedup import Options
from tests.servers import RedisServer
from tests.service.serving import Service, service_here

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module", params=["sqlite", "redis"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service over each store. Tests name pages of their own."""
    if request.param == "sqlite":
        store = f"sqlite:///{tmp_path_factory.mktemp('store')}/index.sqlite"
        with service_here(Options(store=store, paragraphs="mark")) as started:
            yield started
    else:
        with RedisServer() as server, service_here(Options(store=server.url, paragraphs="mark")) as started:
            yield started


@pytest.fixture(scope="module")
def here() -> Iterator[Service]:
    """A service in memory."""
    with service_here() as started:
        yield started
