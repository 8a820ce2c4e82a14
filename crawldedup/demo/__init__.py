"""The command `crawldedup demo`, which crawls a local site full of near duplicates."""

from pathlib import Path
from typing import Final

from crawldedup.commands.command import Command, argument

DEMO: Final = Command(
    "crawl a local site full of near duplicates, and report what was dropped",
    {
        "--output": argument(
            "write the report of the crawl here: .html, .json, .csv, .jsonl or .parquet (default: "
            "crawldedup-demo.html; needs the extra report)",
            "FILE",
            type=Path,
        )
    },
    description=(
        "Crawls a local site full of near duplicates, and compares what was dropped with the "
        "site's own list of its copies. For your own pages, use scan FOLDER."
    ),
    module="crawldedup.demo.run",
    index=None,
)
