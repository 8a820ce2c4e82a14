"""Find the entries of a listing that begins with a long description.

Pages of categories, tags and collections begin with a description. It is the same on each page of a
category, and in all shops that sell the products of one manufacturer, so the pages only differ in
the entries below it. These entries have no heading of their own, because they belong to the
headline. A list below an article, such as one of related articles, isn't part of the page's
content. It has a heading of its own, or the headline and the text are inside of an <article> that
doesn't contain the list.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import Final, NamedTuple

from crawldedup.reading.before import Before
from crawldedup.reading.block_names import Label
from crawldedup.reading.blocks import Blocks, kind_of, kinds_of
from crawldedup.reading.cards import Sizes
from crawldedup.reading.openings import Names, Opening, first_in_blocks

_ARTICLE: Final = kind_of("article")
_FRAME: Final = kinds_of(["aside", "footer", "header", "nav"])
_FEWEST: Final = 4  # the minimum number of entries
_ALL_LINK: Final = 0.9  # entries with this share of links are nothing but links, as in a menu
# The bytes of the smallest entry; tags and the entries of a menu are smaller.
_LEAST_SIZE: Final = 20
_LEAST_SHARE: Final = 0.05  # the least size of all entries, as a share of the page's prose
# A list that is this many times as large as the rest of the prose doesn't have to be inside of the
# <article>, nor on a page with a headline.
_SEVERAL_TIMES: Final = 2
_READ: Final = 300  # characters of a class attribute

_BESIDE: Final = frozenset([Label.NOISE, Label.SIDEBAR, Label.BOTH, Label.COMMENTS, Label.HIDDEN])


class Letters(NamedTuple):
    """How many letters are in each block of a page, including the blocks inside of it."""

    every: Sequence[int]  #: The letters of all lines.
    linked: Sequence[int]  #: The letters of links among them.


def listed_below(
    blocks: Blocks,
    names: Names,
    sizes: Sizes,
    letters: Letters,
    before: Before,
    *,
    headline: int,
) -> frozenset[int]:
    """Find the entries below the headline, and return their blocks with all blocks inside.

    Args:
        blocks: The blocks of the page.
        names: The lines that name something, of those that aren't noise.
        sizes: The sizes of the lines in each block that aren't noise.
        letters: The number of letters in each block.
        before: The lines before each part of the page.
        headline: The block of the page's headline, or -1 if there is none.
    """
    parts = _Parts(blocks, names, letters)
    surroundings = _Surroundings(blocks, headline)
    least = max(_FEWEST * _LEAST_SIZE, _LEAST_SHARE * sizes.prose[0])
    listed: set[int] = set()
    end = 0
    for holder in sorted(names.parts):
        is_small = len(names.parts[holder]) < _FEWEST or sizes.every[holder] < least
        if holder < end or is_small or surroundings.is_beside(holder):
            continue
        below = [part for part in names.parts[holder] if part > headline]
        # Most blocks stop here, before anything is looked up for their parts.
        if len(below) < _FEWEST or sum([sizes.every[part] for part in below]) < least:
            continue
        alike = parts.alike(below)
        size = sum([sizes.every[part] for part in alike])
        if len(alike) < _FEWEST or size < max(least, _LEAST_SIZE * len(alike)):
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


class _Parts:
    """Finds the parts of a page that may be entries of a listing."""

    def __init__(self, blocks: Blocks, names: Names, letters: Letters) -> None:
        self._blocks = blocks
        self._names = names
        self._letters = letters

    @cached_property
    def _openings(self) -> dict[int, Opening]:
        """What each block begins with, if it begins with a heading or a link."""
        kinds = self._blocks.kinds
        openings = [
            (block, Opening(kinds[block] if is_heading else 0, is_linked))
            for block, is_linked, is_heading in self._names.lines
            if is_linked or is_heading
        ]
        return first_in_blocks(self._blocks, openings)

    def alike(self, parts: Sequence[int]) -> Sequence[int]:
        """Return the largest group of similar parts, or nothing if every group is too small.

        Similar parts have the same tag and the same first class, and begin in the same way.
        """
        forms = {
            part: (self._blocks.kinds[part], self._openings[part])
            for part in parts
            if self._is_part(part)
        }
        counts = Counter(forms.values())
        groups: defaultdict[tuple[tuple[int, Opening], str], list[int]] = defaultdict(list)
        for part, form in forms.items():
            # Reading classes takes much longer than counting.
            if counts[form] >= _FEWEST:
                names = self._blocks.nodes[part].attributes.get("class") or ""
                first = names[:_READ].lower().split(None, 1)[:1]
                groups[form, "".join(first)].append(part)
        return max(groups.values(), key=len, default=[])

    def _is_part(self, part: int) -> bool:
        """Return whether a block may be an entry: it begins with a link, or has only a heading.

        If a heading has links below it, the part is a box next to the text.
        """
        opening = self._openings.get(part)
        return opening is not None and (opening.is_linked or not self._letters.linked[part])

    def are_links(self, parts: Sequence[int]) -> bool:
        """Return whether parts are nothing but links, which aren't headings."""
        if self._openings[parts[0]].kind:
            return False
        linked = sum([self._letters.linked[part] for part in parts])
        return linked >= _ALL_LINK * sum([self._letters.every[part] for part in parts])


class _Place(NamedTuple):
    """Where a block is, compared with the headline.

    This is the smallest block around it that also contains the headline, and whether an element
    around it has a tag or a name that puts it next to the text, such as a sidebar.
    """

    common: int
    is_beside: bool


class _Surroundings:
    """Tells whether blocks belong to the text of a page, by the elements around them."""

    def __init__(self, blocks: Blocks, headline: int) -> None:
        self._blocks = blocks
        self._has_headline = headline >= 0
        self._places = {0: _Place(0, is_beside=False)}
        self._around_article: set[int] = set()
        is_around_article = False
        for block in blocks.way_to(headline):
            self._places[block] = _Place(block, is_beside=False)
            if is_around_article:
                self._around_article.add(block)
            is_around_article = is_around_article or blocks.kinds[block] == _ARTICLE

    def is_beside(self, holder: int) -> bool:
        """Return whether a block is next to the text, by the tag or name of an element around it.

        Elements around the headline don't count.
        """
        return self._place_of(holder).is_beside

    def are_of_headline(self, holder: int) -> bool:
        """Return whether a block belongs to the headline.

        It doesn't if there is none, or if an <article> contains the headline without the block.
        """
        return self._has_headline and self._place_of(holder).common not in self._around_article

    def _place_of(self, block: int) -> _Place:
        """Find out where a block is, and remember it for this and all blocks around it."""
        names = self._blocks.names
        kinds = self._blocks.kinds
        way: list[int] = []
        while block not in self._places:
            way.append(block)
            block = self._blocks.parents[block]
        place = self._places[block]
        for inner in reversed(way):
            is_beside = place.is_beside or names[inner] in _BESIDE or kinds[inner] in _FRAME
            place = _Place(place.common, is_beside)
            self._places[inner] = place
        return place
