"""Marks, which show what content a page has: as a page shows them, and as short keyed hashes.

Most hashes have 24 bits. A page is compared with at most a few hundred others, each with a handful
of marks, so in less than one in a thousand checks, two of them agree by chance. Hashes that are
used to look up records must be longer, because a lookup finds exactly the pages whose hashes agree:
names and pictures have 32 bits, paths and parameters 40.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, Self, TypeVar

from crawldedup.key import Key
from crawldedup.marks.address import Address, View
from crawldedup.text import pluralize
from crawldedup.urls import HeadLinks, claimed_url

NAME_BITS: Final = 32
ADDRESS_BITS: Final = 40
SHORT_BITS: Final = 24
_SHORT_MASK: Final = (1 << SHORT_BITS) - 1
MOST_NAMES: Final = 7
MOST_PICTURES: Final = 8
MOST_PLAYERS: Final = 4
MOST_DATA: Final = 8  # not counting the availability
AVAILABILITY: Final = "availability"
"""The name of the declared value that says whether a product is in stock."""

AVAILABILITY_HASH: Final = 0  # instead of a hash of that name; no other name has the hash 0
SKETCH_BITS: Final = 64
MOST_LINKS: Final = 255
_LONG_LISTING: Final = 10
"""If a listing has at least this many links, one of them may be different in a copy."""


# The part that a name plays on its page.
HEADLINE: Final = 1  # a heading that the title repeats, the longest one first
FIRST_HEADING: Final = 2  # the only <h1>
SOCIAL_TITLE: Final = 4  # og:title
TITLE_PART: Final = 8  # a part of the title, between separators
FIRST_PART: Final = 16  # the first of them
# the whole title, or the part after a label: other pages may use it as the page's name
ALIAS: Final = 32
HAS_NUMBER: Final = 64
IS_SINGLE_WORD: Final = 128

MOST_COMMENTS: Final = 8  # that are sampled

MARK_KINDS: Final = (
    "name",
    "picture",
    "player",
    "data",
    "listing",
    "text",
    "links",
    "comments",
    "rest",
)
"""The kinds of marks that can be ignored: see `ShownMarks.without`."""

_BEST_ROLES: Final = (HEADLINE, FIRST_HEADING, SOCIAL_TITLE, FIRST_PART)


class ShownName(NamedTuple):
    """A name of a page, in lower case, and where the page shows it, such as in a heading."""

    words: str
    roles: int


@dataclass(frozen=True, slots=True)
class ShownMarks:
    """The marks of a page in readable form: what it shows that tells it apart from others.

    Attributes:
        names: The names of the page, in title and headings.
        pictures: The names of the content's pictures, the lead picture first.
        has_lead: Whether there is a lead picture.
        players: Videos, frames and places on maps.
        data: Pairs of a name and a value: declared identifiers, chosen options and hidden fields.
            The availability of a product is the last pair.
        text: The main text without names, links, and the numbers of visits and dates.
        links: The targets of the links in the content.
        is_listing: Whether the page mostly consists of links.
        numbers: All numbers in the main text, and the <h1>. They are only set with the option
            `distinguish="numbers"`.
        comments: The lines that visitors wrote below the main text. If they make up most of the
            page, they are part of the main text instead.
        remarks: The longer ones of these lines, which nobody writes twice.
        comments_are_text: Whether such lines are part of the main text.
        rest: The text outside the main text, if there is much of it.
    """

    names: tuple[ShownName, ...] = ()
    pictures: tuple[str, ...] = ()
    has_lead: bool = False
    players: tuple[str, ...] = ()
    data: tuple[tuple[str, str], ...] = ()
    text: str | None = None
    links: tuple[str, ...] = ()
    is_listing: bool = False
    numbers: str | None = None
    comments: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    comments_are_text: bool = False
    rest: str | None = None

    @property
    def name(self) -> str:
        """The name of the page, the best one if there are several, or ""."""
        best = best_name(self.names)
        return best.words if best is not None else ""

    def without(self, kinds: Collection[str]) -> Self:
        """Return the marks without some kinds, which no longer tell the page apart from others.

        Without `listing`, a page that mostly consists of links is like any other page, with its
        name and without links. `links` only applies to other pages, because listings keep their
        links.

        Args:
            kinds: Any of `MARK_KINDS`. Others have no effect.
        """
        if not kinds:
            return self
        links = self.links
        # As links of an ordinary page, the links of a listing would tell the same pages apart.
        if ("listing" if self.is_listing else "links") in kinds:
            links = ()
        has_pictures = "picture" not in kinds
        return replace(
            self,
            names=() if "name" in kinds else self.names,
            pictures=self.pictures if has_pictures else (),
            has_lead=self.has_lead and has_pictures,
            players=() if "player" in kinds else self.players,
            data=() if "data" in kinds else self.data,
            text=None if "text" in kinds else self.text,
            links=links,
            is_listing=self.is_listing and "listing" not in kinds,
            comments=() if "comments" in kinds else self.comments,
            remarks=() if "comments" in kinds else self.remarks,
            rest=None if "rest" in kinds else self.rest,
        )

    def lines(self) -> tuple[str, ...]:
        """Return the marks in words, one per line, for people."""
        shown = [f"name {self.name}"] if self.name else []
        for place, picture in enumerate(self.pictures):
            is_lead = self.has_lead and place == 0
            shown.append(f"{'lead picture' if is_lead else 'picture'} {picture}")
        shown += [f"player {player}" for player in self.players]
        shown += [f"{name} {value}" for name, value in self.data]
        if self.is_listing:
            shown.append(f"listing of {len(self.links)} links")
        if self.comments:
            shown.append(f"comments of {len(self.comments)} lines below the text")
        if self.rest is not None:
            lines = self.rest.count("\n") + 1
            shown.append(f"{pluralize(lines, 'line')} outside the main text")
        return tuple(shown)

    def hashed(self, key: Key) -> "ContentMarks":
        """Hash the marks with the key of an index, which only stores the hashes."""
        return ContentMarks(
            names=tuple(
                Name(short_hash(name.words, key, NAME_BITS), name.roles) for name in self.names
            ),
            pictures=tuple(short_hash(picture, key, NAME_BITS) for picture in self.pictures),
            has_lead=self.has_lead,
            players=tuple(short_hash(player, key) for player in self.players),
            data=tuple(
                Datum(_datum_name_hash(name, key), short_hash(value, key))
                for name, value in self.data
            ),
            text=None if self.text is None else short_hash(self.text, key),
            links=min(len(self.links), MOST_LINKS),
            sketch=_links_hashed(self.links, key, is_listing=self.is_listing),
            is_listing=self.is_listing,
            numbers=None if self.numbers is None else short_hash(self.numbers, key),
            comments=_comments_hashed(self.comments, self.remarks, key),
            comments_are_text=self.comments_are_text,
            rest=None if self.rest is None else short_hash(self.rest, key),
        )


def _datum_name_hash(name: str, key: Key) -> int:
    """Return a 16-bit hash of the name of a declared value, or 0 for the availability."""
    if name == AVAILABILITY:
        return AVAILABILITY_HASH
    return short_hash(name, key) & 0xFFFF or 1


def _comments_hashed(
    comments: tuple[str, ...], remarks: tuple[str, ...], key: Key
) -> "Comments | None":
    if not comments:
        return None
    hashes = {short_hash(remark, key) for remark in remarks}
    return Comments(
        digest=short_hash("\n".join(comments), key), sample=tuple(sorted(hashes)[:MOST_COMMENTS])
    )


class Name(NamedTuple):
    """The hash of a page's name, and where the page shows it, such as in a heading."""

    hash: int
    roles: int


