"""An ordinary Scrapy project. The line with ADDONS is all that crawldedup needs."""

BOT_NAME = "example"
SPIDER_MODULES = ["example.spiders"]

ADDONS = {"crawldedup.Addon": 500}

# Where known pages are remembered. Without this line: in memory, for one crawl; or in JOBDIR, if there is one.
# Redis lets several crawlers share what they have seen, and the next crawl know it already.
# CRAWLDEDUP_STORE = "sqlite:///seen-pages.sqlite"
# CRAWLDEDUP_STORE = "redis://localhost:6379/0"
# CRAWLDEDUP_NAMESPACE = "news"
# CRAWLDEDUP_TTL = "30d"

# How much of the text (word 3-shingles, Jaccard) two pages must share to be near duplicates.
# CRAWLDEDUP_SIMILARITY = 0.9

# "drop": the spider does not see duplicates. "drop-items": it sees them, follows their links, but their items
# are dropped. "mark": nothing is dropped; response.meta["crawldedup_verdict"] says what each page is.
# CRAWLDEDUP_ACTION = "drop"

# "global": a page is compared with all pages. "site": only with pages of its own site.
# CRAWLDEDUP_SCOPE = "global"

# Trafilatura is the most exact, resiliparse about twice as fast (pip install resiliparse).
# CRAWLDEDUP_EXTRACTOR = "trafilatura"

# Where the spider begins if it is not told otherwise with -a start=... or -a dir=...
START_URL = "http://127.0.0.1:8000/"

# The demo site has a calendar without an end, as many sites do.
DEPTH_LIMIT = 12

# Polite defaults for the crawls you will make of this.
ROBOTSTXT_OBEY = True
CONCURRENT_REQUESTS_PER_DOMAIN = 8
LOG_LEVEL = "INFO"
