"""Leave out lists of other pages that a short page offers, such as those below "You may also like".

Shops choose new lists for each visitor, and next to the short description of a product, they make
up most of the page. Longer texts are found without such lists anyway.
"""

from collections.abc import Sequence, Set
from typing import Final

from crawldedup.reading.before import is_heading, names_others
from crawldedup.reading.blocks import Blocks
from crawldedup.reading.page_lines import LINK, PageLines

# Bytes of prose on a page with little text. With less, the list may be the content.
_LEAST_PROSE: Final = 250
_MOST_PROSE: Final = 2_000
_MOST_OFFERED: Final = 0.3
"""The maximum share of a page's prose that such a list may have."""

_FEWEST: Final = 4  # the minimum number of lines in a list, counting its heading
_FEWEST_LINKS: Final = 2
_MOST_HEADINGS: Final = 20  # the most headings to look at, as a page may have 100,000


def without_offered(read: PageLines, kept: list[int], headline: int) -> list[int]:
    """Return the lines that aren't in lists of offered pages, by their numbers.

    All lines stay on a page with very little or much prose, or if too little prose would be left.

    Args:
        read: The lines of the page.
        kept: The numbers of the lines that aren't noise.
        headline: The block of the page's headline, or -1 if there is none.
    """
    prose = _prose_of(read, kept)
    if not _LEAST_PROSE <= prose <= _MOST_PROSE:
        return kept
    lines = read.blocks.lines
    is_prose = read.is_prose
    headings = [
        place
        for place, line in enumerate(kept)
        if not is_prose[line]
        and lines[line][1] <= LINK * len(lines[line][0])
        and names_others(lines[line][0])
        and is_heading(read.blocks, lines[line][2])
    ]
    if not headings:
        return kept
    around = {0, *read.blocks.way_to(headline)}
    offered: set[int] = set()
    for place in headings[:_MOST_HEADINGS]:
        listed = _listed_below(read.blocks, kept, place, around)
        links = sum([lines[line][1] > 0 for line in listed])
        is_list = len(listed) >= _FEWEST and links >= _FEWEST_LINKS
        if is_list and _prose_of(read, listed) <= _MOST_OFFERED * prose:
            offered.update(listed)
    rest = [line for line in kept if line not in offered]
    return rest if _prose_of(read, rest) >= _LEAST_PROSE else kept


def _listed_below(
    blocks: Blocks, kept: Sequence[int], place: int, around: Set[int]
) -> Sequence[int]:
    """Return the lines of the list that a heading announces.

    It is the largest block that begins with the heading. If nothing else is in that block, the list
    is next to it, and ends before the next such heading.

    Args:
        blocks: The blocks of the page.
        kept: The numbers of the lines that aren't noise.
        place: The place of the heading among these lines.
        around: The blocks around the headline, which are larger than any list.
    """
    holder = heading = blocks.lines[kept[place]][2]
    before = blocks.lines[kept[place - 1]][2] if place else -1
    while (outer := blocks.parents[holder]) > before and outer not in around:
        holder = outer
    listed = _lines_in(blocks, kept, place, holder)
    if len(listed) >= _FEWEST or blocks.parents[holder] in around:
        return listed
    listed = _lines_in(blocks, kept, place, blocks.parents[holder])
    for number, line in enumerate(listed[1:], 1):
        _, linked, block = blocks.lines[line]
        if blocks.kinds[block] == blocks.kinds[heading] and not linked:
            return listed[:number]
    return listed


def _lines_in(blocks: Blocks, kept: Sequence[int], place: int, holder: int) -> Sequence[int]:
    """Return the kept lines from a place on that are inside of a block."""
    end = place
    while end < len(kept) and holder <= blocks.lines[kept[end]][2] < blocks.ends[holder]:
        end += 1
    return kept[place:end]


def _prose_of(read: PageLines, lines: Sequence[int]) -> int:
    return sum([read.sizes[line] for line in lines if read.is_prose[line]])
