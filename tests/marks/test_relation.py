"""The rule: what makes siblings of two pages that read alike, and what does not."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawldedup.marks.relation import (
    Conflict,
    conflict,
    have_other_links,
    have_other_names,
    have_other_players,
    have_same_name,
    is_of_one_form,
    shown_conflict,
)
from crawldedup.marks.values import (
    ALIAS,
    FIRST_HEADING,
    FIRST_PART,
    HAS_NUMBER,
    HEADLINE,
    IS_SINGLE_WORD,
    SOCIAL_TITLE,
    TITLE_PART,
    AddressMarks,
    ContentMarks,
    Datum,
    Marks,
    Name,
    sketch_of,
)

HERE = AddressMarks(site=1, path=10, folder=100, names=0, parameters=0, views=0, canonical=10)
# Of one form with HERE, of another form, and a view of it.
BESIDE = replace(HERE, path=11, canonical=11)
ELSEWHERE = replace(HERE, path=12, folder=101, canonical=12)
VIEW = replace(HERE, views=7)
ABROAD = replace(ELSEWHERE, site=2)
NOTHING = ContentMarks()


def named(*roles: int) -> ContentMarks:
    """A page called 1, 2, 3 ..., in these parts."""
    return ContentMarks(names=names(*enumerate(roles, 1)))


def names(*given_names: tuple[int, int]) -> tuple[Name, ...]:
    return tuple(Name(*name) for name in given_names)


def linked(links: range, **values: Any) -> ContentMarks:
    return ContentMarks(links=len(links), sketch=sketch_of(links), **values)


TITLE = HEADLINE | TITLE_PART | FIRST_PART
ONE, TWO = ContentMarks(names=names((1, TITLE))), ContentMarks(names=names((2, TITLE)))
LAMP = ContentMarks(pictures=(1, 9), has_lead=True)
OTHER_LAMP = ContentMarks(pictures=(2, 9), has_lead=True)
SHOWN = [
    (ONE, TWO, Conflict.NAME),
    (LAMP, OTHER_LAMP, Conflict.PICTURE),
    (LAMP, replace(LAMP, pictures=(9, 1)), Conflict.NONE),
    (LAMP, replace(LAMP, pictures=(3, 1)), Conflict.NONE),
    (LAMP, replace(LAMP, pictures=(2, 3), has_lead=False), Conflict.NONE),
    (ContentMarks(players=(1, 2)), ContentMarks(players=(3,)), Conflict.PLAYER),
    (ContentMarks(players=(1, 2)), ContentMarks(players=(2, 3)), Conflict.NONE),
    (ContentMarks(data=(Datum(1, 1),)), ContentMarks(data=(Datum(1, 2),)), Conflict.DATA),
    (ContentMarks(data=(Datum(1, 1),)), ContentMarks(data=(Datum(2, 2),)), Conflict.NONE),
    (
        ContentMarks(data=(Datum(1, 1), Datum(2, 2), Datum(3, 3))),
        ContentMarks(data=(Datum(2, 2), Datum(3, 4))),
        Conflict.DATA,
    ),
    (
        linked(range(20), is_listing=True),
        linked(range(20, 40), is_listing=True),
        Conflict.LISTING,
    ),
    # Of several kinds, the first one is told.
    (replace(LAMP, names=ONE.names), replace(OTHER_LAMP, names=TWO.names), Conflict.NAME),
    (replace(LAMP, players=(1,)), replace(OTHER_LAMP, players=(2,)), Conflict.PICTURE),
]


def between(
    first: ContentMarks,
    second: ContentMarks,
    addresses: tuple[AddressMarks | None, AddressMarks | None] = (HERE, ELSEWHERE),
) -> Conflict:
    """Return what tells two pages apart, whichever comes first."""
    pages = Marks(first, addresses[0]), Marks(second, addresses[1])
    found = conflict(*pages)
    assert conflict(*reversed(pages)) is found
    return found


class TestShownMarks:
    @pytest.mark.parametrize(("first", "second", "expected"), SHOWN)
    def test_marks_conflict_by_their_kind(
        self, first: ContentMarks, second: ContentMarks, expected: Conflict
    ) -> None:
        assert shown_conflict(first, second) is shown_conflict(second, first) is expected
        for address in (ELSEWHERE, BESIDE):
            assert between(first, second, (HERE, address)) is expected

    @pytest.mark.parametrize(("first", "second", "expected"), SHOWN)
    def test_pictures_and_data_tell_no_views_apart(
        self, first: ContentMarks, second: ContentMarks, expected: Conflict
    ) -> None:
        if expected in (Conflict.PICTURE, Conflict.DATA):
            has_others = have_other_players(first, second)
            expected = Conflict.PLAYER if has_others else Conflict.NONE
        assert between(first, second, (HERE, VIEW)) is expected

    @pytest.mark.parametrize(("first", "second", "expected"), SHOWN)
    def test_neither_at_one_address_nor_across_sites(
        self, first: ContentMarks, second: ContentMarks, expected: Conflict
    ) -> None:
        assert between(first, second, (HERE, HERE)) is Conflict.NONE
        assert between(first, second, (HERE, replace(HERE, canonical=5))) is Conflict.NONE
        assert between(first, second, (HERE, ABROAD)) is Conflict.NONE
        assert between(first, second, (HERE, None)) is Conflict.NONE
        assert between(first, second, (None, None)) is Conflict.NONE

    @pytest.mark.parametrize(
        "content", [*(pair[0] for pair in SHOWN), *(pair[1] for pair in SHOWN)]
    )
    def test_a_mark_that_only_one_page_has_is_no_evidence(self, content: ContentMarks) -> None:
        for address in (ELSEWHERE, BESIDE, VIEW):
            assert between(content, NOTHING, (HERE, address)) is Conflict.NONE
            assert between(content, content, (HERE, address)) is Conflict.NONE

    def test_numbers_count_everywhere(self) -> None:
        first, second = ContentMarks(numbers=1), ContentMarks(numbers=2)
        for address in (HERE, ELSEWHERE, ABROAD, None):
            assert between(first, second, (HERE, address)) is Conflict.NUMBERS
            assert between(first, NOTHING, (HERE, address)) is Conflict.NONE
        assert between(replace(ONE, numbers=1), replace(TWO, numbers=2)) is Conflict.NUMBERS


class TestNames:
    @pytest.mark.parametrize(
        ("first", "second", "expected"),
        [
            # Headings that the title repeats.
            ([(1, HEADLINE)], [(2, HEADLINE)], True),
            ([(1, HEADLINE)], [(1, HEADLINE)], False),
            ([(1, HEADLINE)], [(2, HEADLINE), (1, ALIAS)], False),
            ([(1, HEADLINE)], [(2, HEADLINE), (1, TITLE_PART)], False),
            ([(1, HEADLINE), (5, SOCIAL_TITLE)], [(2, HEADLINE), (5, SOCIAL_TITLE)], True),
            # The name of the site is a heading as well.
            ([(9, HEADLINE), (1, HEADLINE)], [(9, HEADLINE), (2, HEADLINE)], True),
            ([(9, HEADLINE), (1, HEADLINE)], [(9, HEADLINE)], False),
            ([(9, HEADLINE), (1, HEADLINE)], [(1, HEADLINE)], False),
            ([(9, HEADLINE), (1, HEADLINE)], [(2, HEADLINE), (9, ALIAS)], True),
            ([(9, HEADLINE), (1, HEADLINE)], [(9, HEADLINE), (2, HEADLINE), (1, ALIAS)], False),
            # Headings tell pages apart whose titles do not.
            ([(1, FIRST_HEADING)], [(2, FIRST_HEADING)], True),
            ([(1, FIRST_HEADING)], [(2, FIRST_HEADING), (1, ALIAS)], False),
            (
                [(1, FIRST_HEADING), (9, TITLE_PART)],
                [(2, FIRST_HEADING), (9, TITLE_PART)],
                True,
            ),
            ([(1, HEADLINE)], [(2, FIRST_HEADING)], False),
            ([(1, SOCIAL_TITLE)], [(2, SOCIAL_TITLE)], True),
            ([(1, SOCIAL_TITLE)], [(2, SOCIAL_TITLE), (1, ALIAS)], False),
            # The part of the title that the other page does not share.
            ([(1, TITLE_PART), (9, TITLE_PART)], [(2, TITLE_PART), (9, TITLE_PART)], True),
            ([(9, TITLE_PART)], [(2, TITLE_PART), (9, TITLE_PART)], False),
            ([(1, TITLE_PART)], [(2, TITLE_PART), (1, ALIAS)], False),
            ([(1, ALIAS)], [(2, ALIAS)], False),
            # The heading of one view is the whole title of the other.
            (
                [(1, FIRST_HEADING), (2, ALIAS), (3, TITLE_PART)],
                [(2, FIRST_HEADING), (1, ALIAS), (4, TITLE_PART)],
                False,
            ),
            # One heading, and titles that add something to it.
            (
                [(1, FIRST_HEADING), (2, TITLE_PART | FIRST_PART)],
                [(1, FIRST_HEADING), (3, TITLE_PART | FIRST_PART)],
                False,
            ),
            (
                [(1, FIRST_HEADING), (2, TITLE_PART | FIRST_PART | HAS_NUMBER)],
                [(1, FIRST_HEADING), (3, TITLE_PART | FIRST_PART)],
                True,
            ),
            (
                [(1, FIRST_HEADING), (2, TITLE_PART | HAS_NUMBER)],
                [(1, FIRST_HEADING), (3, TITLE_PART | HAS_NUMBER)],
                False,
            ),
            # A heading of one word says little.
            (
                [(1, FIRST_HEADING | IS_SINGLE_WORD), (2, TITLE_PART)],
                [(1, FIRST_HEADING | IS_SINGLE_WORD), (3, TITLE_PART)],
                True,
            ),
            ([], [(1, HEADLINE)], False),
            ([], [], False),
        ],
    )
    def test_names_differ_by_the_parts_they_play(
        self, first: list[tuple[int, int]], second: list[tuple[int, int]], expected: bool
    ) -> None:
        one, other = names(*first), names(*second)
        assert have_other_names(one, other) is have_other_names(other, one) is expected
        assert not have_other_names(one, one)

    @pytest.mark.parametrize(
        ("first", "second", "expected"),
        [
            ([1], [1], True),
            ([1], [2], False),
            # The print view has no name of the site.
            ([1, 9], [1], True),
            ([9, 1], [1], True),
            # The name of the site is the longest headline of both.
            ([9, 1], [9, 2], False),
            ([1, 2], [1, 2], True),
        ],
    )
    def test_pages_with_a_headline_in_common_have_the_same_name(
        self, first: list[int], second: list[int], expected: bool
    ) -> None:
        one, other = (names(*((each, HEADLINE) for each in page)) for page in (first, second))
        assert have_same_name(one, other) is have_same_name(other, one) is expected

    @given(st.data())
    def test_the_order_of_pages_does_not_matter(self, data: st.DataObject) -> None:
        # Whether a name has a number, or is a single word, it is so on every page.
        of_the_name = {number: 64 * (number & 3) for number in range(1, 7)}

        def drawn() -> tuple[Name, ...]:
            numbers = data.draw(st.lists(st.sampled_from(sorted(of_the_name)), unique=True))
            return tuple(
                Name(number, of_the_name[number] | data.draw(st.integers(1, 63)))
                for number in numbers
            )

        first, second = drawn(), drawn()
        assert have_other_names(first, second) == have_other_names(second, first)
        assert not have_other_names(first, first)


class TestLinks:
    @pytest.mark.parametrize(
        ("first", "second", "expected"),
        [
            (range(20), range(20), False),
            (range(20), range(20, 40), True),
            (range(10), range(5, 15), True),
            # A box that changes.
            (range(20), range(2, 22), False),
            (range(40), range(3, 43), False),
            # One page has them all, and more.
            (range(20), range(10), False),
            (range(3), range(3, 6), True),
            (range(2), range(2, 4), False),
            (range(0), range(20), False),
        ],
    )
    def test_each_page_must_have_some_that_the_other_lacks(
        self, first: range, second: range, expected: bool
    ) -> None:
        one, other = linked(first), linked(second)
        assert have_other_links(one, other) is have_other_links(other, one) is expected
        found = Conflict.LINKS if expected else Conflict.NONE
        assert between(one, other, (HERE, BESIDE)) is found
        # Elsewhere, the links of a page that is no listing say nothing.
        for address in (ELSEWHERE, VIEW):
            assert between(one, other, (HERE, address)) is Conflict.NONE

    def test_sketches_tell_most_listings_of_many_links_apart(self) -> None:
        chooser, found = random.Random(1), []
        for _ in range(200):
            links = chooser.sample(range(1 << 24), 120)
            pages = [
                ContentMarks(links=60, sketch=sketch_of(links[first : first + 60]))
                for first in (0, 4, 60)
            ]
            found.append([have_other_links(pages[0], other) for other in pages[1:]])
        assert sum(alike for alike, _ in found) < 5
        assert sum(unlike for _, unlike in found) > 195

    def test_the_links_of_listings_take_the_place_of_their_names(self) -> None:
        first, second = linked(range(20), is_listing=True), linked(range(20, 40), is_listing=True)
        same = replace(first, names=TWO.names)
        assert between(replace(first, names=ONE.names), same) is Conflict.NONE
        assert between(replace(first, names=ONE.names), second) is Conflict.LISTING
        # One of them alone is a listing: an article is called differently.
        article = replace(same, is_listing=False)
        assert between(replace(first, names=ONE.names), article) is Conflict.NAME

    def test_the_texts_of_listings_do_not_count(self) -> None:
        listings = [linked(range(20), is_listing=True, text=text) for text in (1, 2)]
        assert between(*listings, (HERE, BESIDE)) is Conflict.NONE

    def test_listings_with_other_names_and_texts_are_siblings(self) -> None:
        """A short text beside a long sidebar looks like a listing of what the sidebar leads to."""
        talk = linked(range(20), is_listing=True, names=ONE.names, text=1)
        other = replace(talk, names=TWO.names, text=2)
        for address in (BESIDE, ELSEWHERE):
            assert between(talk, other, (HERE, address)) is Conflict.NAME
            # One list under two headings, and one whose visits or dates changed.
            assert between(talk, replace(other, text=1), (HERE, address)) is Conflict.NONE
            assert between(talk, replace(other, names=ONE.names), (HERE, address)) is Conflict.NONE

    def test_a_page_with_the_heading_of_a_teaser_has_a_text(self) -> None:
        """The heading of one class names its parent, with a link, and that of another doesn't."""
        single, page = linked(range(1), is_listing=True, text=1), linked(range(5, 9), text=2)
        assert between(single, page, (HERE, BESIDE)) is Conflict.TEXT
        assert between(page, single, (HERE, BESIDE)) is Conflict.TEXT
        same_text = replace(page, text=1)
        assert between(single, same_text, (HERE, BESIDE)) is Conflict.NONE
        assert between(single, page, (HERE, ELSEWHERE)) is Conflict.NONE

    def test_a_listing_stands_beside_the_article_that_it_quotes(self) -> None:
        listing, article = linked(range(2), is_listing=True), linked(range(5, 9))
        for address in (BESIDE, ELSEWHERE):
            assert between(listing, article, (HERE, address)) is Conflict.LISTING
        # Not if both claim to be one page, or if the listing was printed without its links.
        assert between(listing, article, (HERE, VIEW)) is Conflict.NONE
        one_page = replace(ELSEWHERE, canonical=HERE.canonical)
        assert between(listing, article, (HERE, one_page)) is Conflict.NONE
        assert between(listing, ContentMarks(), (HERE, ELSEWHERE)) is Conflict.NONE
        # What leads to one page alone may be a view of it.
        view = linked(range(1), is_listing=True)
        assert between(view, article, (HERE, ELSEWHERE)) is Conflict.NONE

    @pytest.mark.parametrize(
        ("article", "expected"),
        [
            # Its title adds to that of the blog, as a heading or not.
            (((2, TITLE), (1, TITLE_PART)), Conflict.LISTING),
            (((2, TITLE_PART | FIRST_PART), (1, TITLE_PART)), Conflict.LISTING),
            (((2, FIRST_HEADING), (1, TITLE_PART | FIRST_PART | ALIAS)), Conflict.LISTING),
            (((2, SOCIAL_TITLE), (1, TITLE_PART | FIRST_PART | ALIAS)), Conflict.LISTING),
            # The listing was printed without its links; or nothing says what the page is called.
            (((1, TITLE),), Conflict.NONE),
            (((1, TITLE_PART | FIRST_PART | ALIAS),), Conflict.NONE),
            ((), Conflict.NONE),
        ],
        ids=str,
    )
    def test_a_listing_stands_beside_an_article_without_links_of_another_name(
        self, article: tuple[tuple[int, int], ...], expected: Conflict
    ) -> None:
        blog = names((1, TITLE_PART | FIRST_PART | ALIAS))
        listing = linked(range(4), is_listing=True, names=blog)
        page = ContentMarks(names=names(*article))
        for address in (BESIDE, ELSEWHERE):
            assert between(listing, page, (HERE, address)) is expected
            assert between(page, listing, (HERE, address)) is expected
        # What leads to one page alone, or has no name, may be a view of it.
        view = linked(range(1), is_listing=True, names=blog)
        assert between(view, page, (HERE, ELSEWHERE)) is Conflict.NONE
        unnamed = linked(range(4), is_listing=True)
        assert between(unnamed, page, (HERE, ELSEWHERE)) is Conflict.NONE

    def test_an_article_and_the_blog_that_takes_its_title_differ_in_their_headings(self) -> None:
        blog = names((1, HEADLINE | TITLE_PART | FIRST_PART), (2, FIRST_HEADING))
        listing = linked(range(4), is_listing=True, names=blog)
        article, copy = (
            ContentMarks(names=names((name, FIRST_HEADING), (1, TITLE_PART | FIRST_PART)))
            for name in (1, 2)
        )
        assert between(listing, article, (HERE, BESIDE)) is Conflict.LISTING
        assert between(listing, copy, (HERE, BESIDE)) is Conflict.NONE


