"""The binary format of a page's marks in fingerprints and stores.

First come the marks of the content:

- flags (1 byte); how many names and how many pictures there are (4 bits each); how many players
  and how many data (4 bits each);
- the digest of the text; the number of links (1 byte) and their sketch (8 bytes); the digest of the
  numbers; the digest of the comments, the size of their sample (1 byte) and the sample; the digest
  of the rest of the page: each if its flag is set; one more flag says that comments are part of
  the text;
- the names, each after a byte for the parts it plays; the pictures; the players; the data, each
  after the hash of its name (2 bytes).

Then those of the address, for a page that has one:

- flags (1 byte); site, path and folder;
- the names of the parameters (2 bytes) and the parameters; the views; the canonical address: each
  if its flag is set. Another flag says that the views are proved;
- the text key of a page that this one replaced, if its flag is set.

A hash takes 3 bytes; those of names and pictures take 4, those of paths and parameters 5, and so
does a text key. All numbers are big-endian. The scripts for Redis read the same bytes.
"""

from functools import lru_cache
from typing import Final

from crawldedup.marks.values import (
    MOST_COMMENTS,
    AddressMarks,
    Comments,
    ContentMarks,
    Datum,
    Marks,
    Name,
    whole_address,
)

_HAS_LEAD, _IS_LISTING, _HAS_TEXT, _HAS_LINKS, _HAS_NUMBERS, _HAS_COMMENTS = 1, 2, 4, 8, 16, 32
_COMMENTS_ARE_TEXT: Final = 64
_HAS_REST: Final = 128
_HAS_PARAMETERS, _HAS_VIEWS, _HAS_CANONICAL, _IS_PROVED, _HAS_FORMER = 1, 2, 4, 8, 16
LEAST_LINKS: Final = 3
"""The minimum number of links that tell pages apart, except for listings."""

MOST_BYTES: Final = 210
"""The maximum number of bytes, which is more than the marks of any page have."""


def packed(marks: Marks) -> bytes:
    """Pack the marks of a page into bytes."""
    return packed_content(marks.content) + (
        b"" if marks.address is None else packed_address(marks.address)
    )


def packed_content(marks: ContentMarks) -> bytes:
    """Pack the marks in the content of a page into bytes."""
    flags = (_HAS_LEAD if marks.has_lead else 0) | (_IS_LISTING if marks.is_listing else 0)
    flags |= _COMMENTS_ARE_TEXT if marks.comments_are_text else 0
    body = bytearray()
    if marks.text is not None:
        flags |= _HAS_TEXT
        body += marks.text.to_bytes(3, "big")
    if marks.links >= LEAST_LINKS or marks.is_listing:
        flags |= _HAS_LINKS
        body.append(marks.links)
        body += marks.sketch.to_bytes(8, "big")
    if marks.numbers is not None:
        flags |= _HAS_NUMBERS
        body += marks.numbers.to_bytes(3, "big")
    if marks.comments is not None:
        flags |= _HAS_COMMENTS
        body += _packed_comments(marks.comments)
    if marks.rest is not None:
        flags |= _HAS_REST
        body += marks.rest.to_bytes(3, "big")
    for name in marks.names:
        body.append(name.roles)
        body += name.hash.to_bytes(4, "big")
    for picture in marks.pictures:
        body += picture.to_bytes(4, "big")
    for player in marks.players:
        body += player.to_bytes(3, "big")
    for datum in marks.data:
        body += datum.name.to_bytes(2, "big")
        body += datum.value.to_bytes(3, "big")
    counts = (
        len(marks.names) << 4 | len(marks.pictures),
        len(marks.players) << 4 | len(marks.data),
    )
    return bytes((flags, *counts)) + bytes(body)


def _packed_comments(comments: Comments) -> bytes:
    sample = b"".join([remark.to_bytes(3, "big") for remark in comments.sample])
    return comments.digest.to_bytes(3, "big") + bytes((len(comments.sample),)) + sample


def packed_address(marks: AddressMarks) -> bytes:
    """Pack the marks in the address of a page into bytes."""
    flags = 0
    body = bytearray()
    body += marks.site.to_bytes(3, "big")
    body += marks.path.to_bytes(5, "big")
    body += marks.folder.to_bytes(3, "big")
    if marks.parameters:
        flags |= _HAS_PARAMETERS
        body += marks.names.to_bytes(2, "big")
        body += marks.parameters.to_bytes(5, "big")
    if marks.views:
        flags |= _HAS_VIEWS | (_IS_PROVED if marks.is_proved else 0)
        body += marks.views.to_bytes(3, "big")
    if marks.canonical != marks.own_address:
        flags |= _HAS_CANONICAL
        body += marks.canonical.to_bytes(3, "big")
    if marks.former:
        flags |= _HAS_FORMER
        body += marks.former.to_bytes(5, "big")
    return bytes((flags,)) + bytes(body)


