"""Dictionaries with limited room, which keep the most recent values."""

import hashlib
from typing import Final, Generic, TypeVar

_LONGEST_NAME: Final = 200
_DIGEST_BYTES: Final = 32
_BYTES_OF_ENTRY: Final = 300
"""The approximate size of an entry in bytes, not counting its name and its value."""

K = TypeVar("K")
V = TypeVar("V")


def put_last(values: dict[K, V], key: K, value: V, most: int) -> None:
    """Add a value to the end of a dictionary, and remove the oldest if there are too many.

    Args:
        values: The dictionary, oldest value first.
        key: The key of the value. A value that it already has is replaced.
        value: The value.
        most: The maximum number of values.
    """
    values.pop(key, None)
    values[key] = value
    if len(values) > most:
        oldest = next(iter(values))
        del values[oldest]


class RecentBytes(Generic[V]):
    """A dictionary of the most recent values, limited in number and in bytes.

    Args:
        most: The maximum number of values.
        most_bytes: The approximate number of bytes that they can take together.
    """

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._values: dict[str, tuple[V, int]] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._values)

    def get(self, name: str) -> V | None:
        """Return the value with this name, or None if it isn't among the most recent."""
        entry = self._values.get(name)
        return entry[0] if entry is not None else None

    def put(self, name: str, value: V, size: int) -> None:
        """Add a value, and remove the oldest ones while there are too many or they are too large.

        A value that is larger than all the room isn't kept.

        Args:
            name: The name of the value. A value that it already has is replaced.
            value: The value.
            size: The approximate number of bytes that the value takes.
        """
        self._remove(name)
        size += _BYTES_OF_ENTRY + len(name)
        self._values[name] = value, size
        self._bytes += size
        while len(self._values) > self._most or self._bytes > self._most_bytes:
            self._remove(next(iter(self._values)))

    def _remove(self, name: str) -> None:
        entry = self._values.pop(name, None)
        if entry is not None:
            self._bytes -= entry[1]


def shortened(name: str) -> str:
    """Replace a name of more than 200 characters with a digest, which nobody can forge."""
    if len(name) <= _LONGEST_NAME:
        return name
    digest = hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=_DIGEST_BYTES)
    return digest.hexdigest()
