"""Find the main text of a page by its blocks.

The text is found in three steps:

1. Remove noise (`page_lines`).
2. Descend from the body to the block of the article. Each step goes to the inner block that has
   most of the weight of the prose, as long as little is left behind that belongs to the article:
   paragraphs, lists, tables, code, blocks of the same kind and class that aren't teasers, sections
   below headings of the same level, and any large block that is next to it under the headline.
   That way, documentation, forums and reviews stay complete. A single teaser doesn't represent the
   others, because a listing consists of all of them. Prose weighs more if there is more of it in
   one place, because teasers are isolated while paragraphs are together. It also weighs more in an
   element that is named as an article, and next to the headline, which is the longest heading that
   the page's title repeats, or else the only <h1>. Text next to the headline belongs to the article
   even if it is far from the prose, because a template can have more prose than the page.
3. Take all lines of that block or, if the page has little prose, all lines that the first step
   leaves. Lists of links are left out unless they are more than the rest, as in a listing. All
   lines are also taken if the block isn't below the headline and would leave out several times as
   much text, or if it is only read because it was too long for its name, like a long footer.
"""

from collections.abc import Sequence, Set
from typing import Final

from crawldedup.reading.before import Before
from crawldedup.reading.block_names import (
    Label,
    classes_of,
    is_called_article,
    say_what_it_is,
)
from crawldedup.reading.blocks import kind_of, kinds_of, tags
from crawldedup.reading.cards import Sizes, cards_of
from crawldedup.reading.headline import headline, is_title
from crawldedup.reading.html import HtmlPage
from crawldedup.reading.listed_below import Letters, listed_below
from crawldedup.reading.measures import PRE, SINGLE, Measures
from crawldedup.reading.members import Member, are_left, members_of
from crawldedup.reading.offered import without_offered
from crawldedup.reading.openings import Names, names_of, openings_of
from crawldedup.reading.page_lines import LINK, NAMED_ARTICLE, PageLines
from crawldedup.reading.published import is_published_article
from crawldedup.reading.repeated import without_repeated
from crawldedup.reading.written_lists import written_lists

_ARTICLE, _P = (kind_of(tag) for tag in ("article", "p"))
_HEADINGS: Final = kinds_of(["h1", "h2", "h3"])
_PLAIN: Final = kinds_of(tags("blockquote center dd dl dt figure h2 h3 h4 h5 li ol p table ul"))
_NEVER_ALONE: Final = SINGLE | {PRE}

_TEASER: Final = 0.3  # least share of links in a block of teasers
_SPOKEN: Final = frozenset([Label.COMMENTS, Label.REPLY])


# A page with fewer bytes of prose, or a lower share of prose, has no article: it is a list, a table
# or code.
_LEAST_PROSE: Final = 250
_LEAST_SHARE: Final = 0.3
_LISTED: Final = 0.3  # how much listed links count in this share
_LITTLE_PROSE: Final = 800  # up to this many bytes of prose, links in headings count fully
_MOST: Final = 0.5  # share of the weight that decides about a step of the descent
# Lists of links stay if they are more than this share of a text, because they are its topic.
_MOST_LISTED: Final = 0.5
_MOST_LISTED_BESIDE_LITTLE: Final = 0.35
# Share of the prose that may be left behind. With less, articles keep teasers; with more, manuals
# lose sections.
_MAY_BE_LEFT: Final = 0.25
# Times its size that an article may leave out, except for links.
_MOST_LEFT_OUT: Final = 3
# Share of the article's prose. A block under its headline may be this large, but a box next to it
# isn't.
_LARGE: Final = 0.5
# The weight of code, so it is never left behind: a signature tells functions with similar
# descriptions apart.
_CODE: Final = 10
_ALL_CODE: Final = 0.9  # share of code in a block that counts as code, with or without a frame
# Bytes of prose. Next to a shorter text, what introduces it isn't left out, nor are sections below
# headings of their own.
_SHORT: Final = 800
_FEWEST_SECTIONS: Final = 2
# Text next to the headline is more than an author and a date if it has at least this many bytes,
# and at least this share of the article's lines.
_LEAST_BESIDE: Final = 60
_LEAST_SHARE_BESIDE: Final = 0.05


