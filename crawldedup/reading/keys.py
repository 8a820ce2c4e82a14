"""The secret of an index. Whoever knows how pages are hashed can make texts and URLs that collide, unless it has a key.

The key decides the hash of every letter, so words collide by chance: a key that is mixed in behind a public hash would
let words through that collide there. It decides what texts, URLs, facts and scopes are hashed to as well.
"""

import hashlib
import secrets
from dataclasses import dataclass, field
from typing import Final, Self

import mmh3

from crawldedup.checks import KEY_BYTES


@dataclass(frozen=True, slots=True)
class Key:
    """Holds the secret of an index: 16 to 64 bytes, or none.

    Without a secret, everyone makes the same fingerprints. Two keys are equal if their secrets are. `repr` does not
    show the secret.

    Attributes:
        secret: The bytes; empty for no key. The option `key` checks their number.
        id: A 64-bit number that names the key and does not give it away. It is 0 for no key.

    Example:
        >>> from crawldedup import Key
        >>> Key(b"0123456789abcdef") == Key(b"0123456789abcdef")
        True
        >>> Key().id
        0
        >>> len(Key.random().secret)
        16
    """

    secret: bytes = field(default=b"", repr=False)
    id: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", self.number(b"", "id") if self.secret else 0)

    @classmethod
    def random(cls) -> Self:
        """Return a new key of 16 random bytes."""
        return cls(secrets.token_bytes(KEY_BYTES))

    @property
    def suffix(self) -> str:
        """Return what the key adds to the profile of an index."""
        return f"/key.{self.id:016x}" if self.secret else "/key.0"

    def number(self, value: bytes, purpose: str) -> int:
        """Return a 64-bit hash of a value.

        Without a secret it is mmh3, for which other values of a wanted hash are easy to make. A page is known by the
        hash of its URL alone, so that one is never mmh3.

        Args:
            value: The bytes to hash.
            purpose: A name of at most 16 bytes. A keyed hash is another one for each purpose.
        """
        if not self.secret and purpose != "url":
            return int(mmh3.hash64(value, signed=False)[0])
        digest = hashlib.blake2b(value, digest_size=8, key=self.secret, person=purpose.encode())
        return int.from_bytes(digest.digest(), "big")


NO_KEY: Final = Key()
