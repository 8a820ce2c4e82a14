"""Read the comments that visitors wrote below the main text of a page.

An article stays the same article if somebody comments on it. So comments are content only if they
make up most of a page, as in a discussion. On other pages, they are kept separate from the main
text. They show whether a page has changed since an earlier visit, and tell the pages of a long
discussion apart.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from crawldedup.reading.block_names import Label, is_number_of_reply
from crawldedup.reading.blocks import BOILERPLATE, Blocks, TextLine, blocks_in, kind_of
from crawldedup.reading.html import HtmlPage, tidy
from crawldedup.reading.mark_words import (
    about_words_of,
    tells_when,
    without_digits,
    without_visits,
    words_of,
)

_FORM: Final = kind_of("form")
_AROUND: Final = BOILERPLATE | {_FORM}
_HEADINGS: Final = "h1 a[href], h2 a[href], h3 a[href], h4 a[href]"
# "post-12" is a reply like "post-13".
_NUMBER: Final = re.compile(r"\d+$")
_MAY_BE_ARTICLE: Final = re.compile(r"(?:^|[_-])(?:p|posts?|msg|message)[_-]?$", re.IGNORECASE)

# Limits, because a page may have 100,000 of each.
_MOST_LINES: Final = 5_000
_ONLY_NUMBERS: Final = re.compile(r"[\d\s!-/:-@[-`{-~]+")
_MOST_REMEMBERED: Final = 400
_LONGEST_NAME: Final = 150
_LONGEST: Final = 2_000
"""The number of letters by which a line is compared with others."""

_LINKED_SHARE: Final = 0.5
_FEW_WORDS: Final = 8
"""The maximum number of words in a line that says when somebody wrote, rather than what.

