"""Tell apart two pages that differ only in volatile numbers, and one page that changes by itself.

Without its volatile numbers, a page may read like another one although its content is different,
such as two months of an archive. Once two pages with the same text have changed by themselves, the
numbers are known to be meaningless for that text.
"""

import re
from typing import Final

from crawldedup.reading.volatile import without_visit
from crawldedup.recent import put_last, shortened
from crawldedup.scope import folder_of, site_of
from crawldedup.urls import canonical_url

_CHANGED: Final = 2
_MOST_PAGES: Final = 4096


class ChangingTexts:
    """Remembers the texts of pages whose numbers were seen to change by themselves."""

    def __init__(self) -> None:
        self._loads: dict[tuple[int, str], int] = {}
        self._pages: dict[tuple[str, str, int], set[str]] = {}

    def note_load(self, url: str, text: int, full_text: int) -> None:
        """Note the digests of a page's text, without and with its volatile lines."""
        page = shortened(canonical_url(without_visit(url)))
        if self._loads.get((text, page), full_text) != full_text:
            key = *_owner_of(url), text
            earlier = [*self._pages.get(key, ())][-_CHANGED:]
            put_last(self._pages, key, {page, *earlier}, _MOST_PAGES)
        put_last(self._loads, (text, page), full_text, _MOST_PAGES)

    def may_be_two(
        self, url: str, original: str | None, text: int, claimed: str | None = None
    ) -> bool:
        """Return whether a page and its original may be two pages that differ in omitted numbers.

        Args:
            url: The URL of the page.
            original: The URL of its original, or None if that is not known.
            text: The digest of the rest of the page.
            claimed: The canonical URL that the page names, if it names one.

        Returns:
            True if their paths end differently, if only the values of their queries differ, or if
            `original` is None. True as well for an original of another site or user, unless the
            page names it. False if both have the same address, and once two pages of the text have
            changed by themselves, on the same site and of the same user.
        """
        if len(self._pages.get((*_owner_of(url), text), ())) >= _CHANGED:
            return False
        # Otherwise, anyone who copies a text without its numbers would own all pages that differ
        # in them.
        if original is None:
            return True
        if _owner_of(url) != _owner_of(original):
            return claimed is None or canonical_url(claimed) != canonical_url(original)
        own = canonical_url(without_visit(url))
        other = canonical_url(without_visit(original))
        if own == other:
            return False
        return _form_of(own) == _form_of(other) or _last_part(own) != _last_part(other)


def _owner_of(url: str) -> tuple[str, str]:
    """Return whose page this is: its site, and on a shared site, the user."""
    return site_of(url), folder_of(url).owner


def _last_part(url: str) -> str:
    """Return the last part of a URL's path, which is often the same for copies in other folders."""
    return url.partition("?")[0].rstrip("/").rpartition("/")[2]


def _form_of(url: str) -> str:
    path, _, query = url.partition("?")
    return path.rpartition("/")[0] + "?" + re.sub("=[^&]*", "", query)