def main_text(page: HtmlPage) -> str:
    """Return the text of the article on a page, or "" for a page without text.

    If there is no article, that is everything except navigation and the like.
    """
    blocks = page.blocks
    if not blocks.lines:
        return ""
    read = PageLines(blocks, page.content)
    kept = read.without_noise()
    is_listing = True
    cards: Set[int] = frozenset()
    headed = headline(blocks, page.title)
    text = kept = without_offered(read, kept, headed)
    if _has_article(read, kept):
        descent = _Descent(page, read, kept, headed)
        text = descent.article()
        is_listing = descent.is_listing
        cards = descent.cards
    unlisted = []
    written = written_lists(read, text)
    for line in text:
        block = blocks.lines[line][2]
        is_kept = not read.is_listed[line] or block in cards or line in written
        if is_kept or (is_listing and is_title(blocks, block)):
            unlisted.append(line)
    size = sum([read.sizes[line] for line in text])
    size_listed = size - sum([read.sizes[line] for line in unlisted])
    prose = sum([read.sizes[line] for line in text if read.is_prose[line]])
    is_about_links = is_listing and prose < _LITTLE_PROSE
    most = _MOST_LISTED_BESIDE_LITTLE if is_about_links else _MOST_LISTED
    if size_listed <= most * size:
        text = unlisted
    text = without_repeated(read, text)
    return "\n".join([blocks.lines[line][0] for line in text])


def _has_article(read: PageLines, kept: list[int]) -> bool:
    """Return whether a page has enough prose for an article."""
    blocks = read.blocks
    sizes = read.sizes
    prose = sum([sizes[line] for line in kept if read.is_prose[line]])
    if prose < _LEAST_PROSE:
        return False
    size = sum([sizes[line] * (_LISTED if read.is_listed[line] else 1) for line in kept])
    if prose < _LITTLE_PROSE:
        # If there is little prose, the titles of other pages are the topic of the page.
        titles = sum(
            [
                sizes[line]
                for line in kept
                if read.is_listed[line] and is_title(blocks, blocks.lines[line][2])
            ]
        )
        size += titles * (1 - _LISTED)
    return prose >= _LEAST_SHARE * size


