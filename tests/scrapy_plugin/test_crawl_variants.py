"""Crawls of a shop whose variants differ in a picture and in a parameter of their URLs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.scrapy_plugin.conftest import in_one_mode
from tests.scrapy_plugin.website import Site, article

if TYPE_CHECKING:
    from tests.scrapy_plugin.conftest import Crawler

pytestmark = in_one_mode

PATHS = ["/lamp?img=1", "/lamp?img=2", "/lamp?img=2&ref=7", "/lamp?img=3", "/lamp?ref=7"]


@pytest.mark.parametrize("setting", [["img"], '{"127.0.0.1": ["img"]}', {"other.example": ["img"]}])
def test_variants_named_by_a_parameter_are_delivered(crawl: Crawler, setting: object) -> None:
    with Site({"/lamp": article(1)}) as site:
        result = crawl(site, PATHS, CRAWLDEDUP_DISTINGUISH_PARAMS=setting, CONCURRENT_REQUESTS=1)
    is_other = isinstance(setting, dict)
    assert result.passed == (PATHS[:1] if is_other else [PATHS[0], PATHS[1], PATHS[3], PATHS[4]])
