"""Classify characters by a frozen table over all code points, taken from Unicode 14.

Each Python release has a newer Unicode database, and a fingerprint must not depend on the Python that made it.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEPARATOR: Final = 0
"""Ends a word: white space, punctuation, a symbol, a control."""
LETTER: Final = 1
"""Part of a word: a letter, digit or underscore, as in the regular expression ``\\w``."""
SOLO: Final = 2
"""A word by itself: a letter of a script without spaces between words (Han, Kana, Thai, ...)."""
MARK: Final = 3
"""Belongs to the letter before it: a combining mark or joiner."""
UNKNOWN: Final = 4
"""Not assigned in Unicode 14. It is blanked out, since newer Pythons might normalise it."""

DATA_FILE: Final = "unicode14.json"


@cache
def class_table() -> NDArray[np.uint8]:
    """Return the class of every code point, shape (0x110000,)."""
    data = json.loads(resources.files(__package__).joinpath(DATA_FILE).read_text("ascii"))
    table = np.repeat(np.asarray(data["run_classes"], np.uint8), data["run_lengths"])
    table.setflags(write=False)
    return table
