"""Recognize listings, and tell where they lead.

A listing consists of links, or of teasers: parts of other pages, each below a heading that links to
its page. What a listing leads to says what it is, whatever it is called: the archive of a year and
the list of all stories are one page if they have the same stories.
"""

from collections.abc import Container, Sequence
from typing import Final

from selectolax.lexbor import LexborNode

from crawldedup.reading.blocks import Blocks, kind_of, kinds_of
from crawldedup.reading.mark_words import link_target

_H1: Final = kind_of("h1")
_HEADINGS: Final = kinds_of(["h1", "h2", "h3", "h4"])
_LEVELS: Final = 3
_LEAST_LINKS: Final = 5
_LINKED_SHARE: Final = 0.5
_SHARE_BEFORE: Final = 0.2
"""Of the letters of a page, the share that may stand before the first teaser."""


def listed_targets(blocks: Blocks, links: Sequence[str], own: str = "") -> tuple[str, ...] | None:
    """Return where a listing leads; None for a page that is none.

    Args:
        blocks: The blocks of the page.
        links: Where the links of its content lead.
        own: The target of a link to the page itself. An article whose heading links to the article
            is no listing.
    """
    targets = _teasers(blocks, own)
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


def _teasers(blocks: Blocks, own: str) -> tuple[str, ...]:
    """Return where the headings of teasers lead, if the page consists of teasers."""
    letters = 0
    before: dict[int, int] = {}
    for text, linked, block in blocks.lines:
        heading = _heading_around(blocks, block)
        if heading >= 0 and 2 * linked > len(text):
            before.setdefault(blocks.nodes[heading].mem_id, letters)
        letters += len(text)
    # The only first heading of a page is its own, and no teaser's.
    first_headings = [block for block, kind in enumerate(blocks.kinds) if kind == _H1]
    if len(first_headings) == 1:
        before.pop(blocks.nodes[first_headings[0]].mem_id, None)
    if not before:
        return ()
    targets: dict[str, None] = {}
    first = letters
    for link in blocks.links:
        holder = _holder_of(link, before)
        if holder is None:
            continue
        target = link_target(link.attrs.get("href") or "")
        if target is not None and not _is_own(target, own):
            targets[target] = None
            first = min(first, before[holder])
    return tuple(targets) if first <= _SHARE_BEFORE * letters else ()


def _holder_of(link: LexborNode, headings: Container[int]) -> int | None:
    """Return the `mem_id` of the heading around a link; None for none."""
    outer = link.parent
    for _ in range(_LEVELS):
        if outer is None:
            return None
        if outer.mem_id in headings:
            return outer.mem_id
        outer = outer.parent
    return None


def _is_own(target: str, own: str) -> bool:
    """Return whether a link leads to the page itself. Relative links lack the folders above."""
    target, own = target.rstrip("/"), own.rstrip("/")
    return bool(target) and (target == own or own.endswith(f"/{target}"))


def _heading_around(blocks: Blocks, block: int) -> int:
    """Return the heading that a block is or stands in; -1 for none."""
    if blocks.kinds[block] in _HEADINGS:
        return block
    parent = blocks.parents[block]
    return parent if parent >= 0 and blocks.kinds[parent] in _HEADINGS else -1
