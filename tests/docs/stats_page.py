"""The stats that the reference names. `<reason>` and the like stand for any word."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from crawldedup.scrapy_plugin.stats import PREFIX
from tests.docs.pages import SITE

PAGE = SITE / "reference" / "stats.md"


@cache
def named_stats() -> frozenset[str]:
    """Return the stats that the page names anywhere, with their placeholders."""
    return frozenset(re.findall(rf"`({PREFIX}[^`\s]*[^`\s/])`", PAGE.read_text("utf-8")))


@cache
def _named() -> re.Pattern[str]:
    return re.compile("|".join(re.sub(r"<\w+>", "[^/]+", re.escape(name)) for name in named_stats()))


def undocumented(stats: Iterable[str]) -> set[str]:
    """Return those of Scrapy's stats that are ours and that the page does not name."""
    return {name for name in stats if name.startswith(PREFIX) and not _named().fullmatch(name)}