class Datum(NamedTuple):
    """A declared value: the hash of its name (16 bits) and the hash of the value."""

    name: int
    value: int


class Comments(NamedTuple):
    """The hashes of the comments next to a main text.

    `sample` has the smallest hashes of the longer lines, up to eight. Pages with the same comments
    have the same sample, and pages with many common ones share most of it.
    """

    digest: int
    sample: tuple[int, ...]


AnyName = TypeVar("AnyName", ShownName, Name)


def best_name(names: tuple[AnyName, ...]) -> AnyName | None:
    """Return the name that most likely is that of the page, or None if the page has none."""
    for role in _BEST_ROLES:
        for name in names:
            if name.roles & role:
                return name
    return None


@dataclass(frozen=True, slots=True)
class ContentMarks:
    """The hashes of `ShownMarks`, attribute by attribute.

    `links` is the number of links, up to 255, and `sketch` is an odd sketch of their targets: the
    parity of the links at each of 64 places. That of a listing with few links is a hash of them.
    """

    names: tuple[Name, ...] = ()
    pictures: tuple[int, ...] = ()
    has_lead: bool = False
    players: tuple[int, ...] = ()
    data: tuple[Datum, ...] = ()
    text: int | None = None
    links: int = 0
    sketch: int = 0
    is_listing: bool = False
    numbers: int | None = None
    comments: Comments | None = None
    comments_are_text: bool = False
    rest: int | None = None


