"""Reading items: what a visitor would see of each field, whatever markup the field leaves open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from crawldedup.errors import PageError
from crawldedup.scrapy_plugin.items.text import FIELD_SEPARATOR, is_marked_up
from crawldedup.text.extract import extract_page, get_extractor

if TYPE_CHECKING:
    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.page import PageReader

_ALL_TEXT: Final = "text"


class ItemReader:
    """Reads what `item_text.page_in` makes of items, as `reader` reads pages."""

    def __init__(self, reader: PageReader) -> None:
        self._reader = reader

    def read(self, body: bytes, encoding: str | None) -> Fingerprint:
        """Fingerprint the texts of an item's fields, of which at least one holds markup. Raises PageError.

        A text alone is read as the page it is, with the tables and headings that tell one product from another.
        Several are parsed one by one, for in one parse a comment or a script that one of them leaves open would
        swallow all behind it: items that share a teaser would be copies of each other.
        """
        texts = body.decode(encoding or "utf-8").split(FIELD_SEPARATOR)
        if len(texts) == 1:
            return self._reader.read(body, encoding)
        return self._reader.read_text("\n".join(_bare(text) if is_marked_up(text) else text for text in texts))

    def read_text(self, text: str) -> Fingerprint:
        """Fingerprint the texts of an item without markup. Raises PageError."""
        return self._reader.read_text(text)


def _bare(text: str) -> str:
    """All that is to see of a marked-up text. Raises PageError: `no_field` if that is nothing."""
    try:
        bare = extract_page(text, None, get_extractor(_ALL_TEXT), min_words=1).main
    except PageError as error:
        if error.reason != "empty":
            raise
        bare = ""
    if not bare:
        raise PageError("no_field", "there is nothing in one of the fields but markup")
    return bare
