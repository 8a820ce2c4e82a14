"""Find the block of a page that is its article, by the weight of its prose.

Prose weighs more the more of it stands together, for teasers stand alone and paragraphs together. It weighs more in an
element that is named as an article, and beside the headline: the longest heading that the page's title repeats, or
else the only first heading.

From the body, the way leads to the block that holds most of the weight, as long as little is left behind that is told
in the same voice: paragraphs, lists, tables, code, blocks of the same kind and class that are no teasers, and any large
one that stands under the headline with it. So documentation, forums and reviews stay whole.

A template can hold more prose than the page. What stands with the headline, away from the prose, is of the article too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from crawldedup.reading.blocks import NUMBER, numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawldedup.reading.blocks import Blocks

LEAST_PROSE: Final = 250
"""Bytes of prose without which a page has no article."""

_H1: Final = NUMBER["h1"]
_PRE: Final = NUMBER["pre"]
_HEADINGS: Final = numbers(["h1", "h2", "h3"])
_PLAIN: Final = numbers(
    ["blockquote", "center", "dd", "dl", "dt", "figure", "h2", "h3", "h4", "h5", "li", "ol", "p", "table", "ul"]
)
_SINGLE: Final = numbers(["li", "p"])
_NEVER_ALONE: Final = numbers(["li", "p", "pre"])

# Share of the weight that leads the way, and share of the prose that may be left behind; with less, articles keep
# their teasers, with more, manuals lose sections.
_MOST: Final = 0.5
_MAY_BE_LEFT: Final = 0.25
# Bytes that stand together and weigh half.
_TOGETHER: Final = 1000
_BESIDE_HEADLINE: Final = 3.0
# Characters of a headline; "Home" is in many titles.
_LEAST_HEADLINE: Final = 15
# Every heading is looked for in the title.
_LONGEST_TITLE: Final = 1000
# Share of links from which on a block is one of teasers.
_TEASER: Final = 0.3
# Share of the article's prose from which on another block under the headline is large; boxes beside articles are not.
_LARGE: Final = 0.5
# Bytes beside the headline, and share of the article's lines, from which on they are more than an author and a date.
_LEAST_BESIDE: Final = 60
_LEAST_SHARE_BESIDE: Final = 0.05
# A signature tells functions apart whose descriptions are alike, so code beside prose is never left.
_CODE: Final = 10

_WORD: Final = re.compile(r"\w+")


class Standing(NamedTuple):
    """What the lines of a page are, as lists by the numbers of blocks, and as pairs of block and bytes."""

    blocks: Blocks
    prose: Sequence[int]
    """Bytes of prose in a block, noise included."""
    links: Sequence[int]
    characters: Sequence[int]
    factors: Sequence[float]
    """Weight of a block by its name."""
    prose_lines: Sequence[tuple[int, int]]
    """The lines of prose that are no noise."""
    lines: Sequence[tuple[int, int]]
    """The lines that are neither noise nor in a list of links."""


def article_block(page: Standing) -> list[bool]:
    """Return for each block whether its own lines are the article's; all of them if the page is no article."""
    parents, kinds = page.blocks.parents, page.blocks.kinds
    way = _Way(page)
    article = 0
    left = 0.0
    while inside := way.children.get(article):
        inner = max(inside, key=way.weights.__getitem__)
        if way.weights[inner] < _MOST * way.weights[0]:
            break
        left += way.own[article] + sum([way.left_behind(block, inner) for block in inside if block != inner])
        if left > _MAY_BE_LEFT * way.prose[inner]:
            break
        article = inner
    while article and kinds[article] in _NEVER_ALONE:
        article = parents[article]
    own, beside = page.blocks.inside(article), way.beside_headline(article)
    least = max(_LEAST_BESIDE, _LEAST_SHARE_BESIDE * sum([size for block, size in page.lines if own[block]]))
    if sum([size for block, size in page.lines if beside[block]]) < least:
        return own
    return [is_own or is_beside for is_own, is_beside in zip(own, beside, strict=True)]


