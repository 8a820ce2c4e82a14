"""A crawl to try crawldedup on: `crawldedup demo` crawls a local site full of near duplicates."""

from typing import Final

from crawldedup.commands.command import Command

DEMO: Final = Command(
    "crawl a local site full of near duplicates, and report",
    description=(
        "Crawls a local site full of near duplicates, and compares what was dropped with the "
        "site's own list of its copies. For your own pages, use scan FOLDER."
    ),
    module="crawldedup.demo.run",
    index=None,
)
