"""Sort the lines of a page into prose, links in lists of links, and noise.

A line is prose if it isn't a link, and is long and has punctuation, or is very long. Noise is
navigation, footers, hidden elements, and elements with names such as share, related or comments. A
name doesn't count if the page would lose too much of its prose, or its headline.
"""

import re
from collections.abc import Set
from typing import Final

from crawldedup.reading.block_names import Label
from crawldedup.reading.blocks import (
    BOILERPLATE,
    HEADINGS,
    HOLD_CONTENT,
    Blocks,
    kind_of,
    kinds_of,
    tags,
    totals,
)

LINK: Final = 0.5
"""If at least this share of a line is linked, the line is a link."""

_CAPTION, _MAIN, _TABLE = (kind_of(tag) for tag in ("figcaption", "main", "table"))
_LISTINGS: Final = kinds_of(["pre", "table"])
CELLS: Final = kinds_of(tags("li p td tr tbody dd dt h1 h2 h3 h4 h5 h6"))

# Bytes of prose in UTF-8, because scripts with many characters need few of them. Some scripts, such
# as Thai, have no punctuation.
_LONG: Final = 60
_LONG_WITHOUT_PUNCTUATION: Final = 180
_PUNCTUATION: Final = re.compile(r"[.!?,;:…。！？、，；：．،؛؟।॥።៕၊။።፡፣·]")

# The least share of links in a list of links, and in a sidebar of links.
_LIST_OF_LINKS: Final = 0.6
_SIDEBAR_LINKS: Final = 0.3

# A name of noise counts up to these shares of the page's prose: in any case, if nothing speaks
# against it, and for hidden elements.
_BELIEVED: Final = 0.1
_BELIEVED_ELSE: Final = 0.65
_BELIEVED_IF_HIDDEN: Final = 0.8
# How many times as much prose may be outside of <main> as there is text in it.
_MOST_OUTSIDE: Final = 2
_CAPTIONS: Final = 0.3  # captions with a larger share of the page's prose are part of the text
_NOISE: Final = frozenset([Label.NOISE, Label.BOTH, Label.COMMENTS])
# Up to this many bytes, a footer is noise even if it has all the prose of a page of tables.
_FOOTER: Final = 500

# Weights of prose, doubled: anywhere, in <article> or <main>, and in an element that is named as an
# article and has less other text.
_PLAIN_WEIGHT: Final = 2
_IN_ARTICLE: Final = 3
NAMED_ARTICLE: Final = 8
"""How much prose weighs in an element whose name says that it is an article."""


