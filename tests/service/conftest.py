from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.servers import RedisServer
from tests.service.serving import ServiceProcess

if TYPE_CHECKING:
    from collections.abc import Iterator


PARAGRAPHS = ("--paragraphs", "mark")


@pytest.fixture(scope="module", params=["sqlite", "redis"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    """A service over each store. Tests name pages of their own."""
    if request.param == "sqlite":
        with ServiceProcess(
            "--store", f"sqlite:///{tmp_path_factory.mktemp('store')}/index.sqlite", *PARAGRAPHS
        ) as started:
            yield started
    else:
        with RedisServer() as server, ServiceProcess("--store", server.url, "--workers", "2", *PARAGRAPHS) as started:
            yield started
