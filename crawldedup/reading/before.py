"""Look at the lines right above a part of a page, in order to find the heading of a list.

A list of related articles or similar products has a heading that says so. A list that belongs to
the page itself often follows its prose without a heading.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Final

from crawldedup.reading.blocks import Blocks
from crawldedup.reading.headline import is_title
from crawldedup.reading.page_lines import LINK

_MOST_BEFORE: Final = 4  # the most lines above a list that are searched for its heading
_READ: Final = 300  # characters of a class attribute
_LONGEST_HEADING: Final = 80

_CALLED_HEADING: Final = re.compile(r"title|head(?:ing|er|line)", re.IGNORECASE)
_OF_OTHERS: Final = re.compile(
    r"(?:related|similar|recommended|sponsored)\b.*"
    r"|(?:you|customers|shoppers|people|users|viewers|others)\b.*"
    r"\b(?:also|like|love|viewed|bought)\b.*"
    r"|(?:recently|last|previously) viewed\b.*|(?:frequently|often) bought\b.*"
    r"|(?:more|other) (?:from|like|products|items|articles|posts|stories|news)\b.*"
    r"|(?:complete the|goes well|pairs well|read next|up next|keep reading)\b.*"
    r"|(?:ähnliche|verwandte|passende|weitere|zuletzt|das könnte|kunden|auch interessant)\b.*"
    r"|(?:vous aimerez|à lire aussi|(?:produits|articles) (?:similaires|associés|liés))\b.*"
    r"|(?:también|productos relacionados|artículos relacionados|te puede|le puede)\b.*"
    r"|(?:potrebbe|prodotti (?:correlati|simili)|articoli correlati|leggi anche)\b.*"
    r"|(?:gerelateerde|vergelijkbare|lees ook|bekijk ook|produtos relacionados|veja também)\b.*"
    r"|(?:podobne|zobacz też|похожие|рекомендуем|читайте также|с этим товаром)\b.*"
    r"|(?:関連|おすすめ|相关|相關|推荐|推薦|猜你喜欢).*",
    re.IGNORECASE,
)


class Before:
    """Knows which lines come right before each part of a page.

    Args:
        blocks: The blocks of the page.
        kept: The numbers of the lines that aren't noise.
        is_prose: Whether each line is prose.
    """

    def __init__(self, blocks: Blocks, kept: Sequence[int], is_prose: Sequence[bool]) -> None:
        self._blocks = blocks
        self._kept = kept
        self._is_prose = is_prose

    @cached_property
    def _starts(self) -> list[int]:
        """For each kept line, the last block that starts there or earlier.

        Lines are in the order of their blocks, except for text after an inner block.
        """
        return list(accumulate([self._blocks.lines[line][2] for line in self._kept], max))

    def _lines_before(self, block: int) -> Iterator[tuple[str, int]]:
        """Yield the lines right above a block, closest first, each with its block.

        These are at most four lines, without links. The search ends at a line of prose.
        """
        place = bisect_left(self._starts, block)
        for line in reversed(self._kept[max(place - _MOST_BEFORE, 0) : place]):
            if self._is_prose[line]:
                return
            text, linked, holder = self._blocks.lines[line]
            if linked <= LINK * len(text):
                yield text, holder

    def is_of_others(self, block: int) -> bool:
        """Return whether a heading right above a block announces other pages.

        An example is "You may also like". Such pages are only related to this one.
        """
        return any(names_others(text) for text, _ in self._lines_before(block))

    def is_headed(self, block: int, headline: int) -> bool:
        """Return whether a heading other than the headline is right above a block."""
        for text, holder in self._lines_before(block):
            if holder == headline:
                return False
            if is_heading(self._blocks, holder) or names_others(text):
                return True
        return False


def is_heading(blocks: Blocks, block: int) -> bool:
    """Return whether a block is a heading, by its tag or by its class or its parent's class."""
    return is_title(blocks, block) or any(
        _CALLED_HEADING.search((blocks.nodes[holder].attributes.get("class") or "")[:_READ])
        for holder in (block, max(blocks.parents[block], 0))
    )


def names_others(text: str) -> bool:
    """Return whether a heading, such as "You may also like", announces other pages."""
    return len(text) <= _LONGEST_HEADING and _OF_OTHERS.fullmatch(text) is not None