class PageLines:
    """What is known about the lines of a page, by their numbers, and about its blocks.

    `sizes` has the bytes of each line. `is_prose` and `is_listed` say whether it is prose, or a
    link in a list of links. `factors` has the weight of prose in each block, which depends on the
    names of the block and of those around it.
    """

    def __init__(self, blocks: Blocks, holders: Set[int]) -> None:
        self.blocks = blocks
        self._holders = holders
        self.sizes: list[int] = []
        self.is_prose: list[bool] = []
        prose, links, characters = ([0] * len(blocks.ends) for _ in range(3))
        for text, linked, block in blocks.lines:
            length = len(text)
            size = length if text.isascii() else len(text.encode())
            is_prose = linked <= LINK * length and (
                size >= _LONG_WITHOUT_PUNCTUATION
                or (size >= _LONG and _PUNCTUATION.search(text) is not None)
            )
            self.sizes.append(size)
            self.is_prose.append(is_prose)
            if is_prose:
                prose[block] += size
            links[block] += linked
            characters[block] += length
        self.prose, self.links, self.characters = (
            totals(own, blocks.ends) for own in (prose, links, characters)
        )
        self.factors = [_PLAIN_WEIGHT] * len(blocks.ends)
        self.is_listed = self._listed()

    def _listed(self) -> list[bool]:
        """Return for each line whether it is a link in a list of links."""
        kinds = self.blocks.kinds
        parents = self.blocks.parents
        lists = list(range(len(parents)))
        for block, kind in enumerate(kinds):
            if kind in CELLS:
                lists[block] = lists[parents[block]]
        links = self.links
        characters = self.characters
        # The rows of a table of links have content, such as the names in a module.
        is_listed = []
        for text, linked, block in self.blocks.lines:
            holder = lists[block]
            is_listed.append(
                linked > LINK * len(text)
                and kinds[holder] != _TABLE
                and links[holder] > _LIST_OF_LINKS * characters[holder]
            )
        return is_listed

    def without_noise(self) -> list[int]:
        """Return the numbers of the lines that aren't navigation and the like.

        Also sets the `factors` of all blocks that aren't noise.
        """
        kinds = self.blocks.kinds
        parents = self.blocks.parents
        ends = self.blocks.ends
        # A page with more captions is a page of pictures, and they are its content.
        captions = sum([self.prose[block] for block, kind in enumerate(kinds) if kind == _CAPTION])
        self._beside = (
            BOILERPLATE | {_CAPTION} if captions <= _CAPTIONS * self.prose[0] else BOILERPLATE
        )
        telling = self._beside | HOLD_CONTENT
        names = self.blocks.names
        factors = self.factors
        block = 1
        end = len(kinds)
        is_noise = [False] * end
        main = self._main()
        if main is not None:
            block = main + 1
            end = ends[main]
            is_noise = [not main <= block < end for block in range(len(kinds))]
        while block < end:
            factors[block] = factors[parents[block]]
            tells = names[block] != Label.NOTHING or kinds[block] in telling
            if tells and self.characters[block] and self._is_noise(block):
                is_noise[block : ends[block]] = [True] * (ends[block] - block)
                block = ends[block]
            else:
                block += 1
        return [line for line, (_, _, block) in enumerate(self.blocks.lines) if not is_noise[block]]

    def _main(self) -> int | None:
        """Return the block of <main> if it contains everything that counts, or None.

        A table next to a column of prose is the content if it is in <main> with the <h1>. But some
        templates close <main> after the headline, or only put it around the headline.
        """
        kinds = self.blocks.kinds
        if kinds.count(_MAIN) != 1:
            return None
        main = kinds.index(_MAIN)
        if self.blocks.nodes[main].css_first("h1") is None:
            return None
        if self.prose[main]:
            outside = self.prose[0] - self.prose[main]
            is_content = outside <= _MOST_OUTSIDE * (self.characters[main] - self.links[main])
        else:
            is_content = any(
                main < block < self.blocks.ends[main] and kinds[block] not in HEADINGS
                for _, _, block in self.blocks.lines
            )
        return main if is_content else None

    def _is_noise(self, block: int) -> bool:
        """Return whether a block is noise by its name or tag, and set its factor."""
        kind = self.blocks.kinds[block]
        name = self.blocks.names[block]
        if name == Label.ARTICLE:
            self.factors[block] = NAMED_ARTICLE
        elif kind in HOLD_CONTENT:
            self.factors[block] = max(self.factors[block], _IN_ARTICLE)
        if self.blocks.nodes[block].mem_id in self.blocks.content:
            return False
        prose = self.prose[block]
        share = prose / max(self.prose[0], 1)
        if name == Label.HIDDEN:
            return share <= _BELIEVED_IF_HIDDEN
        if name == Label.SIDEBAR:
            # Boxes in the text of books and columns that contain the article also have such names,
            # but they have few links.
            return (
                share <= _BELIEVED and self.links[block] >= _SIDEBAR_LINKS * self.characters[block]
            )
        if name not in _NOISE and (kind not in self._beside or self._is_of_listing(block)):
            return False
        if share <= _BELIEVED:
            return True
        if name == Label.BOTH or self.blocks.nodes[block].mem_id in self._holders:
            return False
        return share <= _BELIEVED_ELSE or prose <= _FOOTER

    def _is_of_listing(self, block: int) -> bool:
        """Return whether a block is the caption of code or of a table, rather than of a picture."""
        figure = self.blocks.parents[block]
        return self.blocks.kinds[block] == _CAPTION and not _LISTINGS.isdisjoint(
            self.blocks.kinds[figure : self.blocks.ends[figure]]
        )
