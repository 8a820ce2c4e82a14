"""Say what an index is made for, and whether another one that is found in its place will do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from crawldedup.checks import LONGEST_KEY
from crawldedup.errors import CrawlDedupError, KeyMismatchError, ProfileMismatchError
from crawldedup.text.keys import NO_KEY, Key

if TYPE_CHECKING:
    from crawldedup.search.tables import Order
    from crawldedup.stores.anchors import AnchorQuery
    from crawldedup.stores.base import Query


@dataclass(frozen=True, slots=True)
class Layout:
    """What an index is made for: its name, its profile, its permuted tables and its key.

    The profile ends with the name of the key. An index that begins takes the key; with `takes_any_key`, one that exists
    keeps its own.
    """

    namespace: str
    profile: str
    tables: tuple[Order, ...]
    signature_bytes: int
    key: Key = NO_KEY
    takes_any_key: bool = False

    @property
    def keyless_profile(self) -> str:
        """The profile without the name of the key."""
        return self.profile.removesuffix(self.key.suffix)

    def with_key(self, key: Key) -> Layout:
        """Return the layout for an index of this key."""
        return replace(self, profile=self.keyless_profile + key.suffix, key=key)

    def profile_of(self, query: Query | AnchorQuery) -> str:
        """Return the profile of an index that a query can be compared with."""
        return self.profile if query.key_id == self.key.id else f"{self.keyless_profile}/key.{query.key_id:016x}"

    def fitted(self, profile: str, secret: bytes, place: str) -> Layout:
        """Return the layout for an index of this profile and key. Raises ProfileMismatchError if there is none."""
        layout = self.with_key(Key(secret[:LONGEST_KEY])) if self.takes_any_key else self
        if profile != layout.profile:
            raise layout.refusal(profile, place)
        return layout

    def refusal(self, profile: str, place: str) -> ProfileMismatchError:
        """Return the error for an index of another profile."""
        where = f"the namespace {self.namespace!r} of {place}"
        return ProfileMismatchError(where, index_profile=profile, own_profile=self.profile)

    def mismatch(self, profile: str, place: str) -> CrawlDedupError:
        """Return the error for an index, or a part of one, whose profile is not that of a question."""
        is_kin = profile.partition("/key.")[0] == self.keyless_profile
        return key_changed(place) if is_kin else self.refusal(profile, place)

    def keys(self, search: int, signature: bytes) -> tuple[int, ...]:
        """Return the key of a page in each table."""
        return tuple(table.key_of(search, signature) for table in self.tables)


def key_changed(place: str) -> KeyMismatchError:
    """Return the error for what was hashed with a key that the index does not have any more."""
    return KeyMismatchError(
        f"the index in {place} was begun again with another key, so that what was hashed before cannot be compared "
        f"with it: repeat the call with a new fingerprint"
    )
