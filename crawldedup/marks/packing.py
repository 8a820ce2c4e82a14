"""The bytes of a page's marks, as fingerprints carry them and stores keep them.

First come the marks of the content:

- flags (1 byte); how many names and how many pictures there are (4 bits each); how many players
  and how many data (4 bits each);
- the digest of the text; the number of links (1 byte) and their sketch (8 bytes); the digest of the
  numbers: each if its flag is set;
- the names, each behind a byte for the parts it plays; the pictures; the players; the data, each
  behind the hash of what it is called (2 bytes).

Then those of the address, for a page that has one:

- flags (1 byte); site, path and folder;
- the names of the parameters (2 bytes) and the parameters; the views; the canonical address: each
  if its flag is set.

A hash takes 3 bytes; those of names and pictures take 4, those of paths and parameters 5. All
numbers are big-endian. The scripts for Redis read the same bytes.
"""

from dataclasses import replace
from functools import lru_cache
from typing import Final

from crawldedup.marks.values import AddressMarks, ContentMarks, Datum, Marks, Name

_HAS_LEAD, _IS_LISTING, _HAS_TEXT, _HAS_LINKS, _HAS_NUMBERS = 1, 2, 4, 8, 16
_HAS_PARAMETERS, _HAS_VIEWS, _HAS_CANONICAL = 1, 2, 4
LEAST_LINKS: Final = 3
"""Fewer links than these tell no page from another, but listings."""

MOST_BYTES: Final = 200
"""More than the marks of any page."""


def packed(marks: Marks) -> bytes:
    """Return the bytes of a page's marks."""
    return packed_content(marks.content) + (
        b"" if marks.address is None else packed_address(marks.address)
    )


def packed_content(marks: ContentMarks) -> bytes:
    """Return the bytes of the marks in a page's content."""
    flags = (_HAS_LEAD if marks.has_lead else 0) | (_IS_LISTING if marks.is_listing else 0)
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


def packed_address(marks: AddressMarks) -> bytes:
    """Return the bytes of the marks in a page's address."""
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
        flags |= _HAS_VIEWS
        body += marks.views.to_bytes(3, "big")
    if marks.canonical != marks.own_address:
        flags |= _HAS_CANONICAL
        body += marks.canonical.to_bytes(3, "big")
    return bytes((flags,)) + bytes(body)


class _Reader:
    """Reads numbers from bytes, one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    @property
    def is_at_end(self) -> bool:
        return self._place == len(self._data)

    def number(self, size: int = 3) -> int:
        end = self._place + size
        if end > len(self._data):
            raise ValueError("the marks of a page are cut short")
        value = int.from_bytes(self._data[self._place : end], "big")
        self._place = end
        return value

    def numbers(self, count: int, size: int = 3) -> tuple[int, ...]:
        return tuple([self.number(size) for _ in range(count)])


# Siblings are met again and again.
@lru_cache(maxsize=4096)
def unpacked(data: bytes) -> Marks | None:
    """Return the marks that these bytes hold; None for no bytes.

    Raises:
        ValueError: These are no marks.
    """
    if not data:
        return None
    reader = _Reader(data)
    content = _content(reader)
    address = None if reader.is_at_end else _address(reader)
    if not reader.is_at_end:
        raise ValueError("the marks of a page are too long")
    return Marks(content, address)


def _content(reader: _Reader) -> ContentMarks:
    flags = reader.number(1)
    names_and_pictures = reader.number(1)
    players_and_data = reader.number(1)
    text = reader.number() if flags & _HAS_TEXT else None
    links = reader.number(1) if flags & _HAS_LINKS else 0
    sketch = reader.number(8) if flags & _HAS_LINKS else 0
    numbers = reader.number() if flags & _HAS_NUMBERS else None
    names = []
    for _ in range(names_and_pictures >> 4):
        roles = reader.number(1)
        names.append(Name(reader.number(4), roles))
    pictures = reader.numbers(names_and_pictures & 15, 4)
    players = reader.numbers(players_and_data >> 4)
    data = []
    for _ in range(players_and_data & 15):
        name = reader.number(2)
        data.append(Datum(name, reader.number()))
    return ContentMarks(
        names=tuple(names),
        pictures=pictures,
        has_lead=bool(flags & _HAS_LEAD and pictures),
        players=players,
        data=tuple(data),
        text=text,
        links=links,
        sketch=sketch,
        is_listing=bool(flags & _IS_LISTING),
        numbers=numbers,
    )


def _address(reader: _Reader) -> AddressMarks:
    flags = reader.number(1)
    site = reader.number()
    path = reader.number(5)
    folder = reader.number()
    names = reader.number(2) if flags & _HAS_PARAMETERS else 0
    parameters = reader.number(5) if flags & _HAS_PARAMETERS else 0
    views = reader.number() if flags & _HAS_VIEWS else 0
    address = AddressMarks(site, path, folder, names, parameters, views, 0)
    canonical = reader.number() if flags & _HAS_CANONICAL else address.own_address
    return replace(address, canonical=canonical)
