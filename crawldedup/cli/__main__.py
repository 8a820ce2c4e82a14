"""Run `python -m crawldedup.cli` as `crawldedup`."""

import sys

from crawldedup.cli.main import main

sys.exit(main())