@dataclass(frozen=True, slots=True)
class AddressMarks:
    """The parts of a page's address, as hashes.

    Attributes:
        site: The site.
        path: Host and path without views.
        folder: Host and path up to the last part.
        names: The names of the parameters that name content (16 bits).
        parameters: These parameters with their values, or 0 if there are none.
        views: The views, without campaigns, or 0 if there are none.
        canonical: The address of the page that the canonical link names, by default the page's
            own. It is 0 for the home page, which means nothing.
        is_proved: Whether the site has proved that `views` are views: see `crawldedup.hosts.views`.
            Always False without views.
        former: The text key of the page that this one replaced as the better copy, or 0. See
            `crawldedup.marks.learning.succeeding`.
    """

    site: int
    path: int
    folder: int
    names: int
    parameters: int
    views: int
    canonical: int
    is_proved: bool = False
    former: int = 0

    @property
    def is_certain(self) -> bool:
        """Whether nothing in the address can name content except its path and parameters."""
        return self.is_proved or not self.views

    @property
    def own_address(self) -> int:
        """The address without its view, in the form of `canonical`."""
        return whole_address(self.path, self.parameters)


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks of a page: those of its content and those of its address."""

    content: ContentMarks
    address: AddressMarks | None = None


def short_hash(value: str, key: Key, bits: int = SHORT_BITS) -> int:
    """Hash a text with the key of an index. The hash has the given number of bits, at most 64.

    It is never 0.
    """
    number = key.number(value.encode("utf-8", "replace"), "mark")
    return number & ((1 << bits) - 1) or 1


def sketch_of(values: Iterable[int]) -> int:
    """Return the odd sketch of a set: for each of 64 places, the parity of the hashes there.

    Two sketches differ in about as many bits as the two sets differ in members, as long as these
    are few (Mitzenmacher, Pagh & Pham: "Efficient estimation for high similarities using odd
    sketches", WWW 2014).
    """
    sketch = 0
    for value in values:
        sketch ^= 1 << value % SKETCH_BITS
    return sketch


def _links_hashed(links: Sequence[str], key: Key, *, is_listing: bool) -> int:
    """Return the sketch of a page's links or, for a short listing, a hash of all of them.

    Two short listings either lead to the same pages or are different, so nobody needs to know in
    how many links they differ. One link more or less is a single bit of a sketch, which often
    agrees by chance: that of one in 64 lists with a single link.
    """
    if not is_listing or len(links) >= _LONG_LISTING:
        return sketch_of(short_hash(link, key) for link in links)
    total = 0
    for link in set(links):
        total ^= short_hash(link, key, SKETCH_BITS)
    return total


def address_marks(
    address: Address, url: str, head: HeadLinks, key: Key, *, is_proved: bool = False
) -> AddressMarks:
    """Hash the parts of a page's address, and its canonical URL, which are marks as well.

    Args:
        address: The parts of the address.
        url: The URL of the page.
        head: The canonical links in the head of the page.
        key: The key of the index.
        is_proved: Whether the site has proved that the views in the URL are views.
    """
    path = short_hash(address.path, key, ADDRESS_BITS)
    parameters = _hash_of(address.parameters, key, ADDRESS_BITS)
    claimed = claimed_url(url, head)
    canonical = whole_address(path, parameters)
    if claimed is not None and claimed != url and (other := Address.of(claimed)) is not None:
        # On some sites, all pages name the home page.
        is_home = "/" not in other.path and not other.parameters
        its_path = short_hash(other.path, key, ADDRESS_BITS)
        its_parameters = _hash_of(other.parameters, key, ADDRESS_BITS)
        canonical = 0 if is_home else whole_address(its_path, its_parameters)
    return AddressMarks(
        site=short_hash(address.site, key),
        path=path,
        folder=short_hash(address.folder, key),
        names=_hash_of(address.names, key) & 0xFFFF,
        parameters=parameters,
        views=views_hash(address.views, key),
        canonical=canonical,
        is_proved=is_proved and bool(address.views),
    )


def views_hash(views: tuple[View, ...], key: Key) -> int:
    """Return a hash of the views that an address names, or 0 if there are none."""
    return _hash_of(tuple([str(view) for view in views]), key)


def _hash_of(values: tuple[str, ...], key: Key, bits: int = SHORT_BITS) -> int:
    """Return a single hash of several texts, or 0 if there are none."""
    return short_hash("&".join(values), key, bits) if values else 0


def whole_address(path: int, parameters: int) -> int:
    """Combine the hashes of path and parameters into one of the whole address without its view."""
    return (path ^ parameters) & _SHORT_MASK
