"""The protocol for stores that can recognize single paragraphs on pages.

They remember which pages have an anchor. Anchors are hashes of short passages: see
`crawldedup.fingerprinting.anchors`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from crawldedup.stores.contract import PageName

#: The most pages to remove in one step because their anchors have expired or are too many.
MAX_RETIRED: Final = 4
#: A store remembers at most this many pages for an anchor: text on more pages belongs to no page.
MOST_HOLDERS: Final = 8


@dataclass(frozen=True, slots=True)
class AnchorQuery:
    """The anchors of a page: hashes of short passages that recur wherever the text is copied."""

    #: The URL of the page, which may be empty.
    url: str
    #: The name of the page.
    name: PageName
    #: The anchors, without repetition.
    anchors: tuple[int, ...]
    #: How long the anchors of a page are kept after they were added, or None for forever.
    ttl_seconds: int | None = None
    #: The number of anchors in the index beyond which those of the oldest pages are removed.
    most_anchors: int = 1 << 40
    #: Identifies the secret key with which the anchors were hashed; see `Key.id`.
    key_id: int = 0


@dataclass(frozen=True, slots=True)
class Holders:
    """The pages that had the anchors of a page before it came."""

    #: For each anchor of the query, the numbers of the pages that have it, earliest first, or None
    #: if `MOST_HOLDERS` pages have it. The store chooses the numbers.
    pages: tuple[tuple[int, ...] | None, ...]
    #: The URLs of the pages that haven't expired, by number. Other pages don't count.
    urls: Mapping[int, str]
    #: Whether the page of the query was added before.
    is_known: bool = False


@runtime_checkable
class AnchorStore(Protocol):
    """The additional methods of a `Store` that can recognize single paragraphs.

    The option `paragraphs` needs it; everything else works without.
    """

    def anchors(self, query: AnchorQuery, *, add: bool = True) -> Holders:
        """Look up the anchors of a page and, in the same atomic step, remember them.

        An anchor has at most `MOST_HOLDERS` pages. Anchors that the page had before but that aren't
        in the query are removed, and so are those of up to `MAX_RETIRED` old pages.

        Args:
            query: The page and its anchors.
            add: Whether to remember the page.

        Returns:
            The pages that held each anchor before this page did.

        Raises:
            StoreError: The store fails; see `Store`.
        """
