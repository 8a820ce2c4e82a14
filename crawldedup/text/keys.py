"""The secret of an index. Whoever knows how pages are hashed can make texts and URLs that collide, unless it has a key.

The key decides the hash of every letter, so words collide by chance: a key that is mixed in behind a public hash would
let words through that collide there. It decides what texts, URLs, facts and scopes are hashed to as well.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field
from typing import Final, Self

import mmh3

from crawldedup.checks import KEY_BYTES


@dataclass(frozen=True, slots=True)
class Key:
    """A secret of 16 to 64 bytes, or none: without one, everyone makes the same fingerprints.

    `id` names the key and does not give it away; 0 is that of no key.
    """

    secret: bytes = field(default=b"", repr=False)
    id: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Work out the name."""
        object.__setattr__(self, "id", self.number(b"", "id") if self.secret else 0)

    @classmethod
    def random(cls) -> Self:
        """Return a new key."""
        return cls(secrets.token_bytes(KEY_BYTES))

    @property
    def suffix(self) -> str:
        """What the key adds to the profile of an index."""
        return f"/key.{self.id:016x}" if self.secret else ""

    def number(self, value: bytes, purpose: str) -> int:
        """Return a 64-bit hash of a value, another one for each purpose of a keyed hash."""
        if not self.secret:
            return int(mmh3.hash64(value, signed=False)[0])
        digest = hashlib.blake2b(value, digest_size=8, key=self.secret, person=purpose.encode())
        return int.from_bytes(digest.digest(), "big")


NO_KEY: Final = Key()
