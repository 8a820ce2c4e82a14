"""``ADDONS = {"crawldedup.Addon": 500}``: puts the middlewares, and the pipeline if it is wanted,
where they belong.
"""

from scrapy.settings import BaseSettings

from crawldedup.scrapy_plugin.budget import BudgetMiddleware
from crawldedup.scrapy_plugin.items import DedupItemPipeline, DropItemsMiddleware
from crawldedup.scrapy_plugin.middleware import DedupMiddleware
from crawldedup.scrapy_plugin.postpone import PostponeMiddleware
from crawldedup.scrapy_plugin.rules import RulesMiddleware
from crawldedup.scrapy_plugin.settings import PREFIX


class Addon:
    """Adds the middlewares to a crawl, unless the project has already placed or disabled (None)
    them.

    The item pipeline is added if ``CRAWLDEDUP_ITEM_FIELDS`` is set.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        """Place the middlewares; called by Scrapy before the crawl starts."""
        place = settings.setdefault_in_component_priority_dict
        # Responses come up from the download with falling order. Below 545 lie redirects (600),
        # decompression (590), meta refresh (580) and retries (550): what reaches 545 is a decoded
        # page that the spider is about to get.
        place("DOWNLOADER_MIDDLEWARES", DedupMiddleware, 545)
        # Before all others, so that it sees a request once, however often it is sent back.
        place("DOWNLOADER_MIDDLEWARES", PostponeMiddleware, 40)
        if settings.get(f"{PREFIX}RULES") is not None:
            # After the middlewares that refuse requests (offsite 50, robots.txt 100), and before
            # anything is sent.
            place("DOWNLOADER_MIDDLEWARES", RulesMiddleware, 544)
        if settings.get(f"{PREFIX}BUDGET") is not None:
            # As the rules, which are not asked for what is skipped here.
            place("DOWNLOADER_MIDDLEWARES", BudgetMiddleware, 543)
        # Next to the engine, after every other spider middleware had its say about the items.
        place("SPIDER_MIDDLEWARES", DropItemsMiddleware, 40)
        # Fields that are named wrongly, as an empty list is, are for the pipeline to refuse.
        if settings.get(f"{PREFIX}ITEM_FIELDS") is not None:
            # After pipelines that clean or refuse items (by convention 100 to 300), before those
            # that store them.
            place("ITEM_PIPELINES", DedupItemPipeline, 400)
