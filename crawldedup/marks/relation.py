"""The rule that decides whether two similar pages are siblings or copies.

Similarity alone doesn't decide. A page may only be dropped if its content is already there, so the
rule compares marks. A mark that only one page has isn't evidence: a print view without the picture
is still a copy.
"""

import math
from collections.abc import Collection, Iterator
from enum import IntEnum
from functools import lru_cache
from typing import Final, Self

from crawldedup.marks.values import (
    ALIAS,
    FIRST_HEADING,
    FIRST_PART,
    HAS_NUMBER,
    HEADLINE,
    IS_SINGLE_WORD,
    MOST_COMMENTS,
    SKETCH_BITS,
    SOCIAL_TITLE,
    TITLE_PART,
    AddressMarks,
    ContentMarks,
    Marks,
    Name,
)


class Conflict(IntEnum):
    """The kind of mark that shows that two pages are siblings; NONE if nothing does."""

    NONE = 0
    NUMBERS = 1  #: Other numbers in the text, with the option `distinguish="numbers"`.
    NAME = 2  #: Another name.
    PICTURE = 3  #: Another lead picture.
    PLAYER = 4  #: Another video, frame or place on a map.
    DATA = 5  #: A declared value, a chosen option or a hidden field differs.
    LISTING = 6  #: Listings that lead to different pages, or a listing and another page.
    TEXT = 7  #: Another text at an address of the same form.
    LINKS = 8  #: Other links at an address of the same form.
    REST = 9  #: Another text outside the same main text, at an address of the same form.


# Links that only one of the pages has. Fewer are a sign of a box that changes.
_FEW_LINKS: Final = 3
_LEAST_LISTED: Final = 2  # pages that a listing leads to
_SHARED_LINKS: Final = 0.8
_OTHER_SHARE: Final = 0.1  # the share of a listing's links that may change
_FEW_COMMENTS: Final = 3  # fewer may come from a different day
_SHARED_COMMENTS: Final = 0.25  # forms and rules are below all comments
_MANY_COMMENTS: Final = MOST_COMMENTS  # next to a page with few of them


def conflict(first: Marks, second: Marks) -> Conflict:
    """Return what tells two similar pages apart, or `Conflict.NONE` for copies.

    The order of the pages doesn't matter.
    """
    content = first.content
    other = second.content
    if _differ(content.numbers, other.numbers):
        return Conflict.NUMBERS
    address = first.address
    its = second.address
    if address is None or its is None or address.site != its.site:
        return Conflict.NONE
    if address.path == its.path and address.parameters == its.parameters:
        return _conflict_of_views(content, other, is_visit=address.views == its.views)
    if found := shown_conflict(content, other):
        return found
    return _conflict_without_marks(first, second)


def _conflict_without_marks(first: Marks, second: Marks) -> Conflict:
    """Return the conflict of comments, texts or links between two pages of one site, or NONE.

    Comments count as texts. None of the other marks of the pages conflict.
    """
    content = first.content
    other = second.content
    address = first.address
    its = second.address
    if address is None or its is None:
        return Conflict.NONE
    are_of_one_form = is_of_one_form(address, its)
    # Even if the site calls them one page, because the comments on the second one are nowhere else.
    if are_of_one_form and have_other_comments(content, other):
        return Conflict.TEXT
    if address.path == its.path and have_many_other_comments(content, other):
        return Conflict.TEXT
    if address.canonical == its.canonical != 0:
        return Conflict.NONE
    if quotes_the_other(content, other):
        return Conflict.LISTING
    # Where a listing leads is its content.
    if not are_of_one_form or (content.is_listing and other.is_listing):
        return Conflict.NONE
    if _differ(content.text, other.text):
        return Conflict.TEXT
    if have_other_links(content, other):
        return Conflict.LINKS
    return Conflict.REST if _differ(content.rest, other.rest) else Conflict.NONE


