"""Crawls in every mode of Scrapy's event loop, with every kind of store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest
import scrapy
from scrapy.utils.reactor import install_reactor

from .crawling import MODES, QUICK, Crawl, Crawling

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from tests.servers import RedisServer

    from .website import Site

if scrapy.version_info < (2, 15):
    # There Scrapy's own functions ask which reactor is installed, whatever loop runs: tests without a crawl need one.
    install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")


class Crawler(Protocol):
    """Crawls pages of a site with one store; the arguments are those of `crawling.task_of`."""

    def __call__(self, site: Site, pages: list[Any], **options: Any) -> Crawl: ...


@pytest.fixture(scope="module", params=MODES)
def crawling(request: pytest.FixtureRequest) -> Iterator[Crawling]:
    """A process that crawls, for each mode."""
    with Crawling(request.param) as running:
        yield running


def store_url(name: str, request: pytest.FixtureRequest, folder: Path) -> str:
    if name == "memory":
        return "memory://"
    if name == "sqlite":
        return f"sqlite:///{folder}/index.sqlite"
    server: RedisServer = request.getfixturevalue("session_redis")
    server.client.flushall()
    return server.url


@pytest.fixture(params=["memory", "sqlite", "redis"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of every kind of store, empty."""
    return store_url(request.param, request, tmp_path)


@pytest.fixture(params=["sqlite", "redis"])
def lasting_store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of every kind of store that outlasts a crawl, empty."""
    return store_url(request.param, request, tmp_path)


@pytest.fixture
def crawl(crawling: Crawling, tmp_path: Path) -> Crawler:
    """Crawls with the quick extractor, in every mode; stores and all else are the test's matter."""

    def crawl_in_mode(site: Site, pages: list[Any], **options: Any) -> Crawl:
        return crawling.crawl(site, tmp_path, pages, **{**QUICK, **options})

    return crawl_in_mode
