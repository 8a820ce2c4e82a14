"""Find what a listing lists below a long description, however few or many parts it has.

Categories, tags and collections open with some paragraphs, which are the same on each page of them,
and in each shop that sells for one maker. The parts below these belong to the headline, as no
heading of their own stands above them. What stands below an article, such as articles on the same
matter, is told from that by such a heading, or by the <article> around the headline and its text.
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
_FEWEST: Final = 4  # parts
_ALL_LINK: Final = 0.9  # share of links in parts that are nothing else, as in a menu
_LEAST_SIZE: Final = 20  # bytes of a part; those of a menu and tags have fewer
_LEAST_SHARE: Final = 0.05  # of the page's prose
# Times the rest of the prose: then neither an article nor a missing headline says otherwise.
_SEVERAL_TIMES: Final = 2
_LINK: Final = 0.5  # share of a line from which on it is a link
_READ: Final = 300  # characters of a class

_BESIDE: Final = frozenset([Label.NOISE, Label.SIDEBAR, Label.BOTH, Label.COMMENTS, Label.HIDDEN])


class Letters(NamedTuple):
    """The letters in each block of a page."""

    every: Sequence[int]  #: Of all lines in it, and in the blocks within it.
    linked: Sequence[int]  #: Of the links among them.


def listed_below(
    blocks: Blocks,
    kept: Sequence[int],
    sizes: Sizes,
    letters: Letters,
    before: Before,
    *,
    headline: int,
) -> frozenset[int]:
    """Return the blocks of parts that are listed below the headline, with all that is in them.

    Args:
        blocks: The blocks of the page.
        kept: The lines of it that are no noise.
        sizes: The bytes of these lines in each block.
        letters: The letters in each block.
        before: What stands before each part.
        headline: The block of the page's headline; -1 for none.
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
    """What a part opens with: the kind of its heading, 0 for a link alone, and whether it links."""

    heading: int
    is_linked: bool


class _Parts:
    """The parts that may be listed below a headline.

    `names` are the lines in each block that name a page or a thing, by a link or a heading.
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
        """Return the largest group of parts in a block that stand below the headline and have one
        tag and first class.
        """
        groups: defaultdict[tuple[int, str, _Opening], list[int]] = defaultdict(list)
        for part in self._blocks.children(holder):
            if part > self._headline and self.names[part] and self._is_part(part):
                names = self._blocks.nodes[part].attributes.get("class") or ""
                first = names[:_READ].lower().split(None, 1)[:1]
                groups[self._blocks.kinds[part], "".join(first), self._openings[part]].append(part)
        return max(groups.values(), key=len, default=[])

    def _is_part(self, part: int) -> bool:
        """Return whether a part opens with a link, or has a heading and no link at all.

        A box beside the text opens with a heading above its links.
        """
        return self._openings[part].is_linked or not self._letters.linked[part]

    def are_links(self, parts: Sequence[int]) -> bool:
        """Return whether parts are links without headings, and nothing else."""
        if self._openings[parts[0]].heading:
            return False
        linked = sum([self._letters.linked[part] for part in parts])
        return linked >= _ALL_LINK * sum([self._letters.every[part] for part in parts])


class _Surroundings:
    """What is around the blocks of a page.

    `is_beside` says of each block whether a tag or a name around it says that it stands beside the
    text, away from the headline.
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
        # The smallest block around each block that holds the headline as well.
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
        """Return whether there is a headline, and no article that holds it without this block."""
        return self._has_headline and self._common[holder] not in self._around_article
