"""A crawl to try crawldedup on: `crawldedup demo` crawls a local site full of near duplicates."""

from typing import Final

from crawldedup.commands.command import Command

DEMO: Final = Command(
    "crawl a local site full of near duplicates, and report",
    description="Crawls a local site full of near duplicates, and compares what was dropped with "
    "the truth. Use scan FOLDER for pages of your own.",
    module="crawldedup.demo.run",
    index=None,
)
