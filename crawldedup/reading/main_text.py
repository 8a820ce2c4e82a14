"""Find the main text of a page by its blocks.

Prose is a line that is long and has punctuation, or is very long, and is no link. What counts is where it stands:

1. Navigation, footers and what is named share, related, comments and the like is left out, and what is hidden. A name
   is not believed where it would cost too much of the page's prose, or its headline.
2. From the body, the way leads to the block of the article: see `crawldedup.reading.article_block`.
3. All lines of that block are the text, or of a page with little prose all that the first rule leaves; but for lists of
   links, unless they are more than the rest, as in a listing.

Of articles that `benchmarks/templates.py` moves into other templates, 95 % keep 0.8 of their shingles, 92 % in the half
that the rules were not chosen on; trafilatura's are 86 and 89 %. Of 469 pages of manuals the text has 92 % of the
visible content (84 %), and less than half on 8 (47). `benchmarks/reading.py` measures the like for kinds of pages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from crawldedup.reading.article_block import LEAST_PROSE, Standing, article_block
from crawldedup.reading.blocks import NUMBER, numbers
from crawldedup.reading.names import Says, says
from crawldedup.reading.prose import is_prose
from crawldedup.reading.tags import BOILERPLATE_TAGS

if TYPE_CHECKING:
    from crawldedup.reading.blocks import Blocks

_MAIN: Final = NUMBER["main"]
_TABLE: Final = NUMBER["table"]
_H1: Final = numbers(["h1"])
_HOLD_CONTENT: Final = numbers(["article", "main"])
_BOILERPLATE: Final = numbers(BOILERPLATE_TAGS)
_CAPTION: Final = NUMBER["figcaption"]
_CELLS: Final = numbers(["li", "p", "td", "tr", "tbody", "dd", "dt", "h1", "h2", "h3", "h4", "h5", "h6"])

# Shares of links from which on a line is one, and a list or block a list of links.
_LINK: Final = 0.5
_LIST_OF_LINKS: Final = 0.6
_SIDEBAR_LINKS: Final = 0.3

# Shares of the page's prose up to which a name is believed: whatever else there is, around an article, else, if hidden.
_BELIEVED: Final = 0.1
_BELIEVED_AROUND_ARTICLE: Final = 0.5
_BELIEVED_ELSE: Final = 0.9
_BELIEVED_IF_HIDDEN: Final = 0.8
# Share of the page's prose up to which captions are beside the text.
_CAPTIONS: Final = 0.3
# Blocks whose names are read; a page may have 100,000, each with a name of its own.
_NAMED: Final = 5_000
# Bytes up to which a footer is one, though it has all the prose of a page of tables.
_FOOTER: Final = 500

# Weight of an element that is named as an article, and of <article> or <main>, which are around more than that.
_NAMED_ARTICLE: Final = 4.0
_IN_ARTICLE: Final = 1.5

# Share of prose in the text without which a page is a list, a table or code; a list of links counts less.
_LEAST_SHARE: Final = 0.3
_LISTED: Final = 0.3


def main_text(blocks: Blocks) -> str:
    """Return the article, or all but navigation and the like of a page that is none."""
    if not blocks.lines:
        return ""
    page = _Page(blocks)
    kept = page.without_noise()
    prose = [number for number in kept if page.is_prose[number]]
    size = sum([page.sizes[number] * (_LISTED if page.is_listed[number] else 1) for number in kept])
    text = kept
    if sum([page.sizes[number] for number in prose]) >= max(LEAST_PROSE, _LEAST_SHARE * size):
        standing = Standing(
            blocks, page.prose, page.links, page.characters, page.factors,
            [(blocks.lines[number].block, page.sizes[number]) for number in prose],
            [(blocks.lines[number].block, page.sizes[number]) for number in kept if not page.is_listed[number]],
        )  # fmt: skip
        is_article = article_block(standing)
        text = [number for number in kept if is_article[blocks.lines[number].block]]
    unlisted = [number for number in text if not page.is_listed[number]]
    if sum([page.sizes[number] for number in text]) <= 2 * sum([page.sizes[number] for number in unlisted]):
        text = unlisted
    return "\n".join([blocks.lines[number].text for number in text])


class _Page:
    """What is known of the lines of a page, by their numbers, and of its blocks."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        self.sizes: list[int] = []
        """Bytes of each line."""
        self.is_prose: list[bool] = []
        is_link = []
        self.prose, self.links, self.characters = ([0] * len(blocks.nodes) for _ in range(3))
        """How much a block holds: bytes of prose, characters of links, characters."""
        for text, linked, block in blocks.lines:
            length = len(text)
            size = length if text.isascii() else len(text.encode())
            link = linked > _LINK * length
            prose = not link and is_prose(text, size)
            self.sizes.append(size)
            self.is_prose.append(prose)
            is_link.append(link)
            if prose:
                self.prose[block] += size
            self.links[block] += linked
            self.characters[block] += length
        for block in blocks.inside_out:
            if self.characters[block]:
                parent = blocks.parents[block]
                self.prose[parent] += self.prose[block]
                self.links[parent] += self.links[block]
                self.characters[parent] += self.characters[block]
        self.factors = [1.0] * len(blocks.nodes)
        self.is_listed = self._listed(is_link) if any(is_link) else is_link
        """Whether a line is a link in a list of links."""

    def _listed(self, is_link: list[bool]) -> list[bool]:
        parents = self.blocks.parents
        lists = list(range(len(parents)))
        for block, kind in enumerate(self.blocks.kinds):
            if kind in _CELLS:
                lists[block] = lists[parents[block]]
        links, characters, kinds = self.links, self.characters, self.blocks.kinds
        listed = []
        for line, link in zip(self.blocks.lines, is_link, strict=True):
            holder = lists[line.block]
            # A table of links says something in its rows, such as the names of a module.
            listed.append(link and links[holder] > _LIST_OF_LINKS * characters[holder] and kinds[holder] != _TABLE)
        return listed

    def without_noise(self) -> list[int]:
        """Return the numbers of the lines outside of navigation and the like; sets the `factors` of the others."""
        parents, factors = self.blocks.parents, self.factors
        self._is_around_h1, self._is_around_article = map(self.blocks.around, (_H1, _HOLD_CONTENT))
        captions = [block for block, kind in enumerate(self.blocks.kinds) if kind == _CAPTION]
        # Or it is a page of pictures.
        self._around = _BOILERPLATE
        if sum([self.prose[block] for block in captions]) <= _CAPTIONS * self.prose[0]:
            self._around |= {_CAPTION}
        is_noise: list[bool | None] = [None] * len(parents)
        is_noise[0] = False
        # A table beside a column of prose is the page, if it stands in <main>.
        mains = [block for block, kind in enumerate(self.blocks.kinds) if kind == _MAIN]
        if len(mains) == 1 and self._is_around_h1[mains[0]]:
            is_noise = [None if inside else True for inside in self.blocks.inside(mains[0])]
            is_noise[mains[0]] = False
        kept = []
        for number, line in enumerate(self.blocks.lines):
            block = line.block
            noise = is_noise[block]
            if noise is None:
                unknown = []
                while noise is None:
                    unknown.append(block)
                    block = parents[block]
                    noise = is_noise[block]
                for inner in reversed(unknown):
                    factors[inner] = factors[parents[inner]]
                    noise = noise or self._is_noise(inner)
                    is_noise[inner] = noise
            if not noise:
                kept.append(number)
        return kept

    def _is_noise(self, block: int) -> bool:
        kind, name = self.blocks.kinds[block], says(self.blocks.nodes[block]) if block < _NAMED else Says.NOTHING
        if name == Says.ARTICLE:
            self.factors[block] = _NAMED_ARTICLE
        elif kind in _HOLD_CONTENT:
            self.factors[block] = max(self.factors[block], _IN_ARTICLE)
        share = self.prose[block] / max(self.prose[0], 1)
        if name == Says.HIDDEN:
            return share <= _BELIEVED_IF_HIDDEN
        if kind in _BOILERPLATE and not (self._is_around_h1[block] or self._is_around_article[block]):
            return True
        if name == Says.SIDEBAR:
            # So are boxes in the text of books called, and columns that hold the article; these have few links.
            return share <= _BELIEVED and self.links[block] >= _SIDEBAR_LINKS * self.characters[block]
        if name not in (Says.NOISE, Says.BOTH) and kind not in self._around:
            return False
        if share <= _BELIEVED:
            return True
        if self._is_around_h1[block] or name == Says.BOTH:
            return False
        believed = _BELIEVED_AROUND_ARTICLE if self._is_around_article[block] else _BELIEVED_ELSE
        return share <= believed or self.prose[block] <= _FOOTER
