"""Monitors for Spidermon: a crawl that repeats, misses or finds less than it should fails loudly.

Each limit is a setting of the project; the number beside it is the default.
"""

from spidermon import monitors
from spidermon.contrib.scrapy.monitors.base import BaseScrapyMonitor
from spidermon.core.suites import MonitorSuite


def percent(share):
    return f"{100 * share:.4g}%"


@monitors.name("Near duplicates")
class CrawlMonitor(BaseScrapyMonitor):
    """Compare the stats of crawldedup with limits."""

    def count(self, *names):
        return sum(self.data.stats.get(f"crawldedup/{name}", 0) for name in names)

    def limit(self, setting, default):
        return self.data.crawler.settings.getfloat(setting, default)

    @monitors.name("Most of the pages are not duplicates")
    def test_duplicates(self):
        share = self.count("duplicate/near", "duplicate/exact") / max(1, self.count("checked"))
        limit = self.limit("MOST_DUPLICATES", 0.6)
        assert share <= limit, (
            f"{percent(share)} of the pages are duplicates, limit {percent(limit)}"
        )

    @monitors.name("Few pages pass unchecked")
    def test_unchecked(self):
        stats = self.data.stats
        unchecked = sum(
            count for name, count in stats.items() if name.startswith("crawldedup/error/")
        )
        share = unchecked / max(1, unchecked + self.count("checked"))
        limit = self.limit("MOST_UNCHECKED", 0.01)
        assert share <= limit, (
            f"{percent(share)} of the pages passed unchecked, limit {percent(limit)}"
        )

    @monitors.name("No page has very many copies")
    def test_largest_cluster(self):
        copies, limit = self.count("largest_cluster"), self.limit("LARGEST_CLUSTER", 100)
        assert copies <= limit, f"a page has {copies} copies, limit {limit:g}"

    @monitors.name("The crawl still finds something new")
    def test_novelty(self):
        novelty = self.data.stats.get("crawldedup/novelty", 1)
        limit = self.limit("LEAST_NOVELTY", 0.05)
        assert novelty >= limit, (
            f"{percent(novelty)} of the last pages are new, limit {percent(limit)}"
        )


class CrawlMonitors(MonitorSuite):
    """The suite for `SPIDERMON_SPIDER_CLOSE_MONITORS`."""

    monitors = (CrawlMonitor,)
