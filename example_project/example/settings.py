"""An ordinary Scrapy project. The line with ADDONS is all that crawldedup needs."""

BOT_NAME = "example"
SPIDER_MODULES = ["example.spiders"]

ADDONS = {"crawldedup.Addon": 500}

# Where pages are remembered. Without a store, that is a private file for one crawl, or JOBDIR if
# there is one. A file keeps what was seen for later crawls; Redis lets several crawlers share it.
# CRAWLDEDUP_STORE = "sqlite:///seen-pages.sqlite"
# CRAWLDEDUP_STORE = "redis://localhost:6379/0"
# CRAWLDEDUP_NAMESPACE = "news"
# CRAWLDEDUP_TTL = "30d"

# How much text two near duplicates share (the Jaccard similarity of word 3-shingles).
# CRAWLDEDUP_SIMILARITY = 0.9

# "drop-items": the spider follows the links of duplicates, and their items are dropped. "drop": it
# does not see them. "mark": nothing is dropped, and response.meta["crawldedup_verdict"] says what
# each page is.
# CRAWLDEDUP_ACTION = "drop-items"

# "global": a page is compared with all pages. "site": only with pages of its own site.
# CRAWLDEDUP_SCOPE = "global"

# What to compare of each site's pages, where you know it: CSS selectors.
# CRAWLDEDUP_CONTENT = {"shop.example": "#product"}

# Where a spider begins without -a start=... or -a dir=...
START_URL = "http://127.0.0.1:8000/"

# The demo site has an endless calendar, as many sites do.
DEPTH_LIMIT = 12

# A report of each crawl, in a file beside this project (pip install '/path/to/this/clone[report]').
# CRAWLDEDUP_REPORT = "report.html"

# Spidermon fails a crawl whose figures are wrong (pip install spidermon). The limits are in
# example/monitors.py.
# EXTENSIONS = {"spidermon.contrib.scrapy.extensions.Spidermon": 500}
# SPIDERMON_ENABLED = True
# SPIDERMON_SPIDER_CLOSE_MONITORS = ("example.monitors.CrawlMonitors",)

# Polite defaults for crawls of real sites.
ROBOTSTXT_OBEY = True
CONCURRENT_REQUESTS_PER_DOMAIN = 8
LOG_LEVEL = "INFO"
