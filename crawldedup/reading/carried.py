"""Find out whether the links on a page carry the session in its URL on to other pages.

A session follows the visitor. The number of a document doesn't, even if it is called `sid`.
"""

from typing import Final
from urllib.parse import urljoin

from crawldedup.marks.address import Address, View
from crawldedup.reading.html import HtmlPage

_MOST_TRIED: Final = 20  # the most links to look at; some of them may lead to the page itself


def values_in(url: str) -> tuple[View, ...]:
    """Return the views in a URL that have a value, such as the ID of a session, or ()."""
    address = Address.of(url)
    return tuple(view for view in address.views if view.value) if address is not None else ()


def carries_view(url: str, source: HtmlPage) -> bool:
    """Return whether a link on a page leads to another path of its site with the same session.

    It is False if the URL has no session. Only the first few links with its value are looked at.
    """
    views = values_in(url)
    if not views:
        return False
    own = Address.of(url)
    tried = 0
    for node in source.tree.css("a[href]"):
        href = node.attributes["href"] or ""
        if tried < _MOST_TRIED and all(view.value in href for view in views):
            tried += 1
            if _leads_on(own, _address_of_link(url, href), views):
                return True
    return False


def _address_of_link(url: str, href: str) -> Address | None:
    try:
        return Address.of(urljoin(url, href))
    except ValueError:  # The link is broken.
        return None


def _leads_on(own: Address | None, other: Address | None, views: tuple[View, ...]) -> bool:
    if own is None or other is None or own.site != other.site or own.path == other.path:
        return False
    return set(views) <= set(other.views)
