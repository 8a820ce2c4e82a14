"""The keys in a request's meta that the plugin uses, and one of another package."""

from typing import Final

# The keys for the verdict on a page, for its main text and its name, and for
# pages whose items are dropped.
VERDICT_KEY: Final = "crawldedup_verdict"
TEXT_KEY: Final = "crawldedup_text"
NAME_KEY: Final = "crawldedup_name"
DROP_ITEMS_KEY: Final = "_crawldedup_drop_items"
# Whether a page differs from an earlier one only in a date.
REPEATS_KEY: Final = "_crawldedup_repeats"
PAGE_KEYS: Final = (VERDICT_KEY, TEXT_KEY, NAME_KEY, DROP_ITEMS_KEY, REPEATS_KEY)

BROWSER_PAGE_KEY: Final = "playwright_page"
"""scrapy-playwright's key for a browser tab that it keeps open."""
