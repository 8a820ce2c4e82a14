"""Find the members that a reference page describes, such as the methods of a class.

Such a page describes the class in a few paragraphs, and then each method in one or two sentences.
The paragraphs look more like an article because they are together. But if the members have more
prose than the description, they are the content of the page. A page can also have many teasers, but
each of those has a title that links to another page.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

from crawldedup.reading.blocks import Blocks
from crawldedup.reading.headline import is_title
from crawldedup.reading.page_lines import LINK

_FEWEST: Final = 8  # the minimum number of members
_TEASER: Final = 0.3  # a line of prose with this share of links counts as a teaser
_LEAST_TITLE: Final = 25  # the letters of a link that is a title, not the name of a member
_LEVELS: Final = 3  # how many blocks around a line are searched for a class
_READ: Final = 300  # characters of a class attribute

Key = tuple[int, str]


class Member(NamedTuple):
    """A line of prose that may describe a member.

    `block` is the block of that part of the page, `key` its tag and its first class, and `size` the
    number of bytes in the line.
    """

    block: int
    key: Key
    size: int


def members_of(
    blocks: Blocks, kept: Sequence[int], sizes: Sequence[int], is_prose: Sequence[bool]
) -> list[Member]:
    """Return the lines of prose in parts with a class that aren't teasers. They may be members.

    Args:
        blocks: The blocks of the page.
        kept: The numbers of the lines that aren't noise.
        sizes: The number of bytes in each line.
        is_prose: Whether each line is prose.
    """
    found: list[Member] = []
    below_title = False
    before = -1
    for line in kept:
        text, linked, block = blocks.lines[line]
        if not is_prose[line]:
            is_link = linked > LINK * len(text)
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
    """Return the closest block around a line that has a class, and its first class or ""."""
    for _ in range(_LEVELS):
        if block <= 0:
            break
        names = (blocks.nodes[block].attributes.get("class") or "")[:_READ].split()
        if names:
            return block, names[0]
        block = blocks.parents[block]
    return block, ""


def are_left(members: Sequence[Member], article: range, inner: range, least: int) -> bool:
    """Return whether reading only `inner` would leave out many members of one kind in `article`.

    Args:
        members: The members of the page.
        article: The blocks of an outer block.
        inner: The blocks of one that is inside of it.
        least: The number of bytes of prose that these members have to exceed.
    """
    sizes: defaultdict[Key, int] = defaultdict(int)
    parts: defaultdict[Key, set[int]] = defaultdict(set)
    for block, key, size in members:
        if block in article and block not in inner:
            sizes[key] += size
            parts[key].add(block)
    return any(size > least and len(parts[key]) >= _FEWEST for key, size in sizes.items())
