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


def listed_below(
    blocks: Blocks, kept: Sequence[int], sizes: Sizes, before: Before, *, headline: int
) -> frozenset[int]:
    """Return the blocks of parts that are listed below the headline, with all that is in them.

    Args:
        blocks: The blocks of the page.
        kept: The lines of it that are no noise.
        sizes: The bytes of these lines in each block.
        before: What stands before each part.
        headline: The block of the page's headline; -1 for none.
    """
    parts = _Parts(blocks, kept, headline)
    least = max(_FEWEST * _LEAST_SIZE, _LEAST_SHARE * sizes.prose[0])
    listed: set[int] = set()
    end = 0
    for holder in range(len(blocks.ends)):
        is_small = parts.names[holder] < _FEWEST or sizes.every[holder] < least
        if holder < end or is_small or not parts.may_belong(holder):
            continue
        alike = parts.alike(holder)
        size = sum([sizes.every[part] for part in alike])
        if len(alike) < _FEWEST or size < max(least, _LEAST_SIZE * len(alike)):
            continue
        rest = sizes.prose[0] - sum([sizes.prose[part] for part in alike])
        is_most = size >= _SEVERAL_TIMES * rest
        if not is_most and not parts.are_of_headline(holder):
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

    def __init__(self, blocks: Blocks, kept: Sequence[int], headline: int) -> None:
        self._blocks, self._headline = blocks, headline
        names, links, letters = ([0] * len(blocks.ends) for _ in range(3))
        self._openings: dict[int, _Opening] = {}
        for line in kept:
            text, linked, block = blocks.lines[line]
            links[block] += linked
            letters[block] += len(text)
            is_linked = linked > _LINK * len(text)
            if is_linked or is_title(blocks, block):
                names[block] += 1
                opening = _Opening(blocks.kinds[block] if is_title(blocks, block) else 0, is_linked)
                while block >= 0 and block not in self._openings:
                    self._openings[block] = opening
                    block = blocks.parents[block]
        self.names = totals(names, blocks.ends)
        self._links = totals(links, blocks.ends)
        self._all = totals(letters, blocks.ends)
        self._find_surroundings()

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
        return self._openings[part].is_linked or not self._links[part]

    def are_links(self, parts: Sequence[int]) -> bool:
        """Return whether parts are links without headings, and nothing else."""
        if self._openings[parts[0]].heading:
            return False
        links, letters = (sum([sums[part] for part in parts]) for sums in (self._links, self._all))
        return links >= _ALL_LINK * letters

    def may_belong(self, holder: int) -> bool:
        """Return whether parts in a block may stand below the headline, and neither a tag nor a
        name of what is around them says that they stand beside the text.
        """
        is_below = holder > self._headline or self._common[holder] == holder
        return is_below and not self._is_beside[holder]

    def are_of_headline(self, holder: int) -> bool:
        """Return whether there is a headline, and no article that holds it without the parts."""
        return self._headline >= 0 and self._common[holder] not in self._around_article

    def _find_surroundings(self) -> None:
        """Find the smallest block around each block that holds the headline as well, which blocks
        hold an article around the headline, and which stand in something beside the text.
        """
        blocks = self._blocks
        around = set(blocks.way_to(self._headline)) | {0}
        self._around_article: set[int] = set()
        is_around_article = False
        for block in blocks.way_to(self._headline):
            if is_around_article:
                self._around_article.add(block)
            is_around_article = is_around_article or blocks.kinds[block] == _ARTICLE
        self._common: list[int] = []
        self._is_beside: list[bool] = []
        for block, parent in enumerate(blocks.parents):
            is_around = block in around
            self._common.append(block if is_around else self._common[parent])
            self._is_beside.append(
                not is_around
                and (
                    self._is_beside[parent]
                    or blocks.names[block] in _BESIDE
                    or blocks.kinds[block] in _FRAME
                )
            )
