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
from crawldedup.reading.headline import is_title

_ARTICLE: Final = kind_of("article")
_FRAME: Final = kinds_of(["aside", "footer", "header", "nav"])
_FEWEST: Final = 4  # parts
_ALL_LINK: Final = 0.9  # share of links in parts that are nothing else, as in a menu
_LEAST_SIZE: Final = 20  # bytes of a part; those of a menu and tags have fewer
_LEAST_SHARE: Final = 0.05  # of the page's prose
_LINK: Final = 0.5  # share of a line from which on it is a link
_READ: Final = 300  # characters of a class

_BESIDE: Final = frozenset([Label.NOISE, Label.SIDEBAR, Label.BOTH, Label.COMMENTS, Label.HIDDEN])


def listed_below(
    blocks: Blocks,
    kept: Sequence[int],
    every: Sequence[int],
    before: Before,
    *,
    headline: int,
    prose: int,
) -> frozenset[int]:
    """Return the blocks of parts that are listed below the headline, with all that is in them.

    Args:
        blocks: The blocks of the page.
        kept: The lines of it that are no noise.
        every: The bytes of these lines in each block.
        before: What stands before each part.
        headline: The block of the page's headline; -1 for none.
        prose: The bytes of the page's prose.
    """
    if headline < 0:
        return frozenset()
    parts = _Parts(blocks, kept, headline)
    least = max(_FEWEST * _LEAST_SIZE, _LEAST_SHARE * prose)
    listed: set[int] = set()
    around = set(blocks.way_to(headline))
    end = 0
    for holder in range(len(blocks.ends)):
        is_below = holder > headline or holder in around
        if holder < end or not is_below or parts.names[holder] < _FEWEST or every[holder] < least:
            continue
        alike = parts.alike(holder)
        size = sum([every[part] for part in alike])
        if len(alike) < _FEWEST or size < max(least, _LEAST_SIZE * len(alike)):
            continue
        if parts.are_links(alike):
            continue
        if before.is_headed(alike[0], headline):
            continue
        if parts.belong_to_headline(alike[0]):
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

    def belong_to_headline(self, part: int) -> bool:
        """Return whether neither an article around the headline, nor a name of what is around the
        part, says that it stands beside the text.
        """
        blocks = self._blocks
        way = list(blocks.way_to(part))
        around = set(way)
        for block in blocks.way_to(self._headline):
            if block in around:
                return not any(
                    blocks.names[above] in _BESIDE or blocks.kinds[above] in _FRAME
                    for above in way
                    if above > block
                )
            if blocks.kinds[block] == _ARTICLE:
                return False
        return False
