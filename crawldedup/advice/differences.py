"""Compare the URLs of a copy and its original, and find rules that turn one into the other.

A rule leads from the worse address to the better one. The better one doesn't have a word for a
view, such as "print", or else it's shorter.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from crawldedup.advice.rules import FRAME, Address, are_views, is_frame, is_token, name_of
from crawldedup.advice.views import VIEWS

_MOST_PARAMETERS: Final = 6
_LONGEST_VALUE: Final = 20
_LONGEST_ENDING: Final = 40
_MOST_LEVELS: Final = 4
_VIEW: Final = re.compile(rf"\b(?:{VIEWS}|mirror|wap)\b|^http:", re.IGNORECASE)


class Change(NamedTuple):
    """What a rule changes in a URL. The fields have the same meaning as in `Rule`."""

    kind: str
    site: str
    find: str
    replace: str = ""


def changes_between(one: Address, other: Address) -> Iterator[Change]:
    """Yield the rules that turn one URL into the other.

    There are none if they differ in several ways, or if their hosts may belong to different owners.
    """
    differing = [part != other_part for part, other_part in zip(one, other, strict=True)]
    match differing:
        case [False, False, True]:
            yield from _of_queries(one, other)
        case [True, False, False] if are_views(one.origin, other.origin):
            worse, better = _sorted(one.origin, other.origin)
            yield Change("host", worse, worse, better)
        case [False, True, False]:
            have_queries = bool(one.parameters)
            yield from _of_paths(one.origin, one.path, other.path, have_queries=have_queries)


def _sorted(one: str, other: str, *, nothing: str = "") -> tuple[str, str]:
    """Put two parts of URLs in order: the worse one first, then the better one.

    `nothing` counts as better, because a rule can't search for it.
    """
    better, worse = sorted(
        (one, other), key=lambda part: (part != nothing, bool(_VIEW.search(part)), len(part), part)
    )
    return worse, better


def _of_queries(one: Address, other: Address) -> Iterator[Change]:
    if all(is_frame(each.parameters) or not each.parameters for each in (one, other)):
        yield Change("query", one.origin, FRAME)
    differing = set(one.parameters) ^ set(other.parameters)
    names = sorted({name_of(parameter) for parameter in differing})
    if 0 < len(names) <= _MOST_PARAMETERS:
        yield Change("query", one.origin, "&".join(names))
    if len(differing) == 1:
        (parameter,) = differing
        if _has_short_value(parameter):
            yield Change("query", one.origin, parameter)


def _has_short_value(parameter: str) -> bool:
    """Return whether a parameter's value may be part of a rule: it is short, and no session ID."""
    is_short = "=" in parameter and len(parameter) <= _LONGEST_VALUE
    return is_short and not is_token(parameter.partition("=")[2])


def _of_paths(origin: str, one: str, other: str, *, have_queries: bool) -> Iterator[Change]:
    yield from _of_beginnings(origin, one, other)
    yield from _of_endings(origin, one, other, are_scripts=have_queries)


def _of_beginnings(origin: str, one: str, other: str) -> Iterator[Change]:
    """Yield a rule if two paths only differ in the folders that they start with."""
    left = one.split("/")[1:]
    right = other.split("/")[1:]
    # The name of the page comes after the part that differs, and isn't empty.
    end = min(_common(left[::-1], right[::-1]), min(len(left), len(right)) - _common(left, right))
    if end == 0 or (end == 1 and not left[-1]):
        return
    left_folders = left[:-end]
    right_folders = right[:-end]
    if max(len(left_folders), len(right_folders)) > _MOST_LEVELS:
        return
    if any(is_token(folder) for folder in (*left_folders, *right_folders)):
        return
    before = "/".join(("", *left_folders, ""))
    after = "/".join(("", *right_folders, ""))
    yield Change("prefix", origin, *_sorted(before, after, nothing="/"))


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    """Return how many parts two sequences have in common, counted from the start."""
    for place, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return place
    return min(len(left), len(right))


def _of_endings(
    origin: str, one: str, other: str, *, are_scripts: bool = False
) -> Iterator[Change]:
    """Yield a rule if two paths only differ in how they end.

    For scripts, the query names the content, so a whole path may count as an ending.
    """
    start = _common(one, other)
    if one[start : start + 1].isalnum() or other[start : start + 1].isalnum():
        # Not in the middle of a word.
        start -= 1
        while are_scripts and start > 0 and one[start].isalnum():
            start -= 1
        if start < 0 or one[start].isalnum():
            return
    if start == 0 and not are_scripts:
        return
    worse, better = _sorted(one[start:], other[start:])
    # Numbers tell pages apart.
    has_numbers = any(character.isdigit() for character in worse + better)
    if len(worse) + len(better) <= _LONGEST_ENDING and not has_numbers:
        yield Change("suffix", origin, worse, better)
