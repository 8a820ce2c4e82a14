"""An ordinary Scrapy project. The line with ADDONS is all that crawldedup needs."""

BOT_NAME = "example"
SPIDER_MODULES = ["example.spiders"]

ADDONS = {"crawldedup.Addon": 500}

# Where pages are remembered. By default, that is this process's memory, which ends with the crawl,
# or a file in JOBDIR if there is one. A SQLite file keeps pages for later crawls, and several
# crawlers can share a Redis server.
# CRAWLDEDUP_STORE = "sqlite:///seen-pages.sqlite"
# CRAWLDEDUP_STORE = "redis://localhost:6379/0"
# CRAWLDEDUP_NAMESPACE = "news"
# CRAWLDEDUP_TTL = "30d"

# The Jaccard similarity of word 3-shingles at which a page is a near duplicate.
# CRAWLDEDUP_SIMILARITY = 0.9

# What happens to a duplicate. "drop-items": its items are dropped, and its links are followed.
# "drop": the spider never sees the page. "mark": nothing is dropped, and
# response.meta["crawldedup_verdict"] says what each page is.
# CRAWLDEDUP_ACTION = "drop-items"

# Which pages a page is compared with: all pages ("global"), or those of its own site ("site").
# CRAWLDEDUP_SCOPE = "global"

# The part of a site's pages to compare, if you know it: a CSS selector.
# CRAWLDEDUP_CONTENT = {"shop.example": "#product"}

# The demo site has an endless calendar, as many sites do.
DEPTH_LIMIT = 12

# Write a report at the end of each crawl. It needs pip install '/path/to/this/clone[report]'.
# CRAWLDEDUP_REPORT = "report.html"

# Let Spidermon fail a crawl whose figures look wrong. It needs pip install spidermon, and the
# limits are in example/monitors.py.
# EXTENSIONS = {"spidermon.contrib.scrapy.extensions.Spidermon": 500}
# SPIDERMON_ENABLED = True
# SPIDERMON_SPIDER_CLOSE_MONITORS = ("example.monitors.CrawlMonitors",)

# Be polite to real sites. The demo site on this machine needs no delay.
CONCURRENT_REQUESTS_PER_DOMAIN = 1
DOWNLOAD_DELAY = 1
DOWNLOAD_SLOTS = {"127.0.0.1": {"concurrency": 8, "delay": 0}}
ROBOTSTXT_OBEY = True
USER_AGENT = "example (+https://example.com/crawler)"

FEED_EXPORT_ENCODING = "utf-8"
LOG_LEVEL = "INFO"
