"""Pack texts to be kept beside an index."""

import zlib
from typing import Final

LONGEST_TEXT: Final = 100_000
"""So many characters of a text are kept; the rest is cut off."""

_MOST_BYTES: Final = 4 * LONGEST_TEXT


def packed_text(text: str) -> bytes:
    """Return the beginning of a text, compressed."""
    return zlib.compress(text[:LONGEST_TEXT].encode("utf-8", "replace"))


def unpacked_text(packed: bytes) -> str | None:
    """Return the text that was packed; None if there is none, or something else."""
    if not packed:
        return None
    try:
        # Another program may have written what swells.
        text = zlib.decompressobj().decompress(packed, _MOST_BYTES)
    except zlib.error:
        return None
    return text.decode("utf-8", "replace")[:LONGEST_TEXT]
