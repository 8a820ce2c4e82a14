"""`python -m crawldedup.cli` is `crawldedup`."""

import sys

from crawldedup.cli.main import main

sys.exit(main())
