"""Files in which users list pages to keep apart from others, no matter how similar they are."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from crawldedup.checks import refused
from crawldedup.errors import ConfigurationError
from crawldedup.text import printable
from crawldedup.urls import canonical_url

Apart = frozenset[str]
"""The URLs, in normal form, of pages that are never compared with other pages."""

_ALLOWED: Final = (
    'a file that `crawldedup restore --apart` writes, such as "apart.jl", or a list of URLs'
)
_EXAMPLE: Final = '{"url": "https://shop.example/blue", "original": "https://shop.example/red"}'


class Pair(NamedTuple):
    """Two pages that a user has declared not to be copies, although they read alike."""

    url: str  #: The URL of the page that is told apart.
    original: str | None = None  #: The URL of the page that it was taken for a copy of.


def check_apart(name: str, value: object) -> Apart | None:
    """Check the value of an option that tells pages apart, and return the pages.

    Args:
        name: The option, for error messages.
        value: The path of a file of pairs, or a list of URLs.

    Returns:
        The URLs of the pages in normal form. None, and a value that was checked before, are
        returned as they are.

    Raises:
        ConfigurationError: The value is anything else, or the file cannot be read.
    """
    if value is None or isinstance(value, frozenset):
        return value
    if isinstance(value, str | os.PathLike) and str(value):
        try:
            return frozenset(canonical_url(pair.url) for pair in read_pairs(Path(value)))
        except ConfigurationError as error:
            raise ConfigurationError(f"{name} is {str(value)!r}: {error}") from None
    if isinstance(value, list | tuple | set) and all(isinstance(url, str) and url for url in value):
        return frozenset(canonical_url(url) for url in value)
    raise refused(name, value, _ALLOWED)


def read_pairs(path: Path) -> list[Pair]:
    """Read the pairs in a file, which has one JSON object on each line. Blank lines are skipped.

    Raises:
        ConfigurationError: The file can't be read, or one of its lines isn't a pair.
    """
    shown = printable(str(path))
    try:
        lines = path.read_text("utf-8").splitlines()
    # A path with a NUL byte is a ValueError, like text that is not UTF-8.
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigurationError(
            f"{shown} cannot be read: {reason}; `crawldedup restore --apart` writes such a file, "
            "and an empty file is allowed"
        ) from None
    pairs = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        pair = _pair_of(line)
        if pair is None:
            raise ConfigurationError(
                f"{shown}, line {number}: this line is not like {_EXAMPLE}, with no other fields"
            )
        pairs.append(pair)
    return pairs


def _pair_of(line: str) -> Pair | None:
    """Parse the pair on a line, or return None if it isn't one, or has other fields as well."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    # An item of a feed also has a URL. If one field were enough, all of its pages would be apart.
    if not isinstance(value, Mapping) or not set(value) <= set(Pair._fields):
        return None
    url = value.get("url")
    original = value.get("original")
    if not isinstance(url, str) or not url or not isinstance(original, str | None):
        return None
    return Pair(url, original)


def lines_of(pairs: Iterable[Pair]) -> Iterator[str]:
    """Yield the lines to write to a file: one for each page that is told apart.

    It has the first pair of the page. URLs with the same normal form are the same page.
    """
    known = set()
    for pair in pairs:
        url = canonical_url(pair.url)
        if url not in known:
            known.add(url)
            yield f"{json.dumps(pair._asdict())}\n"
