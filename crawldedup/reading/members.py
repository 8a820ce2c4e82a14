"""Find the members of a page: the many parts below a description that are described one by one.

The reference of a class describes it in some paragraphs, and then its methods in one or two
sentences each. Paragraphs that stand together look more like an article, but if the members hold
more prose than the description, they are what the page says. Teasers are many parts as well, but
each has a title that leads to another page.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

from crawldedup.reading.blocks import Blocks
from crawldedup.reading.headline import is_title

_FEWEST: Final = 8  # members
_LINK: Final = 0.5  # share of a line from which on it is a link
_TEASER: Final = 0.3  # share of links from which on a line is a teaser
_LEAST_TITLE: Final = 25  # letters of a link that is no name of a member
_LEVELS: Final = 3  # around a line, up to the block with a class
_READ: Final = 300  # characters of a class

Key = tuple[int, str]


class Member(NamedTuple):
    """A line of prose in a part of the page: the block of the part, its tag and first class, and
    the bytes of the line.
    """

    block: int
    key: Key
    size: int


def members_of(
    blocks: Blocks, kept: Sequence[int], sizes: Sequence[int], is_prose: Sequence[bool]
) -> list[Member]:
    """Return the lines of prose that stand in parts with a class and are no teasers.

    Args:
        blocks: The blocks of the page.
        kept: The lines of it that are no noise.
        sizes: The bytes of each line.
        is_prose: Which lines are prose.
    """
    found: list[Member] = []
    below_title = False
    before = -1
    for line in kept:
        text, linked, block = blocks.lines[line]
        if not is_prose[line]:
            is_link = linked > _LINK * len(text)
            if is_link and (linked >= _LEAST_TITLE or is_title(blocks, block)):
                below_title = True
            elif not is_link and is_title(blocks, block):
                below_title = False
            continue
        part, name = _part_around(blocks, block)
        if part != before:
            before = part
            if name and not below_title and linked < _TEASER * len(text):
                found.append(Member(part, (blocks.kinds[part], name), sizes[line]))
            below_title = False
        elif found and found[-1].block == part:
            found.append(Member(part, found[-1].key, sizes[line]))
    return found


def _part_around(blocks: Blocks, block: int) -> tuple[int, str]:
    """Return the closest block with a class around a line, and its first class; "" for none."""
    for _ in range(_LEVELS):
        if block <= 0:
            break
        names = (blocks.nodes[block].attributes.get("class") or "")[:_READ].split()
        if names:
            return block, names[0]
        block = blocks.parents[block]
    return block, ""


def are_left(members: Sequence[Member], article: range, inner: range, least: int) -> bool:
    """Return whether many alike members, with more than some bytes of prose, stand in a block but
    not in the inner one.
    """
    sizes: defaultdict[Key, int] = defaultdict(int)
    parts: defaultdict[Key, set[int]] = defaultdict(set)
    for block, key, size in members:
        if block in article and block not in inner:
            sizes[key] += size
            parts[key].add(block)
    return any(size > least and len(parts[key]) >= _FEWEST for key, size in sizes.items())
