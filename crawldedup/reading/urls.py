"""Bring URLs that name one page into one form."""

from functools import lru_cache
from typing import Final

from w3lib.url import canonicalize_url

_LONGEST_URL: Final = 8192
"""Letters of the longest URL that is brought into one form. Parsing it takes dozens of times its memory."""


# A page's URL is asked for several times.
@lru_cache(maxsize=64)
def canonical_url(url: str, *, keep_fragment: bool = False) -> str:
    """Return the URL with its query sorted and without fragment. A broken URL, or a very long one, is left as it is."""
    if len(url) > _LONGEST_URL:
        return url
    try:
        return str(canonicalize_url(url, keep_fragments=keep_fragment))
    except ValueError:
        return url
