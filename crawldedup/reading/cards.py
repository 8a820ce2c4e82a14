"""Find the cards of a page: what a listing lists below, or above, the text that describes it.

Shops write the same text on each page of a category, and agencies on each page of their adverts. It
is the prose of the page, but the page is the list. Articles have lists beside them as well, such as
those of other articles, so only a list that stands with the headline counts, if there is one, and
only one of many and long parts that is not small beside the prose.
"""

from collections import defaultdict
from collections.abc import Container, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from crawldedup.reading.before import Before
from crawldedup.reading.blocks import Blocks, totals
from crawldedup.reading.headline import is_title

_FEWEST: Final = 8  # cards
_LEAST_SIZE: Final = 20  # bytes of a card; the parts of a menu have fewer
# Shares of the page's prose that a list has at least: one of many cards, or before most of the
# prose, any other, and one of a page that has no headline.
_LEAST_IF_PLAIN: Final = 0.1
_LEAST: Final = 0.2
_LEAST_ALONE: Final = 0.4
_MANY: Final = 16
_MOST_BEFORE: Final = 0.2
_MOST_PROSE: Final = 0.3  # of a list's own bytes
_READ: Final = 300  # characters of a class


class Sizes(NamedTuple):
    """The bytes of the lines that are kept, block by block."""

    every: Sequence[int]  #: Of all lines in a block and in the blocks within it.
    prose: Sequence[int]  #: Of the lines of prose among them.
    own_prose: Sequence[int]  #: Of those that stand right in the block.


class _Counted:
    """Sizes, how many lines in each block name a page or a thing, by a link or a heading, and how
    much prose there is before each block.
    """

    def __init__(self, blocks: Blocks, kept: Sequence[int], sizes: Sizes) -> None:
        names = [0] * len(blocks.ends)
        for line in kept:
            _, linked, block = blocks.lines[line]
            names[block] += bool(linked) or is_title(blocks, block)
        self.names = totals(names, blocks.ends)
        self.every = sizes.every
        self.prose = sizes.prose
        self.prose_before = [0, *accumulate(sizes.own_prose)]


def cards_of(
    blocks: Blocks,
    kept: Sequence[int],
    sizes: Sizes,
    *,
    around: range,
    has_headline: bool,
    before: Before,
) -> frozenset[int]:
    """Return the blocks of cards, with all that is in them.

    Args:
        blocks: The blocks of the page.
        kept: The lines of it that are no noise.
        sizes: The bytes of these lines in each block.
        around: The blocks that stand with the headline, behind it.
        has_headline: Whether there is one.
        before: What stands before each part.
    """
    counted = _Counted(blocks, kept, sizes)
    least = _LEAST_IF_PLAIN * counted.prose[0]
    cards: set[int] = set()
    end = 0
    for holder in range(len(blocks.ends)):
        if holder < end or counted.names[holder] < _FEWEST or counted.every[holder] < least:
            continue
        parts = _alike(blocks, holder, counted, around)
        if _are_content(parts, counted, has_headline=has_headline) and not before.is_of_others(
            parts[0]
        ):
            end = blocks.ends[holder]
            for part in parts:
                cards.update(range(part, blocks.ends[part]))
    return frozenset(cards)


def _alike(blocks: Blocks, holder: int, counted: _Counted, around: Container[int]) -> Sequence[int]:
    """Return the largest group of parts of a block that have one tag and first class."""
    groups: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
    for part in blocks.children(holder):
        if part in around and counted.names[part]:
            names = (blocks.nodes[part].attributes.get("class") or "")[:_READ].lower().split()
            groups[blocks.kinds[part], names[0] if names else ""].append(part)
    return max(groups.values(), key=lambda parts: _sum(counted.every, parts), default=[])


def _are_content(parts: Sequence[int], counted: _Counted, *, has_headline: bool) -> bool:
    size = _sum(counted.every, parts)
    if len(parts) < _FEWEST or size < _LEAST_SIZE * len(parts):
        return False
    own_prose, prose = _sum(counted.prose, parts), counted.prose[0]
    if own_prose > _MOST_PROSE * size:
        return False
    before = counted.prose_before[parts[0]]
    if not has_headline:
        least = _LEAST_ALONE
    elif len(parts) >= _MANY or before <= _MOST_BEFORE * prose:
        least = _LEAST_IF_PLAIN
    else:
        least = _LEAST
    return size >= least * prose


def _sum(values: Sequence[int], blocks: Sequence[int]) -> int:
    return sum([values[block] for block in blocks])
