"""The command `crawldedup scan`."""

from argparse import BooleanOptionalAction
from pathlib import Path
from typing import Final

from crawldedup.commands.command import PAGE_ARGUMENTS, PROFILE_OPTIONS, WORKERS_ARGUMENT, Command

SCAN: Final = Command(
    "find the clusters of near duplicates within a collection",
    PAGE_ARGUMENTS
    | {
        "-o --output": {
            "metavar": "FILE",
            "type": Path,
            "help": "write a row for each page (.jsonl, .csv, both also with .gz), or the report as a page (.html)",
        },
        "--force": {"action": "store_true", "help": "replace the file if it is there"},
        "--work": {"metavar": "FOLDER", "type": Path, "help": "keep what was read here (default: beside --output)"},
        "--exact": {
            "action": BooleanOptionalAction,
            "default": True,
            "help": "decide by exact similarities; --no-exact decides by estimates, as a crawl does (default: exact)",
        },
        **WORKERS_ARGUMENT,
        "--keep": {
            "choices": ("best", "first"),
            "default": "best",
            "help": "keep of each cluster the first page, or the first of those whose URL names no session, "
            "campaign, print or mobile view (default: best)",
        },
        "--most": {"metavar": "N", "type": int, "default": 20, "help": "show so many clusters (default: 20)"},
    },
    ("scope", "similarity", "recall", *PROFILE_OPTIONS),
    description="Finds the clusters of near duplicates among the pages of files, folders, feeds, web archives and "
    "URLs, and which page of each is kept. A scan that was stopped goes on when the same command is given again.",
    module="crawldedup.scan.run",
    run="scan",
    # Two runs are compared alike everywhere.
    index={"store": "memory://", "key": 0},
)