class TestAddressesOfOneForm:
    @pytest.mark.parametrize(
        ("other", "expected"),
        [
            (HERE, False),
            (VIEW, False),
            (BESIDE, True),
            (ELSEWHERE, False),
            # Another value of a parameter, a parameter that only one page has, other names of them.
            (replace(HERE, names=1, parameters=5, canonical=15), True),
            (replace(BESIDE, names=1, parameters=5), False),
        ],
    )
    def test_they_differ_in_a_value_or_in_the_end_of_the_path(
        self, other: AddressMarks, expected: bool
    ) -> None:
        assert is_of_one_form(HERE, other) is is_of_one_form(other, HERE) is expected
        found = Conflict.TEXT if expected else Conflict.NONE
        assert between(ContentMarks(text=1), ContentMarks(text=2), (HERE, other)) is found
        assert between(ContentMarks(text=1), ContentMarks(text=1), (HERE, other)) is Conflict.NONE
        assert between(ContentMarks(text=1), ContentMarks(), (HERE, other)) is Conflict.NONE

    @pytest.mark.parametrize(
        ("other", "canonical", "expected"),
        [
            (BESIDE, 11, Conflict.REST),
            (BESIDE, 10, Conflict.NONE),
            (ELSEWHERE, 12, Conflict.NONE),
            (VIEW, 10, Conflict.NONE),
        ],
        ids=["one form", "one canonical page", "another form", "a view"],
    )
    def test_the_rest_of_a_page_counts_like_its_text(
        self, other: AddressMarks, canonical: int, expected: Conflict
    ) -> None:
        addresses = HERE, replace(other, canonical=canonical)
        page = ContentMarks(text=1, rest=1)
        assert between(page, replace(page, rest=2), addresses) is expected
        assert between(page, page, addresses) is Conflict.NONE
        # A print view has no rest.
        assert between(page, replace(page, rest=None), addresses) is Conflict.NONE

    def test_values_of_the_same_parameters_in_one_folder(self) -> None:
        first = replace(HERE, names=1, parameters=5)
        assert is_of_one_form(first, replace(first, parameters=6))
        assert is_of_one_form(first, replace(BESIDE, names=1, parameters=5))

    @pytest.mark.parametrize(
        ("canonical", "its", "expected"),
        [
            (10, 11, Conflict.TEXT),
            (10, 10, Conflict.NONE),
            (5, 5, Conflict.NONE),
            # Whole sites name their home page.
            (0, 0, Conflict.TEXT),
        ],
    )
    def test_two_pages_may_have_one_canonical_address(
        self, canonical: int, its: int, expected: Conflict
    ) -> None:
        addresses = replace(HERE, canonical=canonical), replace(BESIDE, canonical=its)
        assert between(ContentMarks(text=1), ContentMarks(text=2), addresses) is expected
        # Their names conflict all the same.
        assert between(ONE, TWO, addresses) is Conflict.NAME
        links = Conflict.NONE if expected is Conflict.NONE else Conflict.LINKS
        assert between(linked(range(9)), linked(range(9, 18)), addresses) is links
