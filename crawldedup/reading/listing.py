"""Recognize listings, which are pages that mostly lead to others, and find out where they lead.

A listing consists of links, or of teasers: excerpts of other pages, each below a heading that links
to its page. A listing is identified by the pages that it leads to, not by its name: the archive of
a year and the list of all stories are the same page if they list the same stories. Only if a
listing of mere links also has another text, its name counts, because a short text beside a long
sidebar looks like one.
"""

from collections.abc import Collection, Container, Sequence
from typing import Final, NamedTuple

from selectolax.lexbor import LexborNode

from crawldedup.reading.block_names import Label
from crawldedup.reading.blocks import Blocks, kind_of, kinds_of, totals
from crawldedup.reading.mark_words import leads_home, link_target
from crawldedup.reading.nodes import text_within

_H1: Final = kind_of("h1")
_HEADINGS: Final = kinds_of(["h1", "h2", "h3", "h4"])
_MAIN: Final = kind_of("main")
_ASIDE: Final = kind_of("aside")
_LEVELS: Final = 3
_LEAST_LINKS: Final = 5
_LINKED_SHARE: Final = 0.5
_HOME: Final = ""
"""The target that stands for the home page."""

_LEAST_PROSE: Final = 30
"""The number of letters, not counting links and headings, that an article has at least.

A page whose links are in a sidebar isn't a listing if it has that many.
"""

_WHOLE: Final = 0.8
"""The share of its heading that a single teaser must link.

"Harbour extends Place" is the name of a class.
"""

_SHARE_OF_TEASER: Final = 0.5
"""The share of a page's letters that are in the block around a single teaser."""

_SHARE_TO_PAGES: Final = 0.5
_MOST_LINKS: Final = 400
_LONGEST_TEXT: Final = 300  # letters of a link
_SHARE_BEFORE: Final = 0.2
"""The maximum share of a page's letters that may come before the first teaser."""


class Listing(NamedTuple):
    """Where the links of a listing lead, and whether it consists of teasers or of mere links."""

    targets: tuple[str, ...]
    has_teasers: bool


def listing_of(blocks: Blocks, links: Sequence[str], url: str = "") -> Listing | None:
    """Find out where a listing leads, or return None if a page isn't a listing.

    Links to the home page and to other views of the listing aren't among the targets.

    Args:
        blocks: The blocks of the page.
        links: The targets of the links in its content.
        url: The URL of the page. An article whose heading links to the article isn't a listing.
    """
    own = link_target(url) or ""
    query = _query_of(url)
    targets = _teasers(blocks, own, url)
    if targets:
        return Listing(targets, has_teasers=True)
    letters = linked_letters = lines = 0
    for text, linked, _ in blocks.lines:
        letters += len(text)
        linked_letters += linked
        lines += 2 * linked > len(text)
    if lines < _LEAST_LINKS or linked_letters < _LINKED_SHARE * letters:
        return None
    if not _lead_to_pages(blocks) or _links_are_beside_prose(blocks):
        return None
    around = {_HOME, *_other_views(blocks, own, query)}
    return Listing(tuple([target for target in links if target not in around]), has_teasers=False)


def _lead_to_pages(blocks: Blocks) -> bool:
    """Return whether the links on a page mostly lead to other pages, by the length of their texts.

    The questions of an FAQ lead to its answers, and the headings of an accordion only open it.
    """
    letters = letters_to_pages = 0
    for link in blocks.links[:_MOST_LINKS]:
        length = len(text_within(link, _LONGEST_TEXT))
        letters += length
        if link_target(link.attrs.get("href") or "") is not None:
            letters_to_pages += length
    return letters_to_pages >= _SHARE_TO_PAGES * letters


def _links_are_beside_prose(blocks: Blocks) -> bool:
    """Return whether most links of a page are in its sidebar, beside a short text.

    A short article and a long sidebar are read together.
    """
    outside = _outside_sidebars(blocks)
    letters = linked_letters = 0
    for text, linked, block in blocks.lines:
        if block in outside and _heading_around(blocks, block) < 0:
            letters += len(text)
            linked_letters += linked
    prose = letters - linked_letters
    return prose >= _LEAST_PROSE and linked_letters < _LINKED_SHARE * letters


def _outside_sidebars(blocks: Blocks) -> Container[int]:
    """Return the blocks that aren't in sidebars.

    If the page has a single <main>, only those in it.
    """
    mains = [block for block, kind in enumerate(blocks.kinds) if kind == _MAIN]
    whole = mains[0] if len(mains) == 1 else 0
    outside = set(range(whole, blocks.ends[whole])) if blocks.ends else set()
    for block, name in enumerate(blocks.names):
        if name == Label.SIDEBAR or blocks.kinds[block] == _ASIDE:
            outside.difference_update(range(block, blocks.ends[block]))
    return outside