def are_certain_views(first: Marks, second: Marks, proved: Collection[int] = ()) -> bool:
    """Return whether two pages are views of one page, even if only half of their text is alike.

    They have the same address except for views that the site has proved, and the same name, and
    nothing tells them apart. Instead of the name, everything else on the pages can be the same,
    because a headline under test can be more than a tenth of the words on a short page.

    Args:
        first: The marks of one page.
        second: The marks of the other page.
        proved: The hashes of views that are proved by now. They may not have been proved when the
            pages were remembered.
    """
    address = first.address
    its = second.address
    if address is None or its is None or address.site != its.site:
        return False
    if address.path != its.path or address.parameters != its.parameters:
        return False
    if not all(page.is_certain or page.views in proved for page in (address, its)):
        return False
    has_evidence = have_same_name(first.content.names, second.content.names) or _say_the_same(
        first.content, second.content
    )
    return has_evidence and conflict(first, second) is Conflict.NONE


def _say_the_same(first: ContentMarks, second: ContentMarks) -> bool:
    """Return whether two pages have the same text and links, regardless of their names.

    The text of a listing is in its links, and their sketch is only an estimate.
    """
    if first.is_listing or second.is_listing or first.text is None:
        return False
    is_same_text = first.text == second.text
    return is_same_text and first.links == second.links and first.sketch == second.sketch


def _conflict_of_views(first: ContentMarks, second: ContentMarks, *, is_visit: bool) -> Conflict:
    """Return which marks conflict on two pages whose addresses only differ in a view.

    If the addresses are the same, or differ only in a campaign (`is_visit`), no marks count. A
    session or the like may name content, so names and players decide. Pictures and data don't: if
    name and address are the same, they either change with every load or belong to the mobile page.
    """
    if is_visit:
        return Conflict.NONE
    found = shown_conflict(first, second)
    if found in (Conflict.PICTURE, Conflict.DATA):
        return Conflict.PLAYER if have_other_players(first, second) else Conflict.NONE
    return found


def shown_conflict(first: ContentMarks, second: ContentMarks) -> Conflict:
    """Return the first kind of marks that conflicts in the content of two pages, or NONE.

    Their addresses don't matter.
    """
    return next(shown_conflicts(first, second), Conflict.NONE)


def shown_conflicts(first: ContentMarks, second: ContentMarks) -> Iterator[Conflict]:
    """Yield every kind of marks that conflicts in the content of two pages."""
    if first.is_listing and second.is_listing:
        if are_other_listings(first, second):
            yield Conflict.LISTING
        elif _differ(first.text, second.text) and have_other_names(first.names, second.names):
            # The links may be those of a sidebar beside a short text.
            yield Conflict.NAME
    elif have_other_names(first.names, second.names):
        yield Conflict.NAME
    if have_other_leads(first, second):
        yield Conflict.PICTURE
    if have_other_players(first, second):
        yield Conflict.PLAYER
    values = dict(first.data)
    if any(values.get(name, value) != value for name, value in second.data):
        yield Conflict.DATA


def have_other_leads(first: ContentMarks, second: ContentMarks) -> bool:
    """Return whether neither page shows the lead picture of the other."""
    if not first.has_lead or not second.has_lead:
        return False
    return first.pictures[0] not in second.pictures and second.pictures[0] not in first.pictures


def have_other_players(first: ContentMarks, second: ContentMarks) -> bool:
    """Return whether both pages show players or places, but have none in common."""
    if not first.players or not second.players:
        return False
    return set(first.players).isdisjoint(second.players)


def is_of_one_form(first: AddressMarks, second: AddressMarks) -> bool:
    """Return whether two different addresses have the same form.

    Either they only differ in their parameters, or they have the same folder and the same names of
    parameters.
    """
    if first.path == second.path:
        return first.parameters != second.parameters
    return first.folder == second.folder and first.names == second.names


def have_other_links(first: ContentMarks, second: ContentMarks) -> bool:
    """Return whether each page has some links that the other lacks, by their sketches.

    A listing only has those of its links that lead to the listed pages.
    """
    if not first.links or not second.links or first.is_listing or second.is_listing:
        return False
    differing = _members_of(first.sketch ^ second.sketch)
    larger = max(first.links, second.links)
    smaller = min(first.links, second.links)
    alone = (differing - (larger - smaller)) / 2
    shared = (larger + smaller - differing) / 2
    return alone >= _FEW_LINKS - 0.5 and shared < _SHARED_LINKS * larger


