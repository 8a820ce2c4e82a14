"""``ADDONS = {"crawldedup.Addon": 500}``: puts the middlewares, and the pipeline if it is wanted, where they belong."""

from scrapy.settings import BaseSettings

from crawldedup.scrapy_plugin.items import DedupItemPipeline, DropItemsMiddleware
from crawldedup.scrapy_plugin.middleware import DedupMiddleware
from crawldedup.scrapy_plugin.requests import PostponeMiddleware, RulesMiddleware
from crawldedup.scrapy_plugin.settings import PREFIX

# Responses come up from the download with falling order. Below 545 lie redirects (600), decompression (590),
# meta refresh (580) and retries (550): what reaches 545 is a decoded page that the spider is about to get.
DOWNLOADER_ORDER = 545
# After the middlewares that refuse requests (offsite 50, robots.txt 100), and before anything is sent.
RULES_ORDER = 544
# Before all others, so that they see a request once, however often it is sent back.
POSTPONE_ORDER = 40
# Next to the engine, after every other spider middleware had its say about the items.
SPIDER_ORDER = 40
# After pipelines that clean or refuse items (by convention 100 to 300), before those that store them.
PIPELINE_ORDER = 400


class Addon:
    """Adds the middlewares to a crawl, unless the project has already placed or disabled (None) them.

    The item pipeline is added if ``CRAWLDEDUP_ITEM_FIELDS`` is set.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        """Place the middlewares; called by Scrapy before the crawl starts."""
        place = settings.setdefault_in_component_priority_dict
        place("DOWNLOADER_MIDDLEWARES", DedupMiddleware, DOWNLOADER_ORDER)
        place("DOWNLOADER_MIDDLEWARES", PostponeMiddleware, POSTPONE_ORDER)
        if settings.get(f"{PREFIX}RULES") is not None:
            place("DOWNLOADER_MIDDLEWARES", RulesMiddleware, RULES_ORDER)
        place("SPIDER_MIDDLEWARES", DropItemsMiddleware, SPIDER_ORDER)
        # Fields that are named wrongly, as an empty list is, are for the pipeline to refuse.
        if settings.get(f"{PREFIX}ITEM_FIELDS") is not None:
            place("ITEM_PIPELINES", DedupItemPipeline, PIPELINE_ORDER)
