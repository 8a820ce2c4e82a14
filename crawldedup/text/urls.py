"""Tell whether two URLs name one page."""

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


def are_same(url: str, other: str) -> bool:
    """Return True for URLs of one page, and where one of them is not known."""
    # Stores cannot keep lone surrogates.
    one, two = (each.encode("utf-8", "replace").decode() for each in (url, other))
    return not one or not two or one == two or canonical_url(one) == canonical_url(two)
