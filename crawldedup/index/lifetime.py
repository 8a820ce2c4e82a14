"""The lifetime of an index in a process: open it, keep its lease alive, and close it.

A process holds a *lease* while it crawls, which tells the store that the crawl is still running. A
process that only looks at an index doesn't need one.
"""

import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from crawldedup import errors
from crawldedup.errors import StoreError
from crawldedup.fingerprinting.bits import SEARCH_BITS, VERIFY_BITS
from crawldedup.hosts.knowledge import HostKnowledge
from crawldedup.index import host_exchange
from crawldedup.index.queries import TABLES, QueryBuilder
from crawldedup.index.scopes import KnownScopes
from crawldedup.key import Key
from crawldedup.options import Options
from crawldedup.page import Page, PageId
from crawldedup.passwords import shown_url
from crawldedup.stores import profiles, registry
from crawldedup.stores.contract import CrawlSession, Layout, PageName, Record

HEARTBEAT_SECONDS: Final = 20.0
"""How many seconds pass before a running crawler renews its lease."""

# If an index had at least this many pages, and at most one in so many is left, it was emptied.
_LEAST_LOST: Final = 100
_SHARE_LOST: Final = 20

_log: Final = logging.getLogger(__name__)


class Index:
    """An index in a store, as a process uses it, alone or together with other crawlers.

    Attributes:
        options: The options of the index.
        store: The store, for its one index.
        queries: Makes the queries about pages.
        hosts: What is known about hosts.
        scopes: The scopes of the pages.
        pages: The approximate number of pages in the index when it was last asked; 0 before that.
        is_open: True once this process has joined the crawl.
        is_closed: True from `close` until `open` is called again.
    """

    def __init__(self, options: Options, reading_profile: str) -> None:
        """Prepare to use the index, without connecting to its store yet.

        Args:
            options: The options of the index.
            reading_profile: The name for everything that affects the bits: `PageReader.profile`.
        """
        self.options = options
        self.hosts = HostKnowledge(options.volatile)
        self.queries = QueryBuilder(options, self.hosts)
        self.scopes = KnownScopes(options.scope)
        self.store = registry.make_store(
            options.store,
            _layout(options, reading_profile),
            paragraphs=bool(options.paragraphs),
        )
        self.pages = 0
        self.is_open = False
        self.is_closed = False
        self._session: CrawlSession | None = None
        self._next_heartbeat = 0.0
        self._next_look = 0.0
        self._accepts_any_scope = False
        self._has_lost_pages = False
        self._delivered: dict[PageId, None] = {}  # A dict keeps the order, and each page once.

    @property
    def key(self) -> Key:
        """The secret key of the index, as far as it is known.

        The next call of the store may bring another one.
        """
        return self.store.layout.key

    @property
    def place(self) -> str:
        """Where the index is, for messages: the store without its password, and the namespace."""
        return f"{shown_url(self.options.store)} namespace={self.options.namespace!r}"

    def open(self, session: CrawlSession | None = None) -> None:
        """Open the index, even after `close`, and join the crawl."""
        if not self.is_open:
            self.is_closed = False
            self._session = session
        self.join()

    def join(self) -> None:
        """Get ready to add pages: open the index, join the crawl, and renew the lease if it is due.

        This creates the index if it doesn't exist.
        """
        self.require_not_closed()
        now = time.monotonic()
        if not self.is_open:
            self.pages = self.store.open(self._session)
            self.is_open = True
            self._warn_of_new_index()
            self._next_heartbeat = now + HEARTBEAT_SECONDS
            self._exchange_knowledge()
            self._warn_of_other_scope()
        elif now >= self._next_heartbeat:
            self.heartbeat()

    def look(self) -> None:
        """Get ready to read: open the index, without joining the crawl or creating an index."""
        self.require_not_closed()
        now = time.monotonic()
        if not self.is_open and now >= self._next_look:
            self.pages = self.store.open_read_only()
            # A missing index may be created at any time, so the next call looks again.
            self._next_look = now + HEARTBEAT_SECONDS if self.pages else now
            self._exchange_knowledge()
            self._warn_of_other_scope()

    def accept_profile(self) -> dict[str, str]:
        """Use the existing index even if it was made with other options than those of this program.

        Returns:
            The differences from the options of this program, in words, by option.

        Raises:
            ProfileMismatchError: It was made by a version whose records this version can't read.
            StoreError: The store cannot answer.
        """
        layout = self.store.layout
        self._accepts_any_scope = True
        try:
            self.look()
        except errors.ProfileMismatchError as error:
            if not profiles.is_readable(error.index_profile, layout.profile):
                raise
            options_of_index, _, _ = error.index_profile.rpartition("/")
            # The key of the index is used, as it is for any other index.
            self.store.layout = replace(layout, profile=options_of_index + layout.key.suffix)
            self.look()
            return profiles.changes_between(error.index_profile, error.own_profile)
        return {}

    def _warn_of_new_index(self) -> None:
        # A store with a misspelled name would look like an empty one, so every page would be new.
        if not self.pages and not self._session and self.store.is_persistent:
            _log.warning(
                "crawldedup: a new index begins in %s, namespace %s (expected the first time)",
                shown_url(self.options.store),
                self.options.namespace,
            )

    def note_pages(self, pages: int) -> None:
        """Note how many pages the index has, according to its store.

        If it has lost most of them, this is logged once.
        """
        before = self.pages
        self.pages = pages
        if self._has_lost_pages or before < _LEAST_LOST or pages * _SHARE_LOST > before:
            return
        self._has_lost_pages = True
        _log.warning(
            "crawldedup: the index in %s, namespace %s, is nearly empty again (pages: %s, before: "
            "%s): pages that were delivered before will be delivered again. Was the index cleared, "
            "or did the store restart without its data?",
            shown_url(self.options.store),
            self.options.namespace,
            f"{pages:,}",
            f"{before:,}",
        )

    def _warn_of_other_scope(self) -> None:
        """Log once that the index was created with another scope, unless any scope is accepted."""
        # Pages of different scopes look unrelated, so every page would be new.
        if not self.scopes.other or self._accepts_any_scope:
            return
        self._accepts_any_scope = True  # Once is enough.
        _log.warning(
            "crawldedup: the index in %s, namespace %s, was created with the scope %r, but the "
            "scope here is %r: pages of different scopes are not compared. Set scope "
            "(CRAWLDEDUP_SCOPE, --scope) to %r, or use another namespace",
            shown_url(self.options.store),
            self.options.namespace,
            self.scopes.other,
            self.options.scope,
            self.scopes.other,
        )

    def learn_scopes(self, pages: Sequence[Page]) -> None:
        """Note the scope keys of pages before they are added, so the pages can be found later."""
        if self.scopes.learn(pages):
            self._exchange_scopes()

    def heartbeat(self) -> None:
        """Tell the store that this crawler is still running, and share what it has learned.

        Unless the crawl was joined, this does nothing.
        """
        self.require_not_closed()
        if self.is_open:
            self.store.heartbeat()
            self._tell_delivered()
            self._exchange_knowledge()
            self._next_heartbeat = time.monotonic() + HEARTBEAT_SECONDS

    def try_heartbeat_if_due(self) -> None:
        """Renew the lease if it is due, and ignore a store that fails."""
        if self.is_open and time.monotonic() >= self._next_heartbeat:
            with suppress(StoreError):
                self.heartbeat()

    def close(self, *, leave: bool) -> None:
        """Send everything that is unsaved to the store, and disconnect.

        With `leave`, also leave the crawl. If the store fails, what is unsaved gets lost.
        """
        if self.is_open:
            with suppress(StoreError):
                self._tell_delivered()
                self._exchange_knowledge()
        self.store.close(leave=leave)
        self.is_open = False
        self.is_closed = True
        self._next_look = 0.0

    def clear(self) -> None:
        """Remove all pages and notes from the index.

        What this process itself has learned about hosts and scopes stays.
        """
        self.require_not_closed()
        self.store.clear()
        self.pages = 0

    def require_not_closed(self) -> None:
        """Raise ClosedError if the index was closed."""
        if self.is_closed:
            raise errors.ClosedError(
                f"the namespace {self.options.namespace!r} of "
                f"{shown_url(self.options.store)} is closed; call open() or use a `with` "
                "statement to open it again"
            )

    def name(self, page: PageId) -> PageName:
        """Return the name (a hash) under which the store knows a page."""
        return self.queries.name(self.key, page)

    def records(self, names: Sequence[PageName]) -> list[Record | None]:
        """Return the remembered pages with these names, and None for each that isn't remembered."""
        return self.store.remembered(names, self.queries.retention)

    def packed_text(self, name: PageName) -> bytes:
        """Return the compressed text that is stored for a page, or b""."""
        (record,) = self.records([name])
        return record.packed_text if record else b""

    def deliver(self, page: PageId) -> None:
        """Note that a page has reached the user. The store is told with a later call."""
        self.require_not_closed()
        self._delivered[page] = None

    def delivered(self) -> list[PageId]:
        """Return the delivered pages that the store hasn't been told about yet."""
        return list(self._delivered)

    def forget_delivered(self, pages: Sequence[PageId]) -> None:
        """Drop delivered pages from the list once the store has been told about them."""
        for page in pages:
            self._delivered.pop(page, None)

    def _tell_delivered(self) -> None:
        if pages := self.delivered():
            self.store.deliver([self.name(page) for page in pages])
            self.forget_delivered(pages)

    def _exchange_knowledge(self) -> None:
        if self.store.is_persistent:
            host_exchange.exchange(self.hosts, self.store, tells=self.is_open)
        self._exchange_scopes()

    def _exchange_scopes(self) -> None:
        if self.store.is_persistent:
            self.scopes.exchange(self.store, tells=self.is_open, pages=self.pages)


def _layout(options: Options, reading_profile: str) -> Layout:
    """Return what has to be the same for all programs that use the index.

    Without the option `key`, the index has a random key of its own.
    """
    secret: Any = options.key  # Checked options have bytes here, or None.
    key = Key.random() if secret is None else Key(secret)
    layout = Layout(
        namespace=options.namespace,
        profile=f"{reading_profile}/{len(TABLES)}x{SEARCH_BITS}",
        tables=TABLES,
        signature_bytes=VERIFY_BITS // 8,
        takes_any_key=secret is None,
    )
    return layout.with_key(key)
