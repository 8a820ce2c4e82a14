"""Find the main text of a page by its blocks.

Prose is a line that is long, or has punctuation, and is no link. What counts is where the prose stands:

1. Navigation, footers and what is named share, related, comments and the like is left out, and what is hidden. A name
   is not believed where it would cost too much of the page's prose, or its headline.
2. Prose weighs more the more of it stands together: teasers stand alone, paragraphs together. It weighs more in an
   element that is named as an article, and beside the headline, which is the heading that the page's title repeats.
3. From the body, the way leads to the block with most of the weight, until too much would be left behind that is told
   in the same voice: paragraphs, tables, code or blocks of the same kind.
4. Of that block all lines are the text, without lists of links, unless they are most of it.

A page with little prose gives all that is not left out by the first rule: so do listings and products.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from crawldedup.markup.blocks import NUMBER, numbers
from crawldedup.text.element_names import Says, says

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from crawldedup.markup.blocks import Blocks

_H1: Final = NUMBER["h1"]
_PRE: Final = NUMBER["pre"]
_TABLE: Final = NUMBER["table"]
_HEADINGS: Final = numbers(["h1", "h2", "h3"])
_HOLD_CONTENT: Final = numbers(["article", "main"])
_PROTECTED: Final = numbers(["article", "h1", "main"])
_AROUND: Final = numbers(["button", "nav", "footer", "aside", "menu", "dialog", "search", "figcaption"])
_PLAIN: Final = numbers(
    ["blockquote", "center", "dd", "dl", "dt", "figure", "h2", "h3", "h4", "h5", "li", "ol", "p", "table", "ul"]
)
_SINGLE: Final = numbers(["li", "p"])
_NEVER_ALONE: Final = numbers(["li", "p", "pre"])
_CELLS: Final = numbers(["li", "p", "td", "tr", "tbody", "dd", "dt", "h1", "h2", "h3", "h4", "h5", "h6"])

# Bytes of prose in UTF-8, since scripts with many characters need few of them; without punctuation, as in Thai, it has
# more of them.
_LONG: Final = 60
_LONG_WITHOUT_PUNCTUATION: Final = 180
_PUNCTUATION: Final = re.compile(r"[.!?,;:…。！？、，；：．،؛؟।॥។៕၊။።፡፣·]")

# Share of links that makes a line one of them, and a list a list of links; and what makes a block one of teasers.
_LINKED: Final = 0.5
_LIST_OF_LINKS: Final = 0.6
_TEASERS: Final = 0.3

# Shares of the page's prose below which a name is believed: in any case, and where nothing speaks against it.
_BELIEVED: Final = 0.1
_BELIEVED_ALONE: Final = 0.5
_HIDDEN_BELIEVED: Final = 0.8
# Bytes below which a footer is one, though it has all the prose of a page without any.
_FOOTER: Final = 500

# Bytes that stand together and weigh half.
_TOGETHER: Final = 1000
_NAMED_ARTICLE: Final = 4.0
_IN_ARTICLE: Final = 1.5
_BESIDE_HEADLINE: Final = 3.0
_LEAST_HEADLINE: Final = 15

# Share of the weight that leads the way, and share of the prose that may be left behind.
_MOST: Final = 0.5
_MAY_BE_LEFT: Final = 0.25
# A line of code says more than one of prose.
_CODE: Final = 10
# Bytes of prose, and their share of the text, without which a page is a list, a table or code.
_LEAST: Final = 250
_LEAST_SHARE: Final = 0.3
_SHARE_OF_LINKS: Final = 0.3


def main_text(blocks: Blocks) -> str:
    """Return the article, or all but navigation and the like of a page that is none."""
    if not blocks.lines:
        return ""
    page = _Page(blocks)
    kept = page.without_noise()
    prose = [number for number in kept if page.is_prose[number]]
    total = sum(page.sizes[number] for number in prose)
    everything = sum(page.sizes[n] * (_SHARE_OF_LINKS if page.is_listed[n] else 1) for n in kept)
    if total < max(_LEAST, _LEAST_SHARE * everything):
        return _joined(blocks, kept)
    block = page.article(kept, prose)
    inside = [False] * len(blocks.nodes)
    inside[block] = True
    for number in range(block + 1, len(inside)):
        inside[number] = inside[blocks.parents[number]]
    text = [number for number in kept if inside[blocks.lines[number].block]]
    without_lists = [number for number in text if not page.is_listed[number]]
    size = sum(map(page.sizes.__getitem__, text))
    listed = size - sum(map(page.sizes.__getitem__, without_lists))
    return _joined(blocks, text if listed > size / 2 else without_lists)


def _joined(blocks: Blocks, numbers_of_lines: Iterable[int]) -> str:
    return "\n".join([blocks.lines[number].text for number in numbers_of_lines])


class _Page:
    """The lines of a page by number: their sizes in bytes, and what they are; and sums over blocks."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        lines = blocks.lines
        self.sizes = [len(text) if text.isascii() else len(text.encode()) for text, _, _ in lines]
        self.is_link = [linked > _LINKED * len(text) for text, linked, _ in lines]
        self.is_prose = [
            size >= _LONG and not link and (size >= _LONG_WITHOUT_PUNCTUATION or bool(_PUNCTUATION.search(line.text)))
            for line, size, link in zip(lines, self.sizes, self.is_link, strict=True)
        ]
        self.prose = self._sums((size if prose else 0 for size, prose in zip(self.sizes, self.is_prose, strict=True)))
        self.characters = self._sums(len(line.text) for line in lines)
        self.links = self._sums(line.linked for line in lines)
        self.is_listed = self._listed() if any(self.is_link) else self.is_link

    def _sums(self, sizes: Iterable[float], of: Sequence[int] | None = None) -> list[float]:
        """Return for each block the sum over the lines that it holds."""
        lines, parents = self.blocks.lines, self.blocks.parents
        held: list[float] = [0] * len(parents)
        for number, size in zip(range(len(lines)) if of is None else of, sizes, strict=True):
            held[lines[number].block] += size
        for number in self.blocks.inside_out:
            if held[number]:
                held[parents[number]] += held[number]
        return held

    def _listed(self) -> list[bool]:
        """Return for each line whether it is a link in a list of links. A table of links is none."""
        parents, kinds = self.blocks.parents, self.blocks.kinds
        holders = list(range(len(parents)))
        for number, kind in enumerate(kinds):
            if kind in _CELLS:
                holders[number] = holders[parents[number]]
        listed = []
        for line, link in zip(self.blocks.lines, self.is_link, strict=True):
            holder = holders[line.block]
            listed.append(
                link and kinds[holder] != _TABLE and self.links[holder] > _LIST_OF_LINKS * self.characters[holder]
            )
        return listed

    def without_noise(self) -> list[int]:
        """Return the numbers of the lines outside of navigation and the like, and note what the others' names say."""
        blocks = self.blocks
        protected = blocks.around(_PROTECTED)
        is_noise: list[bool | None] = [None] * len(blocks.nodes)
        is_noise[0] = False
        self.factors = [1.0] * len(blocks.nodes)
        kept = []
        for number, line in enumerate(blocks.lines):
            unknown = []
            block = line.block
            while (noise := is_noise[block]) is None:
                unknown.append(block)
                block = blocks.parents[block]
            factor = self.factors[block]
            for block in reversed(unknown):
                if not noise:
                    kind, name = blocks.kinds[block], says(blocks.nodes[block])
                    noise = self._is_noise(block, kind, name, protected[block])
                    if name == Says.ARTICLE:
                        factor = max(factor, _NAMED_ARTICLE)
                    elif kind in _HOLD_CONTENT:
                        factor = max(factor, _IN_ARTICLE)
                is_noise[block] = noise
                self.factors[block] = factor
            if not noise:
                kept.append(number)
        return kept

    def _is_noise(self, block: int, kind: int, name: Says, is_protected: bool) -> bool:
        share = self.prose[block] / max(self.prose[0], 1)
        if name == Says.HIDDEN:
            return share <= _HIDDEN_BELIEVED
        if kind in _AROUND and not is_protected:
            return True
        if kind not in _AROUND and name not in (Says.NOISE, Says.BOTH):
            return False
        if share <= _BELIEVED:
            return True
        if is_protected or name == Says.BOTH:
            return False
        return share <= _BELIEVED_ALONE or self.prose[block] <= _FOOTER

    def article(self, kept: list[int], prose: list[int]) -> int:
        """Return the block of the article: the way there follows the weight of the prose."""
        parents, kinds = self.blocks.parents, self.blocks.kinds
        weights = self._sums(self._weights(prose), prose)
        held = self._sums([self.sizes[number] for number in prose], prose)
        unlinked = [0 if self.is_link[number] else self.sizes[number] for number in kept]
        characters = self._sums(unlinked, kept)
        own = [0] * len(parents)
        for number, size in zip(kept, unlinked, strict=True):
            own[self.blocks.lines[number].block] += size
        children: dict[int, list[int]] = {}
        for block in self.blocks.inside_out:
            if characters[block]:
                children.setdefault(parents[block], []).append(block)
        article = 0
        left = 0.0
        while inside := children.get(article):
            inner = max(inside, key=weights.__getitem__)
            if weights[inner] < _MOST * weights[0]:
                break
            left += own[article]
            for block in inside:
                if block == inner:
                    continue
                if kinds[block] == _PRE:
                    left += _CODE * characters[block]
                elif kinds[block] in _PLAIN:
                    left += characters[block]
                elif self._is_alike(block, inner):
                    left += weights[block] / weights[inner] * held[inner]
            if left > _MAY_BE_LEFT * held[inner]:
                break
            article = inner
        while article and kinds[article] in _NEVER_ALONE:
            article = parents[article]
        return article

    def _is_alike(self, one: int, other: int) -> bool:
        nodes, kinds = self.blocks.nodes, self.blocks.kinds
        return (
            kinds[one] == kinds[other]
            and self.links[one] < _TEASERS * self.characters[one]
            and (nodes[one].attributes.get("class") or "") == (nodes[other].attributes.get("class") or "")
        )

    def _weights(self, prose: list[int]) -> list[float]:
        parents, kinds, lines = self.blocks.parents, self.blocks.kinds, self.blocks.lines
        holders = [
            parents[block] if kinds[block] in _SINGLE else block for block in (lines[number].block for number in prose)
        ]
        together: dict[int, int] = {}
        for number, holder in zip(prose, holders, strict=True):
            together[holder] = together.get(holder, 0) + self.sizes[number]
        beside = self._beside_headline()
        return [
            self.sizes[number]
            * self.factors[lines[number].block]
            * beside[lines[number].block]
            * (together[holder] / (together[holder] + _TOGETHER))
            for number, holder in zip(prose, holders, strict=True)
        ]

    def _beside_headline(self) -> list[float]:
        parents = self.blocks.parents
        factors = [1.0] * len(parents)
        block = self._headline()
        if block is not None:
            while block and self.prose[block] < _LEAST:
                block = parents[block]
            factors[block] = _BESIDE_HEADLINE
            for number in range(block + 1, len(parents)):
                factors[number] = factors[parents[number]]
        return factors

    def _headline(self) -> int | None:
        """Return the block of the longest heading that the title repeats, or else of the only first heading."""
        kinds, parents = self.blocks.kinds, self.blocks.parents
        title = _title(self.blocks)
        longest, found = "", None
        first = set()
        for line in self.blocks.lines:
            heading = line.block if kinds[line.block] in _HEADINGS else max(parents[line.block], 0)
            if kinds[heading] not in _HEADINGS:
                continue
            if kinds[heading] == _H1:
                first.add(line.block)
            words = _words(line.text)
            if len(words) >= max(_LEAST_HEADLINE, len(longest) + 1) and f" {words} " in title:
                longest, found = words, line.block
        return first.pop() if found is None and len(first) == 1 else found


_WORD: Final = re.compile(r"\w+")


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))


def _title(blocks: Blocks) -> str:
    page = blocks.nodes[0].parent
    title = None if page is None else page.css_first("title")
    return "" if title is None else f" {_words(title.text())} "
