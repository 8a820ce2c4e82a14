"""The bytes of marks: they hold all of it, and nothing else is read as marks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawldedup.marks.packing import (
    LEAST_LINKS,
    MOST_BYTES,
    packed,
    packed_address,
    packed_content,
    unpacked,
)
from crawldedup.marks.values import (
    MOST_COMMENTS,
    MOST_DATA,
    MOST_LINKS,
    MOST_NAMES,
    MOST_PICTURES,
    MOST_PLAYERS,
    AddressMarks,
    Comments,
    ContentMarks,
    Datum,
    Marks,
    Name,
)

HASH = st.integers(1, 0xFF_FFFF)
SHORT = st.integers(0, 0xFFFF)


def few(values: st.SearchStrategy[object], most: int) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(values, max_size=most).map(tuple)


def consistent(content: ContentMarks) -> ContentMarks:
    """Without a lead picture where there is none, and without links that are too few to keep."""
    has_links = content.links >= LEAST_LINKS
    return replace(
        content,
        has_lead=content.has_lead and bool(content.pictures),
        links=content.links if has_links else 0,
        sketch=content.sketch if has_links else 0,
    )


CONTENTS = st.builds(
    ContentMarks,
    names=few(st.builds(Name, HASH, st.integers(0, 255)), MOST_NAMES),
    pictures=few(HASH, MOST_PICTURES),
    has_lead=st.booleans(),
    players=few(HASH, MOST_PLAYERS),
    data=few(st.builds(Datum, SHORT, HASH), MOST_DATA + 1),
    text=st.none() | HASH,
    links=st.integers(0, MOST_LINKS),
    sketch=st.integers(0, 2**64 - 1),
    is_listing=st.booleans(),
    numbers=st.none() | HASH,
    comments=st.none() | st.builds(Comments, HASH, few(HASH, MOST_COMMENTS)),
    comments_are_text=st.booleans(),
    rest=st.none() | HASH,
).map(consistent)


@st.composite
def addresses(draw: st.DrawFn) -> AddressMarks:
    path, parameters = draw(HASH), draw(st.just(0) | HASH)
    return AddressMarks(
        site=draw(HASH),
        path=path,
        folder=draw(HASH),
        names=draw(SHORT) if parameters else 0,
        parameters=parameters,
        views=draw(st.just(0) | HASH),
        canonical=draw(st.just(path ^ parameters) | st.just(0) | HASH),
    )


@given(CONTENTS, st.none() | addresses())
def test_what_is_packed_is_read_again(content: ContentMarks, address: AddressMarks | None) -> None:
    marks = Marks(content, address)
    data = packed(marks)
    assert unpacked(data) == marks
    assert len(data) <= MOST_BYTES
    # The index adds the address to what a fingerprint carries.
    own = b"" if address is None else packed_address(address)
    assert packed_content(content) + own == data


@given(CONTENTS, addresses(), st.data())
def test_what_is_cut_short_or_too_long_is_refused(
    content: ContentMarks, address: AddressMarks, data: st.DataObject
) -> None:
    whole = packed(Marks(content, address))
    length = data.draw(st.integers(1, len(whole) - 1))
    if length != len(packed_content(content)):
        with pytest.raises(ValueError, match="short"):
            unpacked(whole[:length])
    with pytest.raises(ValueError, match="long"):
        unpacked(whole + b"\0")


@given(st.binary(max_size=MOST_BYTES))
def test_any_bytes_are_marks_or_refused(data: bytes) -> None:
    try:
        read = unpacked(data)
    except ValueError:
        return
    assert (read is None) == (not data)


def test_empty_bytes_have_no_marks() -> None:
    assert unpacked(b"") is None


def test_the_bytes_are_those_that_scripts_read() -> None:
    content = ContentMarks(
        names=(Name(0x010203, 0x29),),
        pictures=(0x040506, 0x070809),
        has_lead=True,
        players=(0x0A0B0C,),
        data=(Datum(0x0D0E, 0x0F1011),),
        text=0x121314,
        links=21,
        sketch=0x15161718191A1B1C,
        numbers=0x1D1E1F,
        comments=Comments(0x383A3B, (0x3C3D3E, 0x3F4041)),
        comments_are_text=True,
        rest=0x424344,
    )
    address = AddressMarks(
        site=0x202122,
        path=0x2324252627,
        folder=0x28292A,
        names=0x2B2C,
        parameters=0x2D2E2F3031,
        views=0x323334,
        canonical=0x353637,
    )
    assert packed(Marks(content, address)).hex(" ", -1) == (
        "fd 12 11 12 13 14 15 15 16 17 18 19 1a 1b 1c 1d 1e 1f 38 3a 3b 02 3c 3d 3e 3f 40 41 42 43 44 29 00 01 02 03 00 04 05 06 00 07 "
        "08 09 0a 0b 0c 0d 0e 0f 10 11 07 20 21 22 23 24 25 26 27 28 29 2a 2b 2c 2d 2e 2f 30 31 "
        "32 33 34 35 36 37"
    )
