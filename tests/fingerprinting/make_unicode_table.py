"""Make the table of character classes.

`python -m tests.fingerprinting.make_unicode_table` prints the data file, on Python 3.11, whose
database is Unicode 14.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from typing import Final

import numpy as np

from crawldedup.fingerprinting.tokenize import IGNORED, LETTER, MARK, SEPARATOR, SOLO, UNKNOWN

# Thai and Lao, Myanmar, Khmer, Tai Le to Tai Tham, ideographic marks and numerals, Kana, Han, and
# their extensions.
_SOLO_RANGES: Final = (
    *((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x1950, 0x19DF), (0x1A20, 0x1AAF)),
    *((0x3005, 0x3007), (0x3021, 0x3029), (0x3031, 0x303C), (0x3041, 0x30FF), (0x31F0, 0x31FF)),
    *((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA9E0, 0xA9FF), (0xAA60, 0xAADF), (0xF900, 0xFAFF)),
    *((0x1AFF0, 0x1B16F), (0x20000, 0x3FFFF)),
)
# Default_Ignorable_Code_Point, which Python's database does not tell. It holds code points that are
# not assigned yet.
_IGNORED_RANGES: Final = (
    (0xAD, 0xAD),  # the soft hyphen
    (0x34F, 0x34F),
    (0x61C, 0x61C),  # a mark of directions, like some of the others
    (0x115F, 0x1160),  # fillers of Hangul
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),  # space of no width, joiners
    (0x202A, 0x202E),
    (0x2060, 0x206F),  # word joiner, invisible operators
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),  # variation selectors
    (0xFEFF, 0xFEFF),  # the byte order mark
    (0xFFA0, 0xFFA0),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),  # tags, and more variation selectors
)


def classify(code_point: int) -> int:
    """The class of one code point by the running Python's Unicode database."""
    character = chr(code_point)
    category = unicodedata.category(character)
    if any(low <= code_point <= high for low, high in _IGNORED_RANGES):
        return IGNORED
    if category == "Cn":
        return UNKNOWN
    if category[0] == "M":
        return MARK
    if character.isalnum() or character == "_":
        return SOLO if any(low <= code_point <= high for low, high in _SOLO_RANGES) else LETTER
    return SEPARATOR


def build_runs() -> dict[str, object]:
    """The data file's content: the table as run lengths."""
    classes = np.array([classify(code_point) for code_point in range(0x110000)], np.uint8)
    firsts = np.flatnonzero(np.diff(classes, prepend=255))
    lengths = np.diff(firsts, append=len(classes))
    return {
        "unicode": unicodedata.unidata_version,
        "run_lengths": lengths.tolist(),
        "run_classes": classes[firsts].tolist(),
    }


if __name__ == "__main__":
    json.dump(build_runs(), sys.stdout, separators=(",", ":"))
