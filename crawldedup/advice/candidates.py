"""Candidates for rules: in what do the addresses of two copies differ?"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from crawldedup.advice.address import VIEWS, Address, is_token, name_of
from crawldedup.advice.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawldedup.advice.weighing import Placed

MOST_OF_A_SITE: Final = 64
"""So many candidates of a site are weighed, those that the most copies speak for."""

_MOST_COUNTED: Final = 5_000
_TWINS: Final = 3
_MOST_PARAMETERS: Final = 6
_LONGEST_VALUE: Final = 20
_LONGEST_ENDING: Final = 40
_MOST_FOLDERS: Final = 4
_VIEW: Final = re.compile(rf"\b(?:{VIEWS}|mirror|wap)\b|^http:", re.IGNORECASE)
_Change = tuple[str, str, str, str]
"""The kind, site, find and replace of a rule."""

_PATH_PARAMETER: Final = re.compile(r";([^=/;]+)=[^/;]*")


def candidates(pages: Sequence[Placed], least: int) -> list[Rule]:
    """Return candidates for which `least` copies speak, of each site those with the most."""
    votes: defaultdict[str, Counter[_Change]] = defaultdict(Counter)
    turned: Counter[_Change] = Counter()
    recent: dict[int, deque[Address]] = {}
    for address, page, twin in pages:
        if twin is None:
            continue
        copies = recent.get(page.content)
        if copies is None:
            copies = recent[page.content] = deque([twin], _TWINS)
        for other in {twin, *copies}:
            if other == address:
                continue
            for change in _between(address, other):
                counted = votes[change[1]]
                if change in counted or len(counted) < _MOST_COUNTED:
                    counted[change] += 1
                    if other == twin:
                        worse = address if not page.replaces else twin
                        turned[change] += -1 if Rule(*change).rewritten(worse) else 1
        copies.append(address)
    chosen = (each for of_site in votes.values() for each in of_site.most_common(MOST_OF_A_SITE))
    # Without an order of copies, the first is as good as any.
    is_ordered = any(page.replaces for _, page, _ in pages)
    rules = [(Rule(*change), is_ordered and turned[change] > 0) for change, count in chosen if count >= least]
    return [_turned(rule) if is_turned else rule for rule, is_turned in rules]


def _turned(rule: Rule) -> Rule:
    """Return the rule that makes worse URLs of better ones, the other way round where that is possible."""
    if rule.kind == "host":
        return replace(rule, site=rule.replace, find=rule.replace, replace=rule.find)
    is_possible = rule.kind in ("prefix", "suffix") and rule.replace not in ("", "/")
    return replace(rule, find=rule.replace, replace=rule.find) if is_possible else rule


def _between(one: Address, other: Address) -> Iterator[_Change]:
    """Yield the rules that make one address of another, if they differ in one respect.

    Which of them is the better one is guessed by their words and lengths.
    """
    if one.parameters != other.parameters:
        if one.origin == other.origin and one.path == other.path:
            yield from _of_queries(one, other)
    elif one.origin != other.origin:
        if one.path == other.path:
            worse, better = _sorted(one.origin, other.origin)
            yield "host", worse, worse, better
    elif one.path != other.path:
        yield from _of_paths(one.origin, one.path, other.path)


def _sorted(one: str, other: str, *, nothing: str = "") -> tuple[str, str]:
    """Return the worse of two parts of URLs, and the better one, as which `nothing` counts: it cannot be found."""
    better, worse = sorted((one, other), key=lambda part: (part != nothing, bool(_VIEW.search(part)), len(part), part))
    return worse, better


def _of_queries(one: Address, other: Address) -> Iterator[_Change]:
    differing = {*one.parameters} ^ {*other.parameters}
    names = sorted({*map(name_of, differing)})
    if not 0 < len(names) <= _MOST_PARAMETERS:
        return
    yield "query", one.origin, "&".join(names), ""
    if len(names) == 1 and len(differing) == 1:
        (parameter,) = differing
        if "=" in parameter and len(parameter) <= _LONGEST_VALUE and not is_token(parameter.partition("=")[2]):
            yield "query", one.origin, parameter, ""


def _of_paths(origin: str, one: str, other: str) -> Iterator[_Change]:
    if ";" in one or ";" in other:
        if _PATH_PARAMETER.sub("", one) == _PATH_PARAMETER.sub("", other):
            for name in {*_PATH_PARAMETER.findall(one), *_PATH_PARAMETER.findall(other)}:
                yield "session", origin, f";{name}", ""
        return
    left, right = one.split("/")[1:], other.split("/")[1:]
    start = _common(left, right)
    # What names the page stands behind what differs, and is not empty.
    end = _common(left[start:][::-1], right[start:][::-1])
    if end and (left[-1] or end > 1):
        yield from _of_beginnings(origin, left[: len(left) - end], right[: len(right) - end], start)
    yield from _of_endings(origin, one, other)


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    return next(
        (at for at, (one, other) in enumerate(zip(left, right, strict=False)) if one != other),
        min(len(left), len(right)),
    )


def _of_beginnings(origin: str, left: list[str], right: list[str], start: int) -> Iterator[_Change]:
    """Yield rules for two lists of folders that both end where they differ last, and first at `start`."""
    if len(left) < len(right) and any(map(is_token, right)):
        left, right = right, left
    tokens = [at for at in range(start, len(left)) if is_token(left[at])]
    if tokens or any(map(is_token, right[start:])):
        # Ids in both, one in place of the other, or one that stands in front of the rest, with or without a word.
        is_swapped = len(left) == len(right) == start + 1
        if tokens == [len(left) - 1] and (is_swapped or (len(right) == start and len(left) - start <= 2)):
            find = _folders(left[:-1])
            yield "session", origin, find, find if is_swapped else _folders(right)
        return
    if max(len(left), len(right)) <= _MOST_FOLDERS:
        yield "prefix", origin, *_sorted(_folders(left), _folders(right), nothing="/")


def _of_endings(origin: str, one: str, other: str) -> Iterator[_Change]:
    start = _common(one, other)
    if one[start : start + 1].isalnum() or other[start : start + 1].isalnum():
        # Not in the middle of a word.
        start -= 1
        if start < 0 or one[start].isalnum():
            return
    left, right = _sorted(one[start:], other[start:])
    # Numbers tell pages apart.
    if start and len(left) + len(right) <= _LONGEST_ENDING and not any(map(str.isdigit, left + right)):
        yield "suffix", origin, left, right


def _folders(names: list[str]) -> str:
    return "/".join(("", *names, ""))