def have_other_comments(first: ContentMarks, second: ContentMarks) -> bool:
    """Return whether two pages have several comments each, and hardly any of them in common.

    The second and third page of a discussion are like this. If a page has a few more comments than
    its copy, they share the others.
    """
    if first.comments is None or second.comments is None:
        return False
    sample = first.comments.sample
    other = second.comments.sample
    fewer = min(len(sample), len(other))
    return fewer >= _FEW_COMMENTS and len({*sample} & {*other}) <= _SHARED_COMMENTS * fewer


def have_many_other_comments(first: ContentMarks, second: ContentMarks) -> bool:
    """Return whether a page has many comments, and the other one only has a few different ones.

    The last page of a discussion often has a single comment. A view without any isn't such a page.
    """
    if first.comments is None or second.comments is None:
        return False
    sample = first.comments.sample
    other = second.comments.sample
    many = max(len(sample), len(other)) >= _MANY_COMMENTS
    few = min(len(sample), len(other)) < _FEW_COMMENTS
    return many and few and {*sample}.isdisjoint(other)


def have_new_comments(page: ContentMarks, before: ContentMarks) -> bool:
    """Return whether the comments of a page differ from those of an earlier visit.

    If one was removed, they differ as well. A page without any may have failed to load them, so the
    result is False.
    """
    if page.comments is None:
        return False
    return before.comments is None or page.comments.digest != before.comments.digest


def are_other_listings(first: ContentMarks, second: ContentMarks) -> bool:
    """Return whether two listings lead to different pages."""
    differing = _members_of(first.sketch ^ second.sketch)
    return differing > _OTHER_SHARE * max(first.links, second.links)


def quotes_the_other(first: ContentMarks, second: ContentMarks) -> bool:
    """Return whether one page is a listing and the other is a different page that it quotes.

    The other page must have links as well, or a name that the listing doesn't have. A listing that
    quotes a whole article isn't a copy of it. But the print view of a listing has no links and the
    same name, and a page that leads to a single other page may be a view of that page.
    """
    if first.is_listing == second.is_listing:
        return False
    listing, other = (first, second) if first.is_listing else (second, first)
    if listing.links < _LEAST_LISTED:
        return False
    return other.links > 0 or _has_own_name(other.names, listing.names)


