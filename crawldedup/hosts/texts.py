"""Tell pages that differ in volatile numbers alone from pages that change by themselves.

Without its volatile numbers, a page may read like another one, and be another content: two months
of an archive, say. Once two pages of a text have changed by themselves, the numbers are known to
say nothing about it.
"""

import re
from typing import Final

from crawldedup.reading.volatile import without_visit
from crawldedup.recent import put_last
from crawldedup.urls import canonical_url

_CHANGED: Final = 2
_MOST_PAGES: Final = 4096


class ChangingTexts:
    """Knows which texts are shared by pages that change by themselves."""

    def __init__(self) -> None:
        self._loads: dict[tuple[int, str], int] = {}
        self._pages: dict[int, set[str]] = {}

    def note_load(self, url: str, text: int, full_text: int) -> None:
        """Note the digests of a page without and with its volatile lines."""
        page = canonical_url(without_visit(url))
        if self._loads.get((text, page), full_text) != full_text:
            earlier = [*self._pages.get(text, ())][-_CHANGED:]
            put_last(self._pages, text, {page, *earlier}, _MOST_PAGES)
        put_last(self._loads, (text, page), full_text, _MOST_PAGES)

    def may_be_two(self, url: str, original: str | None, text: int) -> bool:
        """Return whether only the numbers left out may tell a page from its original.

        Args:
            url: The URL of the page.
            original: The URL of its original, or None if that is not known.
            text: The digest of what is left of the page.

        Returns:
            True if their paths end differently, if only the values of their queries differ, or if
            `original` is None. False once two pages of the text have changed by themselves.
        """
        own = canonical_url(without_visit(url))
        other = canonical_url(without_visit(original or ""))
        if own == other or len(self._pages.get(text, ())) >= _CHANGED:
            return False
        is_of_one_form = original is None or _form_of(own) == _form_of(other)
        return is_of_one_form or _last_part(own) != _last_part(other)


def _last_part(url: str) -> str:
    """Return the last part of the path in a URL, by which copies in several folders are called."""
    return url.partition("?")[0].rstrip("/").rpartition("/")[2]


def _form_of(url: str) -> str:
    path, _, query = url.partition("?")
    return path.rpartition("/")[0] + "?" + re.sub("=[^&]*", "", query)
