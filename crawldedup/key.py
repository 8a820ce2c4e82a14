"""The secret key of an index, and the hashes that are made with it.

If an index has no key, anyone who knows how pages are hashed can construct texts that collide. With
a key, the hash of every letter depends on the secret, so words only collide by chance. (Mixing the
key into the result of a public hash wouldn't be enough, because words that collide in the public
hash would still collide.) Texts, URLs, marks and scopes are hashed with the key as well.
"""

import hashlib
import secrets
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple, Self

import mmh3

from crawldedup.checks import KEY_BYTES

_NEVER_MMH3: Final = frozenset({"url", "line", "number", "headings"})
"""The purposes for which not even an index without a secret uses mmh3.

For these, it must be hard to construct a value with a given hash.
"""


@dataclass(frozen=True, slots=True)
class Key:
    """The secret key of an index: 16 to 64 bytes, or none.

    Without a secret, fingerprints are the same for everyone. Keys with the same secret are equal,
    and `repr` does not show the secret.

    Example:
        >>> from crawldedup import Key
        >>> Key(b"0123456789abcdef") == Key(b"0123456789abcdef")
        True
        >>> Key().id
        0
    """

    #: The bytes of the secret. The option `key` checks their number.
    secret: bytes = field(default=b"", repr=False)
    #: 64 bits that identify the key without revealing it, or 0 if there is no secret.
    id: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", self.number(b"", "id") if self.secret else 0)

    @classmethod
    def random(cls) -> Self:
        """Return a new key with 16 random bytes."""
        return cls(secrets.token_bytes(KEY_BYTES))

    @property
    def suffix(self) -> str:
        """What the key adds to the end of an index's profile, so indexes with other keys differ."""
        return f"/key.{self.id:016x}" if self.secret else "/key.0"

    def number(self, value: bytes, purpose: str) -> int:
        """Return a 64-bit hash of a value, which depends on the secret.

        Without a secret, this is mmh3 for most purposes, and it's easy to construct a value with a
        given hash. URLs are always hashed with BLAKE2b, because nothing but that hash identifies a
        page. So are lines, numbers and headings, whose hashes decide what is left out of other
        people's pages.

        Args:
            value: What to hash.
            purpose: A name of at most 16 bytes. With a secret, the hash of a value is different for
                each purpose.
        """
        if not self.secret and purpose not in _NEVER_MMH3:
            return int(mmh3.hash64(value, signed=False)[0])
        digest = hashlib.blake2b(value, digest_size=8, key=self.secret, person=purpose.encode())
        return int.from_bytes(digest.digest(), "big")

    @staticmethod
    def stretch(number: int, size: int) -> bytes:
        """Turn a 64-bit hash into more bytes.

        Args:
            number: The hash. Only equal hashes give equal bytes.
            size: The number of bytes, a multiple of 16.
        """
        value = number.to_bytes(8, "big")
        return b"".join(mmh3.hash_bytes(value, seed=part) for part in range(size // 16))


NO_KEY: Final = Key()


class Salt(NamedTuple):
    """The constants of a scope, which are XORed into fingerprints to keep scopes apart."""

    #: 64 bits for the search bits and the digest.
    number: int
    #: As many bits as the signature has.
    signature: int


NO_SALT: Final = Salt(0, 0)


@lru_cache(maxsize=4096)
def salt_of(scope: str, signature_bytes: int, key: Key = NO_KEY) -> Salt:
    """Return the salt of a scope. Pages of different scopes then look unrelated.

    Args:
        scope: What sets pages apart, such as a site or a spider. "" stands for no scope.
        signature_bytes: The length of signatures.
        key: The key of the index.

    Returns:
        The salt of the scope, or `NO_SALT` if there is no scope.
    """
    if not scope:
        return NO_SALT
    name = scope.encode("utf-8", "replace")
    if key.secret:
        signature = hashlib.shake_256(key.secret + name).digest(signature_bytes)
    else:
        signature = b"".join(
            mmh3.hash_bytes(name, seed=seed) for seed in range(1, 2 + signature_bytes // 16)
        )
    return Salt(
        number=key.number(name, "scope"),
        signature=int.from_bytes(signature[:signature_bytes], "big"),
    )
