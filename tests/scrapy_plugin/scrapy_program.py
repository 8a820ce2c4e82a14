"""Scrapy's command line, where its deprecation warnings are errors."""

from __future__ import annotations

import warnings

from scrapy.cmdline import execute
from scrapy.exceptions import ScrapyDeprecationWarning

warnings.simplefilter("error", ScrapyDeprecationWarning)
# Scrapy's own command `parse`, in older versions.
warnings.filterwarnings("ignore", ".* returned a Deferred", ScrapyDeprecationWarning)

execute()
