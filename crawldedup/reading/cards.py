"""Find cards: the entries of a listing whose only prose is a description above or below them.

Shops repeat the same text on each page of a category, and agencies on each page of their adverts.
This text is the only prose on the page, but the list is its content. Articles can also have lists
next to them, such as lists of other articles. Therefore, a list counts only if it belongs to the
headline (if there is one), has many long parts, and is not small compared with the prose.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from crawldedup.reading.before import Before
from crawldedup.reading.blocks import Blocks
from crawldedup.reading.openings import Names

_FEWEST: Final = 8  # the minimum number of cards
_LEAST_SIZE: Final = 20  # bytes of a card; the parts of a menu have fewer
# The least size of a list, as a share of the page's prose: for a list with many cards or one before
# most of the prose, for any other list, and for one on a page without a headline.
_LEAST_IF_PLAIN: Final = 0.1
_LEAST: Final = 0.2
_LEAST_ALONE: Final = 0.4
_MANY: Final = 16
_MOST_BEFORE: Final = 0.2
_MOST_PROSE: Final = 0.3  # the share of a list's bytes that may be prose
_READ: Final = 300  # characters of a class


class Sizes(NamedTuple):
    """How much text is in each block, in bytes, not counting noise."""

    every: Sequence[int]  #: All lines in a block and in the blocks inside of it.
    prose: Sequence[int]  #: The lines of prose among them.
    own_prose: Sequence[int]  #: The lines of prose directly in the block.


def cards_of(
    blocks: Blocks,
    names: Names,
    sizes: Sizes,
    *,
    around: range,
    has_headline: bool,
    before: Before,
) -> frozenset[int]:
    """Find the blocks that are cards, and return them with all blocks inside of them.

    Args:
        blocks: The blocks of the page.
        names: The lines that name a page or a thing, of those that aren't noise.
        sizes: The sizes of the lines in each block that aren't noise.
        around: The blocks after the headline that belong to it.
        has_headline: Whether there is a headline.
        before: The lines before each part of the page.
    """
    least = max(_FEWEST * _LEAST_SIZE, _LEAST_IF_PLAIN * sizes.prose[0])
    prose_before: list[int] = []
    cards: set[int] = set()
    end = 0
    for holder in sorted(names.parts):
        if holder < end or len(names.parts[holder]) < _FEWEST or sizes.every[holder] < least:
            continue
        parts = [part for part in names.parts[holder] if part in around]
        # Reading classes takes much longer than counting.
        if len(parts) < _FEWEST or _sum(sizes.every, parts) < least:
            continue
        parts = _alike(blocks, parts, sizes)
        prose_before = prose_before or [0, *accumulate(sizes.own_prose)]
        above = prose_before[parts[0]]
        is_content = _are_content(parts, sizes, above, has_headline=has_headline)
        if is_content and not before.is_of_others(parts[0]):
            end = blocks.ends[holder]
            for part in parts:
                cards.update(range(part, blocks.ends[part]))
    return frozenset(cards)


def _alike(blocks: Blocks, parts: Sequence[int], sizes: Sizes) -> list[int]:
    """Return the largest group of parts that have the same tag and the same first class."""
    groups: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
    for part in parts:
        names = (blocks.nodes[part].attributes.get("class") or "")[:_READ].lower().split()
        groups[blocks.kinds[part], names[0] if names else ""].append(part)
    return max(groups.values(), key=lambda group: _sum(sizes.every, group))


def _are_content(parts: Sequence[int], sizes: Sizes, above: int, *, has_headline: bool) -> bool:
    """Return whether parts are the content of a page, given the bytes of prose above them."""
    size = _sum(sizes.every, parts)
    if len(parts) < _FEWEST or size < _LEAST_SIZE * len(parts):
        return False
    own_prose = _sum(sizes.prose, parts)
    prose = sizes.prose[0]
    if own_prose > _MOST_PROSE * size:
        return False
    if not has_headline:
        least = _LEAST_ALONE
    elif len(parts) >= _MANY or above <= _MOST_BEFORE * prose:
        least = _LEAST_IF_PLAIN
    else:
        least = _LEAST
    return size >= least * prose


def _sum(values: Sequence[int], blocks: Sequence[int]) -> int:
    return sum([values[block] for block in blocks])