Such a line has a date or a count.
"""

_LEAST_OF_REMARK: Final = 6
"""The minimum number of words in a remark. Shorter lines, such as thanks, recur everywhere."""


@dataclass(frozen=True, slots=True)
class PageComments:
    """The comments of visitors below the main text of a page.

    They aren't part of the main text.

    Attributes:
        lines: The lines without dates, counts and links, part by part of the page.
        are_content: Whether comments make up most of the page.
    """

    lines: tuple[str, ...] = ()
    are_content: bool = False

    @property
    def remembered(self) -> tuple[str, ...]:
        """The words of the lines, by which a later visit notices that the comments have changed.

        Dates, counts and the order of the lines don't matter.
        """
        names = {_name_of(line) for line in self.lines}
        return tuple(sorted(names - {""}))

    @property
    def remarks(self) -> tuple[str, ...]:
        """The words of the longer lines, which two people are unlikely to write."""
        names = dict.fromkeys(map(_name_of, self.lines))
        remarks = [name for name in names if name.count(" ") + 1 >= _LEAST_OF_REMARK]
        return tuple(remarks[:_MOST_REMEMBERED])


NO_COMMENTS: Final = PageComments()


def comments_beside(page: HtmlPage, main: str) -> PageComments:
    """Find the comments on a page, and decide whether they make up most of it.

    The result has no lines if there are no comments, or if the main text contains all of them.

    Args:
        page: The page.
        main: Its main text, which may contain some of them.

    Raises:
        PageError: They are too long.
    """
    lines = list(_lines(page))
    if not lines:
        return NO_COMMENTS
    # The main text was tidied as well.
    comments = [line for line in tidy("\n".join(lines)).split("\n") if line]
    of_comments = set(comments)
    of_main = main.split("\n")
    rest = sum([len(line) for line in of_main if line not in of_comments])
    letters = sum([len(line) for line in comments])
    known = set(of_main)
    return PageComments(
        lines=tuple([line for line in comments if line not in known]),
        are_content=letters > rest,
    )


def _lines(page: HtmlPage) -> Iterator[str]:
    """Yield the lines of comments that are more than a link, a date or a count."""
    blocks = page.blocks
    seen = 0
    for lines in _parts(blocks):
        for text, linked, _ in lines:
            seen += 1
            if seen > _MOST_LINES:
                return
            if linked <= _LINKED_SHARE * len(text) and _says_something(text):
                yield text


def _parts(blocks: Blocks) -> Iterator[Sequence[TextLine]]:
    """Yield the parts of a page that contain comments, as lines."""
    spans = [*_spans(blocks), *_replies(blocks)]
    if spans:
        yield _written(blocks, spans)
    for each in blocks.left_out:
        if not each.is_read and each.has_comments:
            part = blocks_in(blocks, each.node)
            yield _written(part, [range(len(part.ends))])


def _spans(blocks: Blocks) -> Iterator[range]:
    """Yield the blocks of comments with all blocks inside, leaving out nested ones."""
    if Label.COMMENTS not in blocks.names:
        return
    end = 0
    for block, name in enumerate(blocks.names):
        if name == Label.COMMENTS and block >= end:
            end = blocks.ends[block]
            yield range(block, end)


def _replies(blocks: Blocks) -> Iterator[range]:
    """Yield the posts of a discussion, recognized by numbers or names, with all blocks inside.

    The only post of a page is its article, and one with a heading that leads to another page is the
    teaser of that.
    """
    if Label.REPLY not in blocks.names:
        return
    posts = [block for block, name in enumerate(blocks.names) if name == Label.REPLY]
    kinds = [_kind_of_reply(blocks, block) for block in posts]
    counts = Counter(kinds)
    end = 0
    for block, kind in zip(posts, kinds, strict=True):
        # Nested ones are part of the outermost one, so no part is searched twice.
        if block < end or (counts[kind] == 1 and kind.may_be_article):
            continue
        end = blocks.ends[block]
        if not _is_teaser(blocks, block):
            yield range(block, end)


class _KindOfReply(NamedTuple):
    name: str
    may_be_article: bool


def _kind_of_reply(blocks: Blocks, block: int) -> _KindOfReply:
    """Return what identifies the posts of a discussion: an id without its number, or a class."""
    attributes = blocks.nodes[block].attributes
    identity = (attributes.get("id") or "")[:_LONGEST_NAME]
    if is_number_of_reply(identity):
        name = _NUMBER.sub("", identity)
        return _KindOfReply(name, _MAY_BE_ARTICLE.search(name) is not None)
    # A magazine may call its article a review.
    return _KindOfReply((attributes.get("class") or "")[:_LONGEST_NAME], may_be_article=True)


def _is_teaser(blocks: Blocks, block: int) -> bool:
    link = blocks.nodes[block].css_first(_HEADINGS)
    return link is not None and "#" not in (link.attributes.get("href") or "")


def _written(blocks: Blocks, spans: Sequence[range]) -> Sequence[TextLine]:
    """Return the lines that visitors wrote, leaving out the details around comments and forms.

    Some sites put each comment into a separate form, for its author.
    """
    held: set[int] = set()
    for span in spans:
        held.update(span)
    end = 0
    for block in sorted(held):
        # The element around all comments may be an <aside>.
        if not block or block < end or blocks.kinds[block] not in _AROUND:
            continue
        end = blocks.ends[block]
        is_form = blocks.kinds[block] == _FORM
        if not is_form or blocks.nodes[block].css_first("textarea") is not None:
            held.difference_update(range(block, end))
    return [line for line in blocks.lines if line[2] in held]


def _says_something(line: str) -> bool:
    """Return whether a line is more than a number or the date of a comment."""
    if not _is_short(line):
        return True
    return not (tells_when(line) or _ONLY_NUMBERS.fullmatch(line))


def _is_short(line: str) -> bool:
    return about_words_of(line) <= _FEW_WORDS


def _name_of(line: str) -> str:
    """Return the words of a line without the numbers that change from visit to visit.

    A short line loses all of its numbers.
    """
    line = line[:_LONGEST]
    return words_of(without_digits(line) if _is_short(line) else without_visits(line))
