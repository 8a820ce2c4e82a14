"""What a record learns from its copies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from crawldedup.marks.learning import learned
from crawldedup.marks.packing import packed
from crawldedup.marks.values import HEADLINE, AddressMarks, ContentMarks, Datum, Marks, Name

ADDRESS = AddressMarks(site=1, path=2, folder=3, names=0, parameters=0, views=0, canonical=2)
COPY = replace(ADDRESS, path=4, canonical=4)
FULL = ContentMarks(
    names=(Name(1, HEADLINE),),
    pictures=(2, 3),
    has_lead=True,
    players=(4,),
    data=(Datum(5, 6),),
    text=7,
    links=8,
    sketch=9,
    is_listing=True,
    numbers=10,
)
OTHER = ContentMarks(
    names=(Name(11, HEADLINE),),
    pictures=(12,),
    has_lead=True,
    players=(14,),
    data=(Datum(5, 16),),
    text=17,
    links=18,
    sketch=19,
    numbers=20,
)
NOTHING: dict[str, tuple[Any, ...]] = dict.fromkeys(("names", "pictures", "players", "data"), ())


def of(content: ContentMarks, address: AddressMarks | None = ADDRESS) -> bytes:
    return packed(Marks(content, address))


@pytest.mark.parametrize("name", ["names", "pictures", "players", "data"])
def test_what_is_missing_is_taken_over(name: str) -> None:
    lacking = replace(FULL, **{name: ()}, has_lead=name != "pictures")
    known = replace(FULL, **{name: getattr(OTHER, name)})
    assert learned(of(lacking), of(OTHER, COPY)) == of(known)


def test_what_is_known_stays_and_texts_are_each_pages_own() -> None:
    assert learned(of(FULL), of(OTHER, COPY)) == of(FULL)
    bare = replace(FULL, **NOTHING, has_lead=False)
    assert learned(of(bare), of(OTHER, COPY)) == of(
        replace(OTHER, text=7, links=8, sketch=9, is_listing=True, numbers=10)
    )
    assert learned(of(FULL), of(bare, COPY)) == of(FULL)


def test_pictures_without_a_lead_give_way_to_those_with_one() -> None:
    aside = replace(FULL, has_lead=False)
    assert learned(of(aside), of(OTHER, COPY)) == of(replace(FULL, pictures=(12,)))
    # Without a lead on either page, the record keeps what it has.
    assert learned(of(aside), of(replace(OTHER, has_lead=False), COPY)) == of(aside)


@pytest.mark.parametrize(
    ("record", "copy"),
    [
        (b"", of(FULL)),
        (of(ContentMarks()), b""),
        (of(ContentMarks()), of(FULL, replace(COPY, site=9))),
        (of(ContentMarks()), of(FULL, None)),
        (of(ContentMarks(), None), of(FULL)),
    ],
    ids=["no marks", "nothing to learn", "another site", "no address", "none of its own"],
)
def test_nothing_is_learned(record: bytes, copy: bytes) -> None:
    assert learned(record, copy) == record


def test_to_learn_twice_changes_nothing() -> None:
    first = learned(of(ContentMarks()), of(FULL, COPY))
    assert learned(first, of(FULL, COPY)) == learned(first, of(OTHER, COPY)) == first
