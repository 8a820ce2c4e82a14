"""Share what crawlers learn about volatile lines, in a note that is kept with their index."""

from contextlib import suppress
from typing import Final

from crawldedup.errors import StoreError
from crawldedup.reading.volatile import VolatileLines
from crawldedup.stores.contract import Store

_NOTE: Final = "volatile"


def exchange(lines: VolatileLines, store: Store, *, tells: bool) -> None:
    """Take over what other crawlers have learned, and tell them what this one has.

    Nothing is raised if the store fails or is full: the next exchange makes up for it.

    Args:
        lines: What this crawler has learned.
        store: The store of the index, which is open.
        tells: Whether this crawler may write to the index, and learns from its pages.
    """
    with suppress(StoreError):
        noted = store.note(_NOTE)
        note = lines.exchange(noted)
        if tells and note != noted:
            store.note(_NOTE, note)