def _members_of(sketch: int) -> float:
    """Estimate how many members a set has, from its odd sketch: see `sketch_of`."""
    odd = min(sketch.bit_count(), SKETCH_BITS // 2 - 1)
    return -SKETCH_BITS / 2 * math.log(1 - 2 * odd / SKETCH_BITS)


def _differ(first: int | None, second: int | None) -> bool:
    return first is not None and second is not None and first != second


class _Names:
    """The names of a page, sorted by the part that each one plays. Missing ones are 0."""

    def __init__(self, names: tuple[Name, ...]) -> None:
        self.headline = self.first_heading = self.social = self.first_part = 0
        self.headlines: list[int] = []
        self.parts: list[int] = []
        self.aliases: list[int] = []
        self.with_number: list[int] = []
        self.single_words: list[int] = []
        self.every = {name.hash for name in names}
        for name in names:
            self._add(name.hash, name.roles)
        self.heading = self.headline or self.first_heading
        self.best = self.heading or self.social

    def _add(self, name: int, roles: int) -> None:
        """File a name under each of its roles."""
        if roles & HEADLINE:
            self.headline = self.headline or name
            self.headlines.append(name)
        if roles & FIRST_HEADING:
            self.first_heading = name
        if roles & SOCIAL_TITLE:
            self.social = name
        if roles & FIRST_PART:
            self.first_part = name
        if roles & TITLE_PART:
            self.parts.append(name)
        if roles & (ALIAS | TITLE_PART):
            self.aliases.append(name)
        if roles & HAS_NUMBER:
            self.with_number.append(name)
        if roles & IS_SINGLE_WORD:
            self.single_words.append(name)

    def parts_besides(self, other: Self) -> list[int]:
        """Return the parts of the title that the other page doesn't share."""
        return [part for part in self.parts if part not in other.parts]


# The same siblings come up again and again.
@lru_cache(maxsize=4096)
def _taken_apart(names: tuple[Name, ...]) -> _Names:
    return _Names(names)


def have_other_names(names: tuple[Name, ...], others: tuple[Name, ...]) -> bool:
    """Return whether the names of two pages show that the pages are different.

    They don't if either page has none, or if the name of each is also another name of the other.
    """
    if not names or not others:
        return False
    first = _taken_apart(names)
    second = _taken_apart(others)
    if _are_views(first, second):
        return False
    if first.headline and second.headline:
        return _have_own_headlines(first, second)
    if first.social and second.social and first.social != second.social:
        return _are_other(first.social, first, second.social, second)
    return _have_other_titles(first, second)


def _has_own_name(names: tuple[Name, ...], listing: tuple[Name, ...]) -> bool:
    """Return whether a page has a name that isn't among those of a listing.

    The title of an article often ends with the name of the home page, so titles alone don't
    conflict.
    """
    if not names or not listing:
        return False
    page = _taken_apart(names)
    its = _taken_apart(listing)
    if page.first_heading and its.first_heading and page.first_heading != its.first_heading:
        return True
    if page.best:
        return page.best not in its.every
    return any(part not in its.every for part in page.parts)


def have_same_name(names: tuple[Name, ...], others: tuple[Name, ...]) -> bool:
    """Return whether two pages have the same name.

    They do if the name of each page is also another name of the other one. Otherwise, their
    headlines decide: the pages share one, and at most one of them has another, such as the name of
    the site. If either page has none, their titles and headings both have to be the same. Pages
    without any name don't have the same one.
    """
    first = _taken_apart(names)
    second = _taken_apart(others)
    if _are_views(first, second):
        return True
    if first.headline and second.headline:
        share_one = not set(first.headlines).isdisjoint(second.headlines)
        return share_one and not _have_own_headlines(first, second)
    if first.parts or second.parts:
        return first.parts == second.parts and first.heading == second.heading
    return first.heading == second.heading != 0


def _are_views(first: _Names, second: _Names) -> bool:
    """Return whether the name of each page is also one of the names of the other page.

    The heading of one view may be the whole title of the other.
    """
    if not first.best or not second.best or first.best == second.best:
        return False
    return first.best in second.aliases and second.best in first.aliases


def _have_other_titles(first: _Names, second: _Names) -> bool:
    """Return whether the titles of two pages differ in a part that names them."""
    rest = first.parts_besides(second)
    its_rest = second.parts_besides(first)
    if not rest and not its_rest and first.first_heading and second.first_heading:
        # The title is the site's, or the pages have none.
        return _are_other(first.first_heading, first, second.first_heading, second)
    if not rest or not its_rest:
        return False
    heading = first.heading
    if heading and heading == second.heading and heading not in first.single_words:
        # The heading is the same, and the title adds to it: a number, or the section of the page.
        return (
            rest[0] == first.first_part
            and its_rest[0] == second.first_part
            and (rest[0] in first.with_number or its_rest[0] in second.with_number)
        )
    return _are_other(rest[0], first, its_rest[0], second)


def _have_own_headlines(first: _Names, second: _Names) -> bool:
    """Return whether each page has a headline that is none of the other one's names."""
    return _has_own_headline(first, second) and _has_own_headline(second, first)


def _has_own_headline(page: _Names, other: _Names) -> bool:
    """Return whether a page has a headline that is none of another page's names."""
    names = {*other.headlines, *other.aliases}
    return any(headline not in names for headline in page.headlines)


def _are_other(name: int, names: _Names, other: int, others: _Names) -> bool:
    """Return whether two names differ, and neither is another name of the other one's page.

    A label in front of one of them therefore doesn't count.
    """
    return name != other and name not in others.aliases and other not in names.aliases
