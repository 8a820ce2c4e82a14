"""Crawls in a process of each mode of Scrapy's event loop, and the stores for them."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
import scrapy
from scrapy.utils.reactor import install_reactor

from tests.conftest import make_backend
from tests.scrapy_plugin.crawling import MODES, QUICK, Crawl, Crawling
from tests.scrapy_plugin.website import Site
from tests.stores.backends import NAMES

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


@pytest.fixture
def crawling(request: pytest.FixtureRequest, crawlings: dict[str, Crawling]) -> Crawling:
    """A process that crawls on asyncio's reactor, unless the test asks for another mode."""
    return crawlings[getattr(request, "param", "asyncio")]


# Mode and store do not meet: the event loop waits for a worker process, and the worker asks the store.
with_every_store = pytest.mark.parametrize(
    ("crawling", "store"), list(zip(itertools.cycle(MODES), NAMES, strict=False)), indirect=True
)
in_every_mode = pytest.mark.parametrize("crawling", MODES, indirect=True)
nightly = pytest.mark.nightly


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty index in memory, unless the test asks for another kind."""
    return make_backend(getattr(request, "param", "memory"), request, tmp_path).url


@pytest.fixture
def lasting_store(tmp_path: Path) -> str:
    """The URL of an empty index that outlasts a crawl."""
    return f"sqlite:///{tmp_path}/index.sqlite"


@pytest.fixture
def crawl(crawling: Crawling, tmp_path: Path) -> Crawler:
    """Crawls with the quick extractor; stores and all else are the test's matter."""

    def crawl_in_mode(site: Site, pages: list[Any], **options: Any) -> Crawl:
        return crawling.crawl(site, tmp_path, pages, **{**QUICK, **options})

    return crawl_in_mode