class _Descent:
    """Finds the article of a page, by descending from the body to the block that contains it.

    Lines of noise are left out.
    """

    def __init__(self, page: HtmlPage, read: PageLines, kept: list[int], headline: int) -> None:
        self._page = page
        self._read = read
        self._blocks = read.blocks
        self._kept = kept
        self._headline = headline
        self._around_headline = set(read.blocks.way_to(headline))
        near = self._near_headline()
        self._measures = measures = Measures.of(read, kept, near)
        self._own = measures.own
        self._sizes = measures.sizes
        self._every = measures.every
        self._prose = measures.prose
        self._together = measures.together
        self._weights = measures.weights
        self._code = measures.code
        names = names_of(read.blocks, kept)
        self._openings = openings_of(read.blocks, names)
        self.cards = self._cards(names, near)
        self._holds_cards: set[int] = set()
        for card in self.cards:
            for holder in read.blocks.way_to(card):
                if holder in self._holds_cards:
                    break
                self._holds_cards.add(holder)
        self.is_listing = False
        self._members: list[Member] | None = None
        self._classes: dict[int, frozenset[str]] = {}

    def _near_headline(self) -> range:
        """Return the blocks that are close to the headline: those of the smallest one with prose.

        That block contains the headline, and its prose may be noise. Without a headline, it is the
        whole page.
        """
        blocks = self._blocks
        for block in blocks.way_to(self._headline):
            if self._read.prose[block] >= _LEAST_PROSE:
                return range(block, blocks.ends[block])
        return range(blocks.ends[0])

    def _cards(self, names: Names, near: range) -> Set[int]:
        """Return the blocks of cards, and of the entries of a list below a description.

        There are none on a published article, because the lists below it lead to other pages.
        """
        measures = self._measures
        before = Before(self._blocks, self._kept, self._read.is_prose)
        sizes = Sizes(measures.every, measures.prose, measures.own_prose)
        cards = cards_of(
            self._blocks,
            names,
            sizes,
            around=range(self._headline + 1, near.stop),
            has_headline=self._headline >= 0,
            before=before,
        )
        letters = Letters(self._read.characters, self._read.links)
        cards |= listed_below(self._blocks, names, sizes, letters, before, headline=self._headline)
        # Lists below a published article lead to others. Few pages get this far.
        return frozenset() if cards and is_published_article(self._page) else cards

    def article(self) -> list[int]:
        """Return the numbers of the lines of the article.

        If it's doubtful whether it is the article, all lines that aren't noise are returned.
        """
        blocks = self._blocks
        weights = self._weights
        article = 0
        left = 0.0
        while inside := [block for block in blocks.children(article) if self._every[block]]:
            inner = max(reversed(inside), key=weights.__getitem__)
            if weights[inner] < _MOST * weights[0] or self._is_code(inner):
                break
            left += self._own[article] + sum(
                [
                    self._left(block, inner)
                    for block in inside
                    if block != inner and not self._is_note(block, inner)
                ]
            )
            left += self._left_below_headings(inside, inner)
            if left > _MAY_BE_LEFT * self._prose[inner] or self._leaves_members(article, inner):
                break
            article = inner
        while article and blocks.kinds[article] in _NEVER_ALONE:
            article = blocks.parents[article]
        span = range(article, blocks.ends[article])
        beside = self._beside_headline(article)
        lead = self._lead(article)
        lines = []
        left_out = size = 0
        for line in self._kept:
            content, linked, block = blocks.lines[line]
            is_beside = block in beside and block != self._headline
            if block in span or is_beside or (block in lead and self._read.is_prose[line]):
                lines.append(line)
                size += self._read.sizes[line]
            elif linked <= LINK * len(content):
                left_out += self._read.sizes[line]
        is_doubtful = left_out > _MOST_LEFT_OUT * size or self._is_called_noise(article)
        return self._kept if is_doubtful and not self._is_headed(article) else lines

    def _is_headed(self, article: int) -> bool:
        """Return whether the headline is in the article, or directly in a block around it."""
        if self._headline < 0:
            return False
        blocks = self._blocks
        is_inside = article <= self._headline < blocks.ends[article]
        return is_inside or blocks.parents[self._headline] in blocks.way_to(article)

    def _is_called_noise(self, article: int) -> bool:
        """Return whether a block is named as noise, but was read because it is so long.

        Such a block may be a long footer or cookie banner, so it doesn't represent the page.
        """
        blocks = self._blocks
        return any(
            blocks.nodes[block].mem_id in blocks.content
            and blocks.names[block] not in _SPOKEN
            and not is_called_article(blocks.nodes[block])
            for block in blocks.way_to(article)
        )

    def _leaves_members(self, article: int, inner: int) -> bool:
        """Return whether a step to `inner` would lose members that have more prose than it has."""
        stays = self._prose[inner]
        if self._prose[article] - stays <= stays:
            return False
        if self._members is None:
            read = self._read
            self._members = members_of(self._blocks, self._kept, read.sizes, read.is_prose)
        span, inside = (range(block, self._blocks.ends[block]) for block in (article, inner))
        return are_left(self._members, span, inside, stays)

    def _left(self, block: int, inner: int) -> float:
        """Return how many bytes of `block`, next to `inner`, would be lost by a step to `inner`.

        Also notes in `is_listing` whether the block is one of several entries.
        """
        read = self._read
        kinds = self._blocks.kinds
        size = self._sizes[block]
        if self._code[block]:
            return _CODE * self._code[block]
        if block in self._holds_cards:
            self.is_listing = True
            return self._prose[inner]
        has_links = read.links[block] >= _TEASER * read.characters[block]
        if has_links and self._is_listed_above(block, inner):
            self.is_listing = True
            return self._every[block]
        # A list or table with headings lists other articles, or is only there for the layout.
        if kinds[block] in _PLAIN and _HEADINGS.isdisjoint(
            kinds[block + 1 : self._blocks.ends[block]]
        ):
            return size
        if self._are_teasers(block, inner):
            self.is_listing = True
            return self._prose[inner]
        if has_links:
            is_most = self._every[block] >= self._prose[inner]
            return size if is_most and self._prose[0] < _LITTLE_PROSE else 0
        if self._are_sections(block, inner):
            return size
        if kinds[block] == kinds[inner] and self._are_alike(block, inner):
            if self._have_one_name(block, inner):
                return self._prose[block]
            return self._together[block] / self._together[inner] * self._prose[inner]
        leaves_headline = (
            inner not in self._around_headline
            and self._blocks.parents[inner] in self._around_headline
        )
        return size if leaves_headline and size >= _LARGE * self._prose[inner] else 0

    def _left_below_headings(self, inside: Sequence[int], inner: int) -> int:
        """Return how many bytes in sections next to a short text a step would lose.

        Shops describe a product in a paragraph, and put its features, materials and measures into
        sections that open with a click. They count if they have more text than that paragraph.
        """
        read = self._read
        prose = self._prose[inner]
        if not self._is_short(inner):
            return 0
        # Tickers and the like come before the headline.
        sections = [
            block
            for block in inside
            if block != inner
            and block > self._headline
            and block in self._openings
            and not self._openings[block].is_linked
            and read.links[block] < _TEASER * read.characters[block]
        ]
        # A single one is a box, such as one about the author.
        if len(sections) < _FEWEST_SECTIONS:
            return 0
        size = sum([self._sizes[block] for block in sections])
        return size if size > prose else 0

    def _is_short(self, article: int) -> bool:
        """Return whether an article is so short that text around it may belong to it.

        A long article is found without that, even in the template of another site, and so is one
        that is named as such.
        """
        is_named = self._read.factors[article] >= NAMED_ARTICLE
        return not is_named and self._prose[article] <= _SHORT

    def _is_code(self, block: int) -> bool:
        """Return whether a block is all code, which can't stand for the article around it."""
        return self._code[block] >= _ALL_CODE * self._every[block]

    def _is_note(self, block: int, inner: int) -> bool:
        """Return whether a paragraph is only a note next to an <article> that has the headline.

        Such a paragraph is the license of a manual, for example. With more text outside of the
        <article>, the template has put the headline and the first paragraphs into it.
        """
        blocks = self._blocks
        if blocks.kinds[block] != _P or blocks.kinds[inner] != _ARTICLE:
            return False
        outside = self._sizes[blocks.parents[inner]] - self._sizes[inner]
        return inner in self._around_headline and outside < _LARGE * self._prose[inner]

    def _is_listed_above(self, block: int, inner: int) -> bool:
        """Return whether a block of links is the content, although there is some prose below it.

        This is so in a shop that describes a category below its products.
        """
        return (
            self._headline < block < inner
            and self._blocks.parents[block] in self._around_headline
            and self._prose[0] < _LITTLE_PROSE
            and self._every[block] >= _LARGE * self._prose[inner]
        )

    def _are_teasers(self, block: int, inner: int) -> bool:
        """Return whether two blocks are teasers of other pages. The heading of each is a link."""
        if not self._open_alike(block, inner) or not self._openings[inner].is_linked:
            return False
        first = self._classes_of(block)
        second = self._classes_of(inner)
        return first == second or not first.isdisjoint(second)

    def _are_sections(self, block: int, inner: int) -> bool:
        """Return whether two blocks are sections of one page. Each has its own heading."""
        return self._open_alike(block, inner) and not self._openings[inner].is_linked

    def _open_alike(self, block: int, inner: int) -> bool:
        """Return whether two elements begin alike: they have the same tag and level of heading.

        Both headings must be links, or neither. The page's headline doesn't count as a heading.
        """
        return (
            block in self._openings
            and self._openings[block] == self._openings.get(inner)
            and self._blocks.kinds[block] == self._blocks.kinds[inner]
            and inner not in self._around_headline
        )

    def _are_alike(self, block: int, other: int) -> bool:
        """Return whether two blocks are of the same kind, by their classes.

        Parts of one article may be numbered, or the first one may have an additional class.
        Elements that are named as articles may be different articles.
        """
        first = self._classes_of(block)
        second = self._classes_of(other)
        if self._blocks.kinds[block] == _ARTICLE:
            return first == second
        return first == second or say_what_it_is(first & second)

    def _have_one_name(self, block: int, other: int) -> bool:
        """Return whether two blocks have the same classes, and one of these says what they are.

        This is so for the posts of a thread, even if the first one is long and the answers are not.
        """
        first = self._classes_of(block)
        return first == self._classes_of(other) and say_what_it_is(first)

    def _classes_of(self, block: int) -> frozenset[str]:
        if block not in self._classes:
            self._classes[block] = classes_of(self._blocks.nodes[block])
        return self._classes[block]

    def _lead(self, article: int) -> set[int]:
        """Return the blocks that introduce a short article between the headline and its text.

        A long article has none. Blocks whose heading is a link are teasers of something else.
        """
        blocks = self._blocks
        headline = self._headline
        lead: set[int] = set()
        if headline < 0 or not self._is_short(article):
            return lead
        block = blocks.ends[headline]
        while block < article:
            end = blocks.ends[block]
            if end > article:
                block += 1
                continue
            opening = self._openings.get(block)
            if opening is None or not opening.is_linked:
                lead.update(range(block, end))
            block = end
        return lead

    def _beside_headline(self, article: int) -> range:
        """Return the blocks next to the headline and outside of `article` if they have any content.

        An author and a date don't count as content.
        """
        blocks = self._blocks
        headline = self._headline
        sizes = self._sizes
        common = next(
            (block for block in blocks.way_to(article) if block in self._around_headline), -1
        )
        # A heading that was never closed contains the page.
        if common == headline:
            return range(0)
        holder = next(block for block in blocks.way_to(headline) if blocks.parents[block] == common)
        least = max(_LEAST_BESIDE, _LEAST_SHARE_BESIDE * sizes[article])
        return (
            range(holder, blocks.ends[holder])
            if sizes[holder] - self._own[headline] >= least
            else range(0)
        )
