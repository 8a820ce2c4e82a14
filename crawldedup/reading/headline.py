"""Find the headline of a page, which shows where its content is."""

import re
from typing import Final

from crawldedup.reading.blocks import Blocks, kind_of, kinds_of, tags

_H1: Final = kind_of("h1")
_HEADINGS: Final = kinds_of(["h1", "h2", "h3"])
_TITLES: Final = kinds_of(tags("h1 h2 h3 h4"))
_WORD: Final = re.compile(r"\w+")
_LEAST_HEADLINE: Final = 15  # characters; "Home" is in many titles
_LONGEST_TITLE: Final = 1000  # characters, which are searched for every heading


def headline(blocks: Blocks, title: str) -> int:
    """Find the headline of a page, and return its block, or -1 if there is none.

    It is the longest heading that the title repeats, or else the only <h1>.
    """
    title = f" {_words(title[:_LONGEST_TITLE])} "
    longest = _LEAST_HEADLINE - 1
    found = -1
    first = set()
    kinds = blocks.kinds
    parents = blocks.parents
    for text, _, block in blocks.lines:
        kind = kinds[block]
        if kind not in _HEADINGS and block:
            kind = kinds[parents[block]]
        if kind not in _HEADINGS:
            continue
        if kind == _H1:
            first.add(block)
        if (
            longest < len(text)
            and (words := _words(text))
            and longest < len(words)
            and f" {words} " in title
        ):
            longest = len(words)
            found = block
    return first.pop() if found < 0 and len(first) == 1 else found


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))


def is_title(blocks: Blocks, block: int) -> bool:
    """Return whether a block is a heading, or is directly inside of one."""
    kinds = blocks.kinds
    return kinds[block] in _TITLES or (block > 0 and kinds[blocks.parents[block]] in _TITLES)
