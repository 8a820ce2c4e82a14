"""Run the command line: `python -m crawldedup` is the same as the command `crawldedup`."""

import sys

from crawldedup.cli import main

if __name__ == "__main__":
    sys.exit(main())
