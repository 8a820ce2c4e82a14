"""Remember early pages of a crawl, in case their texts turn out to have changing numbers."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from crawldedup.hosts.knowledge import HostKnowledge
from crawldedup.page import Page, PageId
from crawldedup.reading.reader import ReadPage
from crawldedup.reading.volatile import Known

# Pages that may have to be read again, and the bytes of one: 24 MB at most.
_MOST_PAGES: Final = 400
_MOST_BYTES: Final = 60_000


class OutdatedPage(NamedTuple):
    """A page to read again without some numbers, which are now `known` to change."""

    page: Page
    known: Known


class _EarlyPage(NamedTuple):
    page: Page
    lines: frozenset[int]
    """Hashes of the lines with numbers, without these."""


class EarlyPages:
    """Keeps the first pages of a crawl, which were remembered with all their numbers.

    If it turns out later that some of these numbers change with every load, the pages have to be
    read and remembered again. Lines are learned within the first hundreds of pages, so later pages
    seldom need it.
    """

    def __init__(self) -> None:
        self._pages: dict[PageId, _EarlyPage] = {}
        self._is_sorted_out = False

    def note(self, page: Page, read: ReadPage, hosts: HostKnowledge) -> None:
        """Keep a page that was remembered with all its numbers, unless it's too long to keep.

        If there is no room for it, nothing is done.
        """
        if not read.numbers or read.left_out or len(page.html or "") > _MOST_BYTES:
            return
        if len(self._pages) >= _MOST_PAGES and not self._is_sorted_out:
            # If this limit is exceeded, pages without any line that turned out to change make room
            # for later ones.
            self._is_sorted_out = True
            self._pages = {
                page_id: early
                for page_id, early in self._pages.items()
                if not early.lines.isdisjoint(hosts.known_at(early.page.url))
            }
        if len(self._pages) < _MOST_PAGES:
            self._pages[page.id] = _EarlyPage(page, frozenset(read.numbers))

    def deliver(self, page_id: PageId) -> None:
        """Note that a page was delivered. Other pages aren't worth reading again."""
        early = self._pages.get(page_id)
        if early is not None:
            page = replace(early.page, delivered=True)
            self._pages[page_id] = early._replace(page=page)

    def outdated(self, hosts: HostKnowledge) -> Iterator[OutdatedPage]:
        """Yield the delivered pages whose numbers are now known to change."""
        for page, lines in self._pages.values():
            known = hosts.known_at(page.url)
            if page.delivered and not lines.isdisjoint(known):
                yield OutdatedPage(page, known)

    def clear(self) -> None:
        """Forget all pages."""
        self._pages.clear()
        self._is_sorted_out = False
