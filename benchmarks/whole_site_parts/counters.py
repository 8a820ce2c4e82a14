"""Parts of a page that change with every load: visitors, stock, the time since an update,
sessions.
"""

from __future__ import annotations

import re
from random import Random
from typing import Final

# A digit of another load stands for each ¤.
_DIGIT: Final = re.compile("¤".encode())
_CHOICE: Final = re.compile(rb"\[\[([^][]*\|\|[^][]*)\]\]")
_random: Final = Random(1)


def choice(*alternatives: str) -> str:
    """Return what is one of these at each load, and the one in the same place wherever a page has a
    choice.
    """
    return f"[[{'||'.join(alternatives)}]]"


def loaded(body: bytes) -> bytes:
    """Return a page as it is for one load."""
    if b"[[" in body:
        chosen = _random.randrange(60)
        body = _CHOICE.sub(lambda place: (some := place[1].split(b"||"))[chosen % len(some)], body)
    return _DIGIT.sub(lambda _: b"%d" % _random.randint(1, 9), body)
