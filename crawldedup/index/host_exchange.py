"""Share what crawlers learn about hosts through a note that is stored with their index."""

from contextlib import suppress
from typing import Final

from crawldedup.errors import StoreError
from crawldedup.hosts.knowledge import HostKnowledge
from crawldedup.stores.contract import Store

_NOTE: Final = "hosts"


def exchange(hosts: HostKnowledge, store: Store, *, tells: bool) -> None:
    """Merge in what other crawlers have learned, and share what this one has learned.

    Nothing is raised if the store fails or is full: the next exchange makes up for it.

    Args:
        hosts: What this crawler has learned.
        store: The store of the index, which is open.
        tells: Whether this crawler may write to the index.
    """
    with suppress(StoreError):
        noted = store.note(_NOTE)
        note = hosts.exchange(noted)
        if tells and note != noted:
            store.note(_NOTE, note)
