"""Encode and decode the values that cross a process or a network. Nothing is pickled."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np

from crawldedup.errors import ConfigurationError
from crawldedup.fingerprinting.anchors import Paragraph
from crawldedup.fingerprinting.fingerprint import Fingerprint

_FINGERPRINT_FIELDS: Final = (
    *("search", "search_weights", "verify", "verify_weights", "digest", "words", "thin"),
    *("facts", "key_id", "packed_text", "paragraphs"),
)


def pack_fingerprint(fingerprint: Fingerprint) -> bytes:
    """Return the bytes of a fingerprint, for `unpack_fingerprint`."""
    values = [getattr(fingerprint, name) for name in _FINGERPRINT_FIELDS]
    for place in (1, 3):
        values[place] = values[place].astype("<f4", copy=False).tobytes()
    return msgspec.msgpack.encode(values)


def unpack_fingerprint(data: bytes) -> Fingerprint:
    """Return the fingerprint that `pack_fingerprint` packed. Raises ConfigurationError for other bytes."""
    try:
        values: dict[str, Any] = dict(zip(_FINGERPRINT_FIELDS, msgspec.msgpack.decode(data, type=_Packed), strict=True))
    except (msgspec.MsgspecError, ValueError) as error:
        raise ConfigurationError(f"these bytes are no fingerprint: {error}") from error
    for name in ("search_weights", "verify_weights"):
        values[name] = np.frombuffer(values[name], "<f4").astype(np.float32, copy=False)
    values["paragraphs"] = tuple(Paragraph(*each) for each in values["paragraphs"])
    return Fingerprint(**values)


_Packed = tuple[int, bytes, bytes, bytes, int, int, bool, int, int, bytes, tuple[tuple[Any, ...], ...]]
