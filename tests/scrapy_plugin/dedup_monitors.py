"""Monitors on our stats, as users of Spidermon write them."""

from __future__ import annotations

from typing import Any

from spidermon.contrib.scrapy.monitors.base import BaseStatMonitor
from spidermon.core.suites import MonitorSuite


class NearDuplicates(BaseStatMonitor):
    stat_name = "crawldedup/duplicate/near"
    threshold_setting = "MOST_NEAR_DUPLICATES"
    assert_type = "<="


class Dropped(BaseStatMonitor):
    """Not more than half of the pages."""

    stat_name = "crawldedup/dropped"
    assert_type = "<="

    def get_threshold(self) -> float:
        stats: dict[str, Any] = self.stats
        return float(stats["crawldedup/checked"] / 2)


class StoreErrors(BaseStatMonitor):
    """There is no such stat in a crawl without errors."""

    stat_name = "crawldedup/error/unavailable"
    threshold_setting = "MOST_NEAR_DUPLICATES"
    assert_type = "<="
    fail_if_stat_missing = False


class Suite(MonitorSuite):
    monitors = (NearDuplicates, Dropped, StoreErrors)
