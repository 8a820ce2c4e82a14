"""The secret of an index, and what it hashes.

Whoever knows how pages are hashed can make texts and URLs that collide, unless the index has a key.
The key decides the hash of every letter, so words collide only by chance. A key that was mixed in
behind a public hash would let through words that collide there. Texts, URLs, facts and scopes are
hashed with the key as well.
"""

import hashlib
import secrets
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Self

import mmh3

from crawldedup.checks import KEY_BYTES


@dataclass(frozen=True, slots=True)
class Key:
    """Holds the secret of an index: 16 to 64 bytes, or none.

    Without a secret, everyone makes the same fingerprints. Keys of one secret are equal. `repr`
    does not show it.

    Example:
        >>> from crawldedup import Key
        >>> Key(b"0123456789abcdef") == Key(b"0123456789abcdef")
        True
        >>> Key().id
        0
    """

    secret: bytes = field(
        default=b"", repr=False
    )  #: The bytes, of a number that the option `key` checks.
    id: int = field(
        init=False, compare=False
    )  #: 64 bits that name the key and do not give it away; 0 for none.

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

        With a secret, another one for each purpose, a name of at most 16 bytes.

        Without a secret it is mmh3, for which other values of a wanted hash are easy to make. A
        page is known by the hash of its URL alone, so that one is never mmh3.
        """
        if not self.secret and purpose != "url":
            return int(mmh3.hash64(value, signed=False)[0])
        digest = hashlib.blake2b(value, digest_size=8, key=self.secret, person=purpose.encode())
        return int.from_bytes(digest.digest(), "big")


NO_KEY: Final = Key()


@lru_cache(maxsize=4096)
def salt_of(scope: str, signature_bytes: int, key: Key = NO_KEY) -> tuple[int, int]:
    """Return what is XORed into 64 bits of a page, and into its signature, for a site or a spider;
    0 for no scope.
    """
    if not scope:
        return 0, 0
    name = scope.encode("utf-8", "replace")
    if key.secret:
        signature = hashlib.shake_256(key.secret + name).digest(signature_bytes)
    else:
        signature = b"".join(
            mmh3.hash_bytes(name, seed=seed) for seed in range(1, 2 + signature_bytes // 16)
        )
    return key.number(name, "scope"), int.from_bytes(signature[:signature_bytes], "big")
