from __future__ import annotations

from typing import Any

import pytest
from scrapy.settings import Settings
from scrapy.utils.misc import load_object

from crawldedup.scrapy_plugin import Addon, DedupItemPipeline, DedupMiddleware
from crawldedup.scrapy_plugin.items import DropItemsMiddleware
from crawldedup.scrapy_plugin.postpone import PostponeMiddleware

PATH = "crawldedup.scrapy_plugin.DedupMiddleware"


def placed(settings: Settings) -> dict[object, int | None]:
    middlewares = settings.getdict("DOWNLOADER_MIDDLEWARES")
    return {load_object(key): order for key, order in middlewares.items()}


def test_the_addon_puts_the_middlewares_where_they_belong() -> None:
    settings = Settings()
    for _ in range(2):
        Addon().update_settings(settings)
    assert placed(settings) == {PostponeMiddleware: 40, DedupMiddleware: 545}
    assert DropItemsMiddleware in settings.getdict("SPIDER_MIDDLEWARES")


@pytest.mark.parametrize("key", [PATH, DedupMiddleware, "crawldedup.scrapy_plugin.middleware.DedupMiddleware"])
@pytest.mark.parametrize("order", [300, None])
def test_the_addon_respects_what_the_project_says(key: object, order: int | None) -> None:
    settings = Settings({"DOWNLOADER_MIDDLEWARES": {key: order}})
    Addon().update_settings(settings)
    assert placed(settings)[DedupMiddleware] == order


@pytest.mark.parametrize("fields", [["body"], "body", [], {}, "", 0])
def test_the_pipeline_is_there_where_fields_are_named_or_named_wrongly(fields: object) -> None:
    settings = Settings({"CRAWLDEDUP_ITEM_FIELDS": fields})
    Addon().update_settings(settings)
    pipelines = settings.getdict("ITEM_PIPELINES")
    assert {load_object(key): order for key, order in pipelines.items()} == {DedupItemPipeline: 400}


@pytest.mark.parametrize("settings", [{}, {"CRAWLDEDUP_ITEM_FIELDS": None}])
def test_the_pipeline_is_not_there_where_nobody_asked_for_it(settings: dict[str, Any]) -> None:
    crawl = Settings(settings)
    Addon().update_settings(crawl)
    assert crawl.getdict("ITEM_PIPELINES") == {}
