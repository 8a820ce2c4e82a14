"""Signals that spiders and extensions can connect to, as they do to Scrapy's own.

`page_judged` is sent once for every judged page, and right after it, for duplicates only, `page_deduplicated`. Both
come with `request`, `response`, `verdict` (a `crawldedup.Verdict`), `dropped` (True if the spider will not see the
page) and `spider`. Handlers may be coroutines; the page waits for them.
"""

page_judged = object()
page_deduplicated = object()