def _other_views(blocks: Blocks, own: str, query: str) -> set[str]:
    """Return the target `own` if a listing has links to other views of itself, or nothing.

    The print view of a listing leads back to the listing, which may lead to the print view.
    """
    queries = set()
    for link in blocks.links[:_MOST_LINKS]:
        href = link.attrs.get("href") or ""
        if own and link_target(href) == own:
            queries.add(_query_of(href))
    return {own} if queries and query not in queries else set()


def _query_of(url: str) -> str:
    return url.partition("#")[0].partition("?")[2]


def _teasers(blocks: Blocks, own: str, url: str) -> tuple[str, ...]:
    """Return where the teasers of a page lead, or nothing if it doesn't consist of teasers.

    The name of the site above an article may be a heading as well, with a link to the home page.
    """
    letters = 0
    before: dict[int, int] = {}
    partly_linked: set[int] = set()
    for text, linked, block in blocks.lines:
        heading = _heading_around(blocks, block) if 2 * linked > len(text) else -1
        if heading >= 0:
            before.setdefault(blocks.nodes[heading].mem_id, letters)
            if linked < _WHOLE * len(text):
                partly_linked.add(blocks.nodes[heading].mem_id)
        letters += len(text)
    # The only <h1> of a page is its own heading, not that of a teaser.
    own_heading = _only_heading(blocks)
    if own_heading >= 0:
        before.pop(blocks.nodes[own_heading].mem_id, None)
    if not before:
        return ()
    targets: dict[str, None] = {}
    holders: set[int] = set()
    first = letters
    for link in blocks.links:
        holder = _holder_of(link, before)
        if holder is None:
            continue
        target = link_target(link.attrs.get("href") or "")
        if target is None or _is_own(target, own) or leads_home(link.attributes, url):
            continue
        targets[target] = None
        holders.add(holder)
        first = min(first, before[holder])
    if len(holders) == 1 and not _may_be_teaser(blocks, own_heading, holders - partly_linked):
        return ()
    return tuple(targets) if first <= _SHARE_BEFORE * letters else ()


def _only_heading(blocks: Blocks) -> int:
    """Return the block of the only <h1> of a page, or -1."""
    found = [block for block, kind in enumerate(blocks.kinds) if kind == _H1]
    return found[0] if len(found) == 1 else -1


def _may_be_teaser(blocks: Blocks, own_heading: int, headings: Collection[int]) -> bool:
    """Return whether the only linked heading of a page is that of a teaser.

    A teaser is in a block of its own, together with its excerpt. If that block also has the page's
    own heading, the linked one names the author of an article, or the employer in an ad.

    Args:
        blocks: The blocks of the page.
        own_heading: The block of the page's own heading, or -1.
        headings: The `mem_id` of the linked heading, or nothing if only a part of it is linked.
    """
    places = [block for block, node in enumerate(blocks.nodes) if node.mem_id in headings]
    if not places or own_heading < 0:
        return bool(places)
    own = [0] * len(blocks.ends)
    for text, _, block in blocks.lines:
        own[block] += len(text)
    letters = totals(own, blocks.ends)
    least = _SHARE_OF_TEASER * letters[0]
    teaser = next(block for block in blocks.way_to(places[0]) if letters[block] >= least)
    return not teaser <= own_heading < blocks.ends[teaser]


def _holder_of(link: LexborNode, headings: Container[int]) -> int | None:
    """Return the `mem_id` of the heading that a link is in, or None."""
    outer = link.parent
    for _ in range(_LEVELS):
        if outer is None:
            return None
        if outer.mem_id in headings:
            return outer.mem_id
        outer = outer.parent
    return None


def _is_own(target: str, own: str) -> bool:
    """Return whether a link leads to the page itself.

    A relative link, such as `story.html` on the page `/world/story.html`, is the end of the page's
    path.
    """
    target = target.rstrip("/")
    own = own.rstrip("/")
    return bool(target) and (target == own or own.endswith(f"/{target}"))


def _heading_around(blocks: Blocks, block: int) -> int:
    """Return the heading that a block is or that is around it, or -1."""
    if blocks.kinds[block] in _HEADINGS:
        return block
    parent = blocks.parents[block]
    return parent if parent >= 0 and blocks.kinds[parent] in _HEADINGS else -1
