"""Fingerprints of items: what a visitor would see of each field, whatever markup the field leaves open."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from crawldedup.errors import PageError
from crawldedup.extraction.extract import extract_page
from crawldedup.extraction.extractors import get_extractor

if TYPE_CHECKING:
    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.reader import PageReader
    from crawldedup.text.keys import Key

FIELD_SEPARATOR: Final = "\x1e"
"""Stands between the fields of an item. ASCII made it for this; it is taken out of the fields."""

# What prose about HTML seldom holds and fragments of pages hardly ever lack: an end tag, or an element that has none.
_MARKUP: Final = re.compile(r"</[a-z][a-z0-9]*\s*>|<(?:br|p|hr|img)\b[^<>]*>", re.IGNORECASE)
_ALL_TEXT: Final = "text"


def fingerprint_fields(reader: PageReader, joined: str, key: Key) -> Fingerprint:
    """Return the fingerprint of the texts of an item's fields. Raises PageError.

    One text with markup is read as the page it is, with its tables and headings. Several are parsed one by one: in one
    parse, a comment or script that a field leaves open would swallow all behind it, and items that share a teaser would
    be copies of each other.
    """
    texts = joined.split(FIELD_SEPARATOR)
    if len(texts) == 1 and is_marked_up(joined):
        return reader.read(html=joined, key=key)
    bare = "\n".join(_bare(text) if is_marked_up(text) else text for text in texts)
    return reader.read(text=bare, key=key)


def is_marked_up(text: str) -> bool:
    """Return True for a text that is a piece of HTML."""
    return _MARKUP.search(text) is not None


def _bare(text: str) -> str:
    """Return all that is to see of a text with markup. Raises PageError, `no_field` if that is nothing."""
    try:
        bare = extract_page(text, None, get_extractor(_ALL_TEXT), min_words=1).main
    except PageError as error:
        if error.reason != "empty":
            raise
        bare = ""
    if not bare:
        raise PageError("no_field", "there is nothing in one of the fields but markup")
    return bare
