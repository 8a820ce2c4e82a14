"""Keys that find the original of a copy even among thousands of siblings with nearly the same text.

An index with siblings has many pages whose texts hardly differ, so a search by text finds some of
them, but perhaps not the one that was copied. Remembered pages are therefore filed under exact keys
as well: by their text; by site, name and lead picture; by their address without its view; and by
the text of the page that they replaced. A store reads a bounded number of pages for each key.
"""

from typing import Final, NamedTuple

from crawldedup.marks.packing import unpacked
from crawldedup.marks.values import best_name

EXACT_KEY_BITS: Final = 40
MOST_PER_KEY: Final = 16
"""The maximum number of records to read for one exact key: those that were added last."""


class ExactKeys(NamedTuple):
    """The exact keys of a page, 40 bits each. Those that a page doesn't have are None."""

    #: The text: its digest, and search bits, without which too many texts would share a key.
    text: int
    #: Site, name and lead picture.
    identity: int | None
    #: The address without its view.
    address: int | None
    #: The text of a page that this one replaced.
    former: int | None


def text_key(search: int, digest: int) -> int:
    """Return the exact key for a text: all pages with the same text have the same key.

    Args:
        search: The 64 search bits of the page.
        digest: The digest of the text, 32 bits.
    """
    return digest << 8 ^ search >> 24


def exact_keys(search: int, digest: int, marks: bytes) -> ExactKeys:
    """Return the exact keys under which an index files a page.

    Args:
        search: The 64 search bits of the page, as its record has them.
        digest: The digest of its text, 32 bits.
        marks: Its packed marks.
    """
    by_text = text_key(search, digest)
    page = unpacked(marks)
    if page is None or page.address is None:
        return ExactKeys(by_text, None, None, None)
    address = page.address
    content = page.content
    best = best_name(content.names)
    name = best.hash if best is not None else 0
    lead = content.pictures[0] if content.has_lead else 0
    identity = None
    if name or lead:
        identity = (name ^ lead) << 8 | address.site & 0xFF
    return ExactKeys(by_text, identity, address.path ^ address.parameters, address.former or None)


def sought_keys(search: int, digest: int, marks: bytes) -> ExactKeys:
    """Return the exact keys to look up in an index to find the original of a page.

    The text of the page is also looked up among the texts of pages that better copies replaced.

    Args:
        search: The 64 search bits of the page, as its record has them.
        digest: The digest of its text, 32 bits.
        marks: Its packed marks.
    """
    keys = exact_keys(search, digest, marks)
    return keys if keys.address is None else keys._replace(former=keys.text)
