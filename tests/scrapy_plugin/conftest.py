"""Crawls in every mode of Scrapy's event loop, with every kind of store."""

from __future__ import annotations

import contextlib
import itertools
from typing import TYPE_CHECKING, Protocol

import pytest
import scrapy
from scrapy.utils.reactor import install_reactor

from tests.scrapy_plugin.crawling import MODES, QUICK, Crawl, Crawling

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from tests.scrapy_plugin.website import Site
    from tests.servers import RedisServer

if scrapy.version_info < (2, 15):
    # There Scrapy's own functions ask which reactor is installed, whatever loop runs: tests without a crawl need one.
    install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")


class Crawler(Protocol):
    """Crawls pages of a site with one store; the arguments are those of `crawling.task_of`."""

    def __call__(self, site: Site, pages: list[Any], **options: Any) -> Crawl: ...


@pytest.fixture(scope="session")
def crawlings() -> Iterator[dict[str, Crawling]]:
    """A process that crawls, for each mode, from its first crawl on."""
    with contextlib.ExitStack() as stack:
        yield {mode: stack.enter_context(Crawling(mode)) for mode in MODES}


@pytest.fixture(params=MODES)
def crawling(request: pytest.FixtureRequest, crawlings: dict[str, Crawling]) -> Crawling:
    return crawlings[request.param]


def store_url(name: str, request: pytest.FixtureRequest, folder: Path) -> str:
    if name == "memory":
        return "memory://"
    if name == "sqlite":
        return f"sqlite:///{folder}/index.sqlite"
    server: RedisServer = request.getfixturevalue("session_redis")
    server.client.flushall()
    return server.url


STORES = ["memory", "sqlite", "redis"]
LASTING_STORES = ["sqlite", "redis"]


def modes_with(fixture: str, stores: list[str]) -> pytest.MarkDecorator:
    """Every mode and every store at least once, instead of each mode with each store.

    They do not meet: the event loop waits for a worker process, and the worker asks the store.
    """
    rounds = max(len(MODES), len(stores))
    pairs = zip(itertools.cycle(MODES), itertools.cycle(stores), range(rounds), strict=False)
    return pytest.mark.parametrize(("crawling", fixture), [pair[:2] for pair in pairs], indirect=True)


in_one_mode = pytest.mark.parametrize("crawling", ["asyncio"], indirect=True)
in_every_mode = modes_with("store", STORES[: len(MODES)])
with_every_store = modes_with("store", STORES)
with_every_lasting_store = modes_with("lasting_store", LASTING_STORES)


nightly = pytest.mark.nightly
in_memory_first = pytest.mark.parametrize(
    "store", ["memory", *(pytest.param(name, marks=nightly) for name in LASTING_STORES)], indirect=True
)
in_redis_first = pytest.mark.parametrize(
    "lasting_store", ["redis", pytest.param("sqlite", marks=nightly)], indirect=True
)


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of every kind of store, empty."""
    return store_url(request.param, request, tmp_path)


@pytest.fixture(params=LASTING_STORES)
def lasting_store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of every kind of store that outlasts a crawl, empty."""
    return store_url(request.param, request, tmp_path)


@pytest.fixture
def crawl(crawling: Crawling, tmp_path: Path) -> Crawler:
    """Crawls with the quick extractor, in every mode; stores and all else are the test's matter."""

    def crawl_in_mode(site: Site, pages: list[Any], **options: Any) -> Crawl:
        return crawling.crawl(site, tmp_path, pages, **{**QUICK, **options})

    return crawl_in_mode
