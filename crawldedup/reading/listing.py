"""Recognize listings, and tell where they lead.

A listing consists of links, or of teasers: parts of other pages, each below a heading that links to
its page. What a listing leads to says what it is, whatever it is called: the archive of a year and
the list of all stories are one page if they have the same stories.
"""

from collections.abc import Sequence
from typing import Final

from crawldedup.reading.blocks import Blocks, kinds_of
from crawldedup.reading.mark_words import link_target

_HEADINGS: Final = kinds_of(["h2", "h3", "h4"])
_LEVELS: Final = 3
_LEAST_LINKS: Final = 5
_LINKED_SHARE: Final = 0.5
_SHARE_BEFORE: Final = 0.2
"""Of the letters of a page, the share that may stand before the first teaser."""


def listed_targets(blocks: Blocks, links: Sequence[str]) -> tuple[str, ...] | None:
    """Return where a listing leads; None for a page that is none.

    Args:
        blocks: The blocks of the page.
        links: Where the links of its content lead.
    """
    targets = _teasers(blocks)
    if targets:
        return targets
    letters = linked_letters = lines = 0
    for text, linked, _ in blocks.lines:
        letters += len(text)
        linked_letters += linked
        lines += 2 * linked > len(text)
    if lines >= _LEAST_LINKS and linked_letters >= _LINKED_SHARE * letters:
        return tuple(links)
    return None


def _teasers(blocks: Blocks) -> tuple[str, ...]:
    """Return where the headings of teasers lead, if the page consists of teasers."""
    first: int | None = None
    letters = 0
    before = 0
    headings: set[int] = set()
    for text, linked, block in blocks.lines:
        heading = _heading_around(blocks, block)
        if heading >= 0 and 2 * linked > len(text):
            headings.add(heading)
            if first is None:
                first, before = heading, letters
        letters += len(text)
    if first is None or before > _SHARE_BEFORE * letters:
        return ()
    nodes = {blocks.nodes[heading].mem_id for heading in headings}
    targets: dict[str, None] = {}
    for link in blocks.links:
        outer = link.parent
        for _ in range(_LEVELS):
            if outer is None:
                break
            if outer.mem_id in nodes:
                target = link_target(link.attrs.get("href") or "")
                if target is not None:
                    targets[target] = None
                break
            outer = outer.parent
    return tuple(targets)


def _heading_around(blocks: Blocks, block: int) -> int:
    """Return the heading that a block is or stands in; -1 for none."""
    if blocks.kinds[block] in _HEADINGS:
        return block
    parent = blocks.parents[block]
    return parent if parent >= 0 and blocks.kinds[parent] in _HEADINGS else -1
