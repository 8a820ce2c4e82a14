"""The exact keys of a page."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crawldedup.marks.exact_keys import EXACT_KEY_BITS, ExactKeys, exact_keys, sought_keys
from crawldedup.marks.packing import packed
from crawldedup.marks.values import (
    ALIAS,
    FIRST_HEADING,
    FIRST_PART,
    HEADLINE,
    SOCIAL_TITLE,
    TITLE_PART,
    AddressMarks,
    ContentMarks,
    Marks,
    Name,
    best_name,
)

ADDRESS = AddressMarks(
    site=0x111111,
    path=0x2222222222,
    folder=3,
    names=4,
    parameters=0x5555555555,
    views=6,
    canonical=7,
)
NAMED = ContentMarks(names=(Name(0x88888888, HEADLINE),), text=9)


def keys(content: ContentMarks = NAMED, address: AddressMarks | None = ADDRESS) -> ExactKeys:
    return exact_keys(0x1122_3344_5566_7788, 0xABCDEF12, packed(Marks(content, address)))


def test_they_are_made_of_text_name_and_address() -> None:
    filed = keys(address=replace(ADDRESS, former=0x9999999999))
    assert filed == (0xABCDEF1200 ^ 0x1122334455, 0x8888888811, 0x7777777777, 0x9999999999)
    assert all(key is not None and key < 1 << EXACT_KEY_BITS for key in filed)


def test_a_page_looks_for_its_text_among_former_ones() -> None:
    marks = packed(Marks(NAMED, ADDRESS))
    sought = sought_keys(0x1122_3344_5566_7788, 0xABCDEF12, marks)
    assert sought == keys()._replace(former=keys().text)
    assert sought_keys(0, 1, b"") == exact_keys(0, 1, b"")


def test_without_an_address_only_the_text_is_left() -> None:
    bare = keys(address=None)._replace(text=1 << 8)
    assert exact_keys(0, 1, b"") == bare == (256, None, None, None)


def test_the_lead_picture_is_part_of_the_name_or_stands_for_it() -> None:
    pictured = replace(NAMED, pictures=(0x77777777, 5), has_lead=True)
    assert keys(pictured).identity == 0xFFFFFFFF11
    assert keys(replace(pictured, names=())).identity == 0x7777777711
    assert keys(replace(pictured, has_lead=False)) == keys()
    assert keys(ContentMarks(text=9)).identity is None


def test_neither_views_nor_texts_nor_other_pictures_count() -> None:
    assert keys(address=replace(ADDRESS, views=0, canonical=1, folder=1, names=1)) == keys()
    assert keys(replace(NAMED, text=1, players=(1,), pictures=(1, 2))) == keys()


@pytest.mark.parametrize(
    ("roles", "best"),
    [
        ([FIRST_PART | TITLE_PART, SOCIAL_TITLE, FIRST_HEADING, HEADLINE], 4),
        ([FIRST_PART | TITLE_PART, SOCIAL_TITLE, FIRST_HEADING], 3),
        ([FIRST_PART | TITLE_PART, SOCIAL_TITLE], 2),
        ([TITLE_PART, FIRST_PART | TITLE_PART], 2),
        ([TITLE_PART, ALIAS], 0),
        ([], 0),
    ],
)
def test_the_best_name_is_the_heading(roles: list[int], best: int) -> None:
    named = best_name(tuple(Name(number, role) for number, role in enumerate(roles, 1)))
    assert (0 if named is None else named.hash) == best
