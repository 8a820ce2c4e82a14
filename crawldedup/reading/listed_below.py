"""Find the entries of a listing that are below a long description.

Pages of categories, tags and collections begin with a description. It is the same on each page of a
category, and in all shops that sell the products of one manufacturer, so the pages only differ in
the entries below it. These entries have no heading of their own, because they belong to the
headline. A list below an article, such as one of related articles, isn't part of the page's
content. It has a heading of its own, or the headline and the text are inside of an <article> that
doesn't contain the list.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

from crawldedup.reading.before import Before
from crawldedup.reading.block_names import Label
from crawldedup.reading.blocks import Blocks, kind_of, kinds_of, totals
from crawldedup.reading.cards import Sizes
from crawldedup.reading.headline import is_title

_ARTICLE: Final = kind_of("article")
_FRAME: Final = kinds_of(["aside", "footer", "header", "nav"])
_FEWEST: Final = 4  # entries
_ALL_LINK: Final = 0.9  # share of links at which entries are nothing but links, as in a menu
_LEAST_SIZE: Final = 20  # bytes of an entry; tags and the entries of a menu have fewer
_LEAST_SHARE: Final = 0.05  # size of all entries, as a share of the page's prose
# A list that is this many times as large as the rest of the prose doesn't have to be inside of the
# <article>, nor on a page with a headline.
_SEVERAL_TIMES: Final = 2
_LINK: Final = 0.5  # share of links at which a line counts as a link
_READ: Final = 300  # characters of a class attribute

_BESIDE: Final = frozenset([Label.NOISE, Label.SIDEBAR, Label.BOTH, Label.COMMENTS, Label.HIDDEN])


class Letters(NamedTuple):
    """The number of letters in each block of a page, including the blocks inside of it."""

    every: Sequence[int]  #: The letters of all lines.
    linked: Sequence[int]  #: The letters of links among them.


def listed_below(
    blocks: Blocks,
    kept: Sequence[int],
    sizes: Sizes,
    letters: Letters,
    before: Before,
    *,
    headline: int,
) -> frozenset[int]:
    """Return the blocks of the entries below the headline, with all blocks inside of them.

    Args:
        blocks: The blocks of the page.
        kept: The numbers of the lines that aren't noise.
        sizes: The sizes of these lines in each block.
        letters: The number of letters in each block.
        before: The lines before each part of the page.
        headline: The block of the page's headline, or -1 if there is none.
    """
    parts = _Parts(blocks, kept, letters, headline)
    surroundings: _Surroundings | None = None
    least = max(_FEWEST * _LEAST_SIZE, _LEAST_SHARE * sizes.prose[0])
    listed: set[int] = set()
    end = 0
    for holder in range(len(blocks.ends)):
        is_small = parts.names[holder] < _FEWEST or sizes.every[holder] < least
        if holder < end or is_small:
            continue
        alike = parts.alike(holder)
        size = sum([sizes.every[part] for part in alike])
        if len(alike) < _FEWEST or size < max(least, _LEAST_SIZE * len(alike)):
            continue
        surroundings = surroundings or _Surroundings(blocks, headline)
        if surroundings.is_beside[holder]:
            continue
        rest = sizes.prose[0] - sum([sizes.prose[part] for part in alike])
        is_most = size >= _SEVERAL_TIMES * rest
        if not is_most and not surroundings.are_of_headline(holder):
            continue
        if not parts.are_links(alike) and not before.is_headed(alike[0], headline):
            end = blocks.ends[holder]
            for part in alike:
                listed.update(range(part, blocks.ends[part]))
    return frozenset(listed)


class _Opening(NamedTuple):
    """The first heading or link in an entry: its tag (0 if it's no heading), and if it links."""

    heading: int
    is_linked: bool


class _Parts:
    """The parts of a page that may be entries of a listing.

    `names` is the number of lines in each block that name something, as a link or a heading does.
    """

    def __init__(
        self, blocks: Blocks, kept: Sequence[int], letters: Letters, headline: int
    ) -> None:
        self._blocks, self._letters, self._headline = blocks, letters, headline
        names = [0] * len(blocks.ends)
        self._openings: dict[int, _Opening] = {}
        for line in kept:
            text, linked, block = blocks.lines[line]
            is_linked = linked > _LINK * len(text)
            is_heading = is_title(blocks, block)
            if is_linked or is_heading:
                names[block] += 1
                opening = _Opening(blocks.kinds[block] if is_heading else 0, is_linked)
                while block >= 0 and block not in self._openings:
                    self._openings[block] = opening
                    block = blocks.parents[block]
        self.names = totals(names, blocks.ends)

    def alike(self, holder: int) -> Sequence[int]:
        """Return the largest group of similar parts in a block, among those below the headline.

        Similar parts have the same tag and the same first class, and begin in the same way.
        """
        groups: defaultdict[tuple[int, str, _Opening], list[int]] = defaultdict(list)
        for part in self._blocks.children(holder):
            if part > self._headline and self.names[part] and self._is_part(part):
                names = self._blocks.nodes[part].attributes.get("class") or ""
                first = names[:_READ].lower().split(None, 1)[:1]
                groups[self._blocks.kinds[part], "".join(first), self._openings[part]].append(part)
        return max(groups.values(), key=len, default=[])

    def _is_part(self, part: int) -> bool:
        """Return whether a part begins with a link, or has a heading and no links at all.

        If a heading has links below it, the part is a box next to the text.
        """
        return self._openings[part].is_linked or not self._letters.linked[part]

    def are_links(self, parts: Sequence[int]) -> bool:
        """Return whether parts consist of nothing but links that aren't headings."""
        if self._openings[parts[0]].heading:
            return False
        linked = sum([self._letters.linked[part] for part in parts])
        return linked >= _ALL_LINK * sum([self._letters.every[part] for part in parts])


class _Surroundings:
    """Tells whether blocks of a page belong to its text.

    `is_beside` says for each block whether it is inside of an element whose tag or name puts it
    next to the text, such as a sidebar. Elements around the headline don't count.
    """

    def __init__(self, blocks: Blocks, headline: int) -> None:
        self._has_headline = headline >= 0
        around = set(blocks.way_to(headline)) | {0}
        self._around_article: set[int] = set()
        is_around_article = False
        for block in blocks.way_to(headline):
            if is_around_article:
                self._around_article.add(block)
            is_around_article = is_around_article or blocks.kinds[block] == _ARTICLE
        # For each block, the smallest block around it that also contains the headline.
        self._common: list[int] = []
        self.is_beside: list[bool] = []
        for block, parent in enumerate(blocks.parents):
            if block in around:
                self._common.append(block)
                self.is_beside.append(False)
                continue
            self._common.append(self._common[parent])
            is_named = blocks.names[block] in _BESIDE or blocks.kinds[block] in _FRAME
            self.is_beside.append(is_named or self.is_beside[parent])

    def are_of_headline(self, holder: int) -> bool:
        """Return whether there is a headline, and no <article> contains it without this block."""
        return self._has_headline and self._common[holder] not in self._around_article
