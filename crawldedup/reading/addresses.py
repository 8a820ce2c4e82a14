"""Find the URLs that an element names: of its picture, its player, or its background.

Libraries that load pictures late keep the address in a separate attribute, with a blank picture in
`src`. The names of these attributes differ, but they have words in common.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Final

Attributes = Mapping[str, str | None]

NO_ADDRESS: Final = ("data:", "about:", "javascript:", "blob:")
"""The beginnings of attribute values that lead to no file.

They contain the file itself, run a script, or stand for an empty page.
"""

_LONGEST: Final = 2048
"""The maximum number of letters in an address. A longer one is cut off, and a hash is added."""

_BEGINNING: Final = 100
_LONGEST_NAME: Final = 50
_LONGEST_SET: Final = 20_000
_LONGEST_STYLE: Final = 300_000

# What an attribute may name, most reliable first.
_LATE, _PLAIN, _SET, _PLAYER, _OTHER, _NOTHING = range(6)

_PLAIN_NAMES: Final = frozenset(["src", "data", "poster"])
_SET_NAME: Final = re.compile(r"(?:data[\w-]*[-_])?(?:\w*src-?set|bg-?set)")
_LATE_NAME: Final = re.compile(
    r"(?:data-|data[\w-]+[-_]|pagespeed[-_]|ng-|v-|lazy-?)"
    r"(?:\w*src|original|lazy\w*|(?:echo|bg|set-?bg|background)(?:-(?:image|img))?)"
    r"(?:-(?:retina|small|medium|large|hidpi|multi|\dx))?"
    r"|zoomfile|file"
)
_PLAYER_NAME: Final = re.compile(
    r"(?:data-.*)?(?:video|youtube|vimeo|embed|player)-?(?:id|url|code)|flashvars"
)
_OTHER_NAME: Final = re.compile(
    r"data-.*(?:ima?ge?|bg|background|photo|pic|thumb|full|large|zoom|poster|media|file|hi-?res|"
    r"cover|slide|parallax).*"
    r"|background|lowsrc|dynsrc"
)
_LIKE_ADDRESS: Final = re.compile(r"data:|[^\s/.]{0,200}[/.]\S")
_MEDIA_FILE: Final = re.compile(
    r"\.(?:jpe?g|png|gif|webp|avif|svg|bmp|tiff?|mp[34]|m4[av]|webm|og[gv]|pdf|swf)(?=[?#\"'\s,)&]|$)",
    re.IGNORECASE,
)
_DESCRIPTOR: Final = re.compile(r"[\d.]{1,20}[wxh],?")
_IN_STYLE: Final = re.compile(
    r"\burl\(\s{0,9}(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'()]*))", re.IGNORECASE
)


def addresses_of(attributes: Attributes) -> Iterator[str]:
    """Yield the addresses in an element's attributes, starting with that of its own file.

    Attributes are recognized by their names, such as `src`, `data-src` and `srcset`. Addresses that
    a library loads late come before `src`, which may be a blank picture.
    """
    if first := attributes.get("data-src"):
        yield first
    named = []
    for name, value in attributes.items():
        if value and name != "data-src":
            kind = _kind_of(name)
            if kind != _NOTHING:
                named.append((kind, value))
    for kind, value in sorted(named, key=_by_kind):
        if kind == _SET:
            yield from _in_set(value)
        elif kind in (_PLAIN, _PLAYER) or _LIKE_ADDRESS.match(value):
            yield value


def first_address(attributes: Attributes) -> str:
    """Return the address of the file that an element shows, or "" if there is none."""
    for address in addresses_of(attributes):
        if not address.startswith(NO_ADDRESS):
            return address
    return ""


def named_files(attributes: Attributes) -> Iterator[str]:
    """Yield the values of unusual `data-` attributes that contain the name of a media file.

    Attributes that `addresses_of` knows are left out.
    """
    for name, value in attributes.items():
        if (
            value
            and name.startswith("data-")
            and _kind_of(name) == _NOTHING
            and _MEDIA_FILE.search(value)
        ):
            yield value


def addresses_in_style(style: str) -> Iterator[str]:
    """Yield the addresses in a style sheet or a `style` attribute, such as backgrounds.

    A very long style sheet is yielded as a whole, without a search for addresses.
    """
    if len(style) > _LONGEST_STYLE:
        yield style
        return
    # Takes linear time, because the text of an open quote ends at the next one.
    for match in _IN_STYLE.finditer(style):
        if address := match[1] or match[2] or match[3]:
            yield address


def is_media_file(address: str) -> bool:
    """Return whether an address names a picture, a film, a sound or a PDF.

    A picture in a data URL also counts.
    """
    return address.startswith("data:image") or _MEDIA_FILE.search(address) is not None


def shortened(address: str) -> str:
    """Return an address or, if it is very long, its beginning and a hash of all of it.

    With the hash, it stays different from others.
    """
    if len(address) <= _LONGEST:
        return address
    return f"{address[:_BEGINNING]}…{digest_of(address)}"


def digest_of(text: str) -> str:
    """Return a digest that stands for a text too long to be compared itself."""
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


def _by_kind(named: tuple[int, str]) -> int:
    return named[0]


# The pages of a site use the same few attribute names again and again.
@lru_cache(maxsize=4096)
def _kind_of(name: str) -> int:
    if name in _PLAIN_NAMES:
        return _PLAIN
    if len(name) > _LONGEST_NAME:
        return _NOTHING
    for kind, pattern in (
        (_SET, _SET_NAME),
        (_LATE, _LATE_NAME),
        (_PLAYER, _PLAYER_NAME),
        (_OTHER, _OTHER_NAME),
    ):
        if pattern.fullmatch(name):
            return kind
    return _NOTHING


def _in_set(value: str) -> Iterator[str]:
    """Yield the addresses in `srcset` without their sizes. They may contain commas.

    A data URL or a very long value is yielded as it is.
    """
    if value.startswith("data:") or len(value) > _LONGEST_SET:
        yield value
        return
    for part in value.split():
        if not _DESCRIPTOR.fullmatch(part) and (address := part.strip(",")):
            yield address
