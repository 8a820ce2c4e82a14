"""The Scrapy add-on, which enables crawldedup with ``ADDONS = {"crawldedup.Addon": 500}``."""

from scrapy.settings import BaseSettings

from crawldedup.scrapy_plugin.budget import BudgetMiddleware
from crawldedup.scrapy_plugin.items import DedupItemPipeline, DropItemsMiddleware
from crawldedup.scrapy_plugin.middleware import DedupMiddleware
from crawldedup.scrapy_plugin.postpone import PostponeMiddleware
from crawldedup.scrapy_plugin.rules import RulesMiddleware
from crawldedup.scrapy_plugin.settings import PREFIX


class Addon:
    """Adds the middlewares of crawldedup to a crawl and, if wanted, its item pipeline.

    Middlewares that the project has already placed or disabled (None) are left as they are. The
    item pipeline is added if ``CRAWLDEDUP_ITEM_FIELDS`` is set.
    """

    def __repr__(self) -> str:
        """Return the name of the add-on as Scrapy logs it."""
        return "crawldedup.Addon"

    def update_settings(self, settings: BaseSettings) -> None:
        """Add the middlewares and, if wanted, the item pipeline to the settings.

        Scrapy calls this before the crawl starts.
        """
        place = settings.setdefault_in_component_priority_dict
        # Responses pass the middlewares in descending order. Redirects (600), decompression (590),
        # meta refresh (580) and retries (550) come before 545, so this one sees decoded pages that
        # the spider is about to receive.
        place("DOWNLOADER_MIDDLEWARES", DedupMiddleware, 545)
        # Before all others, so it sees each request once, no matter how often it is rescheduled.
        place("DOWNLOADER_MIDDLEWARES", PostponeMiddleware, 40)
        if settings.get(f"{PREFIX}RULES") is not None:
            # After the middlewares that reject requests (offsite 50, robots.txt 100), and before
            # anything is sent.
            place("DOWNLOADER_MIDDLEWARES", RulesMiddleware, 544)
        if settings.get(f"{PREFIX}BUDGET") is not None:
            # Right before the rules, which don't see the requests that are skipped here.
            place("DOWNLOADER_MIDDLEWARES", BudgetMiddleware, 543)
        # Close to the engine, after all other spider middlewares have processed the items.
        place("SPIDER_MIDDLEWARES", DropItemsMiddleware, 40)
        # The pipeline rejects invalid names of fields, such as an empty list.
        if settings.get(f"{PREFIX}ITEM_FIELDS") is not None:
            # After pipelines that clean or drop items (100 to 300 by convention), before those that
            # store them.
            place("ITEM_PIPELINES", DedupItemPipeline, 400)
