"""Remember which scopes an index has pages of, so the pages can be found again.

The name of a page contains its scope, so the scope must be known to find the page later. The scope
"site" follows from the URL, but the names of spiders and keys chosen by programs don't.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import msgspec

from crawldedup.errors import StoreError
from crawldedup.page import Page
from crawldedup.scope import site_of
from crawldedup.stores.contract import Store

GLOBAL: Final = "global"
SITE: Final = "site"
SPIDER: Final = "spider"
_NOTE: Final = "scopes"
_UNKNOWN: Final = ""
_MOST_KEYS: Final = 1000
_LONGEST_KEY: Final = 200  # letters


class _Noted(msgspec.Struct, frozen=True):
    """The note about scopes as it is stored with the index: see `KnownScopes`."""

    begun: str = _UNKNOWN
    scopes: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    has_more: bool = False


@dataclass(frozen=True, slots=True)
class ScopesOfPage:
    """The scope keys under which to look for a page; "" stands for the scope `global`."""

    keys: tuple[str, ...]

    needs_url: bool
    """Whether the index files pages by site, but the site of the page isn't known."""


class KnownScopes:
    """The scopes of the pages of one index, as far as they are known.

    Attributes:
        begun: The option `scope` of the program that began the index; "" if it is not known.
        scopes: The values of that option in all programs that have added pages.
        has_more: Whether there are scope keys beyond the 1,000 that the note has room for.
    """

    def __init__(self, own: str) -> None:
        """Start with nothing but the option `scope` of this program."""
        self._own = own
        self.begun = _UNKNOWN
        self.scopes: dict[str, None] = {}
        self.has_more = False
        self._keys: dict[str, None] = {}
        self._has_note = False

    @property
    def other(self) -> str:
        """The scope that the index was created with if it isn't the one of this program, or ""."""
        return self.begun if self.begun != self._own else ""

    def learn(self, pages: Iterable[Page]) -> bool:
        """Note the scope keys of pages, and return whether the note has to be written again.

        The key of the whole index and the sites of the pages aren't noted, because they are
        obvious. Of keys for which there is no room, only `has_more` is noted.
        """
        is_new = False
        for page in pages:
            key = page.scope_key
            if not key or key in self._keys or key == site_of(page.url):
                continue
            if len(self._keys) >= _MOST_KEYS or not _fits_in_note(key):
                is_new = is_new or not self.has_more
                self.has_more = True
                continue
            self._keys[key] = None
            is_new = True
        return is_new

    def exchange(self, store: Store, *, tells: bool, pages: int) -> None:
        """Load the scopes that are stored with the index, and add those of this program.

        No error is raised if the store fails, because the next exchange makes up for it.

        Args:
            store: The store of the index, which is open.
            tells: Whether this program may write to the index.
            pages: About how many pages the index has.
        """
        with suppress(StoreError):
            text = store.note(_NOTE)
            noted = _read(text)
            if noted is not None:
                self._adopt(noted)
            elif tells and (self._has_note or not pages):
                # The index begins here, or begins again after it was cleared.
                self.begun = self._own
            if tells:
                self.scopes[self._own] = None
                own_text = self._to_text()
                if own_text != text:
                    store.note(_NOTE, own_text)
                self._has_note = True

    def of_page(self, url: str, scope: str | None = None) -> ScopesOfPage:
        """Return the scopes of the pages that a page at a URL may be compared with.

        Args:
            url: The URL of the page.
            scope: The only scope to look in, if the index has it: the value of an option `scope`.
        """
        scopes = self.scopes or {GLOBAL: None, SITE: None}
        site = site_of(url)
        keys: list[str] = []
        if scope in scopes:
            scopes = {scope: None}
        else:
            keys.extend(self._keys)
        # Files and other pages without a site or a spider are compared with each other.
        if GLOBAL in scopes or SPIDER in scopes or not site:
            keys.insert(0, "")
        if SITE in scopes and site:
            keys.append(site)
        if SPIDER in scopes:
            keys.extend(self._keys)
        needs_url = SITE in self.scopes and SITE in scopes and not site
        return ScopesOfPage(tuple(dict.fromkeys(keys)), needs_url)

    def all_of(self, url: str) -> tuple[str, ...]:
        """Return every scope key under which the page at a URL may be filed."""
        return tuple(dict.fromkeys(["", site_of(url), *self._keys]))

    def _adopt(self, noted: _Noted) -> None:
        self._has_note = True
        self.begun = noted.begun
        self.scopes.update(dict.fromkeys(noted.scopes))
        for key in noted.keys[: _MOST_KEYS - len(self._keys)]:
            self._keys[key] = None
        self.has_more = self.has_more or noted.has_more

    def _to_text(self) -> str:
        noted = _Noted(self.begun, tuple(self.scopes), tuple(sorted(self._keys)), self.has_more)
        return msgspec.json.encode(noted).decode()


def _fits_in_note(key: str) -> bool:
    # A lone surrogate can't be written.
    return len(key) <= _LONGEST_KEY and not any("\ud800" <= letter <= "\udfff" for letter in key)


def _read(text: str) -> _Noted | None:
    """Parse a note, or return None if it is missing or damaged."""
    try:
        return msgspec.json.decode(text, type=_Noted)
    except (msgspec.MsgspecError, RecursionError):
        return None
