"""The command line: `crawldedup --help`."""

from crawldedup.cli.main import main

__all__ = ["main"]
