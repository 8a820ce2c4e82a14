"""Find the lists of links that belong to a text because its author wrote them.

Such a list has no class, and a paragraph after it. Menus and lists of other pages have a class or a
box of their own, or are below the text. A single short list in a news article also leads to others.
"""

from collections.abc import Sequence
from typing import Final

from crawldedup.reading.blocks import Blocks, kind_of, kinds_of
from crawldedup.reading.page_lines import CELLS, PageLines

_P: Final = kind_of("p")
_LISTS: Final = kinds_of(["ol", "ul"])
_FEWEST: Final = 6  # the minimum number of links in all such lists together


def written_lists(read: PageLines, lines: Sequence[int]) -> set[int]:
    """Return the lines of links in lists that an author wrote, by their numbers.

    Args:
        read: The lines of the page.
        lines: The numbers of those that are read.
    """
    blocks = read.blocks
    listed = [line for line in lines if read.is_listed[line]]
    if len(listed) < _FEWEST:
        return set()
    last_paragraph = {}
    for line in lines:
        block = blocks.lines[line][2]
        if read.is_prose[line] and blocks.kinds[block] == _P:
            last_paragraph[blocks.parents[block]] = block
    written: set[int] = set()
    for line in listed:
        block = _list_around(blocks, blocks.lines[line][2])
        if (
            block < last_paragraph.get(blocks.parents[block], 0)
            and "class" not in blocks.nodes[block].attributes
        ):
            written.add(line)
    return written if len(written) >= _FEWEST else set()


def _list_around(blocks: Blocks, block: int) -> int:
    """Return the outermost list that a block is in. If it is in none, return the body."""
    found = 0
    while blocks.kinds[block] in CELLS or blocks.kinds[block] in _LISTS:
        if blocks.kinds[block] in _LISTS:
            found = block
        block = blocks.parents[block]
    return found
