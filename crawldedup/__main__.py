"""Run the command line with `python -m crawldedup`, which is the same as `crawldedup`."""

import sys

from crawldedup.cli import main

if __name__ == "__main__":
    sys.exit(main())