class _Way:
    """What the way goes by, of what is no noise; by the numbers of blocks, with the blocks in them."""

    def __init__(self, page: Standing) -> None:
        self._page = page
        # A list or table with headings in it is one of other articles, or is there for the layout.
        self._has_headings = page.blocks.around(_HEADINGS)
        count, parents = len(page.blocks.nodes), page.blocks.parents
        self._headline = headline(page.blocks)
        self._around_headline = page.blocks.from_body_to(self._headline)
        factors = self._factors()
        together = self._together()
        self.own, self.prose, self._together_weights, self.weights = ([0.0] * count for _ in range(4))
        for block, size in page.lines:
            self.own[block] += size
        for block, size in page.prose_lines:
            beside = together[self._holder(block)]
            weight = size * beside / (beside + _TOGETHER)
            self.prose[block] += size
            self._together_weights[block] += weight
            self.weights[block] += weight * factors[block]
        self._sizes = self.own.copy()
        self.children: dict[int, list[int]] = {}
        for block in page.blocks.inside_out:
            if self._sizes[block]:
                parent = parents[block]
                self._sizes[parent] += self._sizes[block]
                self.prose[parent] += self.prose[block]
                self._together_weights[parent] += self._together_weights[block]
                self.weights[parent] += self.weights[block]
                self.children.setdefault(parent, []).append(block)

    def left_behind(self, block: int, inner: int) -> float:
        """Return the bytes of a block that would be missed where the way leads on to the block `inner`."""
        kinds = self._page.blocks.kinds
        if kinds[block] == _PRE:
            return _CODE * self._sizes[block]
        if kinds[block] in _PLAIN and not self._has_headings[block]:
            return self._sizes[block]
        is_teaser = self._page.links[block] >= _TEASER * self._page.characters[block]
        if is_teaser:
            return 0
        if kinds[block] != kinds[inner] or self._class_of(block) != self._class_of(inner):
            is_large = self._sizes[block] >= _LARGE * self.prose[inner]
            return self._sizes[block] if is_large and self._leaves_headline(inner) else 0
        return self._together_weights[block] / self._together_weights[inner] * self.prose[inner]

    def beside_headline(self, article: int) -> list[bool]:
        """Return which blocks stand with the headline, where that is outside of the article; the heading does not."""
        blocks, headline = self._page.blocks, self._headline
        if headline is None or article in self._around_headline:
            return [False] * len(blocks.parents)
        common = article
        while common not in self._around_headline:
            common = blocks.parents[common]
        if common == headline:
            # A heading that was never closed holds the page.
            return [False] * len(blocks.parents)
        holder = headline
        while blocks.parents[holder] != common:
            holder = blocks.parents[holder]
        beside = blocks.inside(holder)
        beside[headline] = False
        return beside

    def _leaves_headline(self, inner: int) -> bool:
        around = self._around_headline
        return inner not in around and self._page.blocks.parents[inner] in around

    def _class_of(self, block: int) -> str:
        return self._page.blocks.nodes[block].attributes.get("class") or ""

    def _holder(self, block: int) -> int:
        return self._page.blocks.parents[block] if self._page.blocks.kinds[block] in _SINGLE else block

    def _together(self) -> dict[int, int]:
        """Return the bytes of prose that stand together, by the block around their paragraphs."""
        together: dict[int, int] = {}
        for block, size in self._page.prose_lines:
            holder = self._holder(block)
            together[holder] = together.get(holder, 0) + size
        return together

    def _factors(self) -> Sequence[float]:
        blocks, factors = self._page.blocks, self._page.factors
        block = self._headline
        if block is None:
            return factors
        while block and self._page.prose[block] < LEAST_PROSE:
            block = blocks.parents[block]
        beside = blocks.inside(block)
        return [factor * _BESIDE_HEADLINE if near else factor for factor, near in zip(factors, beside, strict=True)]


def headline(blocks: Blocks) -> int | None:
    """Return the block of the headline: the longest heading that the title repeats, or else the only first heading."""
    title = _title(blocks)
    longest, found = _LEAST_HEADLINE - 1, None
    first = set()
    kinds, parents = blocks.kinds, blocks.parents
    for text, _, block in blocks.lines:
        kind = kinds[block]
        if kind not in _HEADINGS and (kind := kinds[max(parents[block], 0)]) not in _HEADINGS:
            continue
        if kind == _H1:
            first.add(block)
        if longest < len(text) and (words := _words(text)) and longest < len(words) and f" {words} " in title:
            longest, found = len(words), block
    return first.pop() if found is None and len(first) == 1 else found


def _title(blocks: Blocks) -> str:
    page = blocks.nodes[0].parent
    title = None if page is None else page.css_first("title")
    return "" if title is None else f" {_words(title.text()[:_LONGEST_TITLE])} "


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))
