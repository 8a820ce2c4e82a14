"""Crawls in a process of each mode of Scrapy's event loop, and the stores for them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import scrapy
from scrapy.utils.reactor import install_reactor

from tests.scrapy_plugin.crawling import MODES, QUICK, Crawl, Crawling
from tests.scrapy_plugin.website import Site, article

if scrapy.version_info < (2, 15):
    # There Scrapy's own functions ask which reactor is installed, whatever loop runs: tests without
    # a crawl need one.
    install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")


Crawler = Callable[..., Crawl]
"""Crawls pages of a site; the arguments are those of `crawling.task_of`."""


@pytest.fixture(scope="session")
def crawlings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Crawling]]:
    """A process that crawls, for each mode."""
    crawlings = {mode: Crawling(mode, tmp_path_factory.mktemp("crawls")) for mode in MODES}
    yield crawlings
    for each in crawlings.values():
        each.close()


@pytest.fixture
def crawling(request: pytest.FixtureRequest, crawlings: dict[str, Crawling]) -> Crawling:
    """A process that crawls on asyncio's reactor, unless the test asks for another mode."""
    return crawlings[getattr(request, "param", "asyncio")]


@pytest.fixture
def lasting_store(tmp_path: Path) -> str:
    """The URL of an empty index that outlasts a crawl."""
    return f"sqlite:///{tmp_path}/index.sqlite"


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """A site of two articles and their copies, to which tests may add pages."""
    copies = {"/a": article(1), "/a-copy": article(1), "/near/a": article(1, changed_words=2)}
    with Site({**copies, "/b": article(2), "/b-copy": article(2)}) as running:
        yield running


@pytest.fixture
def crawl(crawling: Crawling, tmp_path: Path) -> Crawler:
    """Crawls with the quick extractor; stores and all else are the test's matter."""

    def crawl_in_mode(site: Site, pages: list[Any], **options: Any) -> Crawl:
        return crawling.crawl(site, tmp_path, pages, **{**QUICK, **options})

    return crawl_in_mode