# The same siblings come up again and again.
@lru_cache(maxsize=4096)
def unpacked(data: bytes) -> Marks | None:
    """Return the marks in these bytes, or None if there are no bytes.

    Raises:
        ValueError: These aren't marks.
    """
    if not data:
        return None
    try:
        content, end = _content(data)
        address = None
        if end < len(data):
            address, end = _address(data, end)
    except IndexError:
        raise ValueError("the marks of a page are cut short") from None
    if end > len(data):
        raise ValueError("the marks of a page are cut short")
    if end < len(data):
        raise ValueError("the marks of a page are too long")
    return Marks(content, address)


def _number(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "big")


def _content(data: bytes) -> tuple[ContentMarks, int]:
    """Unpack the marks of the content. Return them, and the position after them.

    This has to be fast, because the marks of a whole crowd of siblings may be unpacked to judge a
    single page. So it's a single pass.
    """
    flags = data[0]
    names_and_pictures = data[1]
    players_and_data = data[2]
    at = 3
    text = numbers = None
    links = sketch = 0
    if flags & _HAS_TEXT:
        text = _number(data, at, 3)
        at += 3
    if flags & _HAS_LINKS:
        links = data[at]
        sketch = _number(data, at + 1, 8)
        at += 9
    if flags & _HAS_NUMBERS:
        numbers = _number(data, at, 3)
        at += 3
    comments = None
    if flags & _HAS_COMMENTS:
        comments, at = _comments(data, at)
    rest = None
    if flags & _HAS_REST:
        rest = _number(data, at, 3)
        at += 3
    names_end = at + 5 * (names_and_pictures >> 4)
    pictures_end = names_end + 4 * (names_and_pictures & 15)
    players_end = pictures_end + 3 * (players_and_data >> 4)
    data_end = players_end + 5 * (players_and_data & 15)
    names = [Name(_number(data, place + 1, 4), data[place]) for place in range(at, names_end, 5)]
    pictures = [_number(data, place, 4) for place in range(names_end, pictures_end, 4)]
    players = [_number(data, place, 3) for place in range(pictures_end, players_end, 3)]
    values = [
        Datum(_number(data, place, 2), _number(data, place + 2, 3))
        for place in range(players_end, data_end, 5)
    ]
    content = ContentMarks(
        names=tuple(names),
        pictures=tuple(pictures),
        has_lead=bool(flags & _HAS_LEAD and pictures),
        players=tuple(players),
        data=tuple(values),
        text=text,
        links=links,
        sketch=sketch,
        is_listing=bool(flags & _IS_LISTING),
        numbers=numbers,
        comments=comments,
        comments_are_text=bool(flags & _COMMENTS_ARE_TEXT),
        rest=rest,
    )
    return content, data_end


def _comments(data: bytes, start: int) -> tuple[Comments, int]:
    """Unpack the hashes of comments. Return them, and the position after them.

    Raises ValueError if there are more than `MOST_COMMENTS`.
    """
    sampled = data[start + 3]
    if sampled > MOST_COMMENTS:
        raise ValueError("the marks of a page have too many comments")
    end = start + 4 + 3 * sampled
    sample = [_number(data, place, 3) for place in range(start + 4, end, 3)]
    return Comments(_number(data, start, 3), tuple(sample)), end


def _address(data: bytes, start: int) -> tuple[AddressMarks, int]:
    """Unpack the marks of an address. Return them, and the position after them."""
    flags = data[start]
    path = _number(data, start + 4, 5)
    names = parameters = views = former = 0
    at = start + 12
    if flags & _HAS_PARAMETERS:
        names = _number(data, at, 2)
        parameters = _number(data, at + 2, 5)
        at += 7
    if flags & _HAS_VIEWS:
        views = _number(data, at, 3)
        at += 3
    canonical = whole_address(path, parameters)
    if flags & _HAS_CANONICAL:
        canonical = _number(data, at, 3)
        at += 3
    if flags & _HAS_FORMER:
        former = _number(data, at, 5)
        at += 5
    address = AddressMarks(
        site=_number(data, start + 1, 3),
        path=path,
        folder=_number(data, start + 9, 3),
        names=names,
        parameters=parameters,
        views=views,
        canonical=canonical,
        is_proved=bool(flags & _IS_PROVED),
        former=former,
    )
    return address, at
