"""Describe the pages that a crawl kept apart, and suggest marks that a user may want to ignore."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from crawldedup.errors import ConfigurationError
from crawldedup.marks.quiet import check_ignored_marks
from crawldedup.marks.reasons import kind_in_words
from crawldedup.scope import EVERY_HOST

Row = dict[str, Any]

SAME_TEXT: Final = 0.99
"""Pages that are at least this similar count as having the same text.

Estimates are off by a few words.
"""

_SETTING: Final = "CRAWLDEDUP_IGNORE_MARKS"
# The marks that a template may change with every load. Different texts or links mean content.
_CHANGING: Final = ("picture", "data", "name", "player", "rest")
_LEAST_PAGES: Final = 10
# Share of a pattern's judged pages. Content with two addresses is found at one of them first.
_LEAST_SHARE: Final = 0.25
# If this share of the pages has copies with the same mark at other paths, the mark is stable.
_SHARE_CONFIRMED: Final = 0.5
_MOST_SUGGESTED: Final = 20


def named_in_words(row: Row) -> Row:
    """Add `what` to a row: a description of its kind of mark, by the name of that kind."""
    return {**row, "what": kind_in_words(row["kind"])}


def in_words(row: Row) -> Row:
    """Add `what` to a row: a description of the kind of mark that kept its pages apart.

    If the example has no reason of its own, the description becomes its reason.
    """
    named = named_in_words(row)
    example = row["example"]
    return {**named, "example": {**example, "reason": example["reason"] or named["what"]}}


def ignorable_in(apart: Iterable[Row]) -> list[Row]:
    """Return the kinds of marks that may change with every load, each with a pair of pages.

    Such a kind kept many pages of one URL pattern apart from pages with the same text. Only a look
    at the pages shows whether their content is different, as with the pictures of a gallery. A kind
    is left out if most of these pages have copies elsewhere with the same mark, because that shows
    that the mark is stable.
    """
    found = []
    for row in apart:
        is_frequent = row["same_text"] >= max(_LEAST_PAGES, _LEAST_SHARE * row["judged"])
        may_change = row["kind"] in _CHANGING
        is_steady = row["confirmed"] >= _SHARE_CONFIRMED * row["pages"]
        host = _host_of(row) if may_change and is_frequent and not is_steady else ""
        if host:
            names = ("site", "name", "kind", "what", "same_text", "example")
            suggestion = {"host": host, **{name: row[name] for name in names}}
            found.append({**suggestion, "setting": setting_of([suggestion])})
    return found[:_MOST_SUGGESTED]


def setting_of(suggestions: Sequence[Mapping[str, Any]]) -> str:
    """Return the setting that applies these suggestions: one line of ASCII to copy."""
    by_host: dict[str, list[str]] = {}
    for each in suggestions:
        kinds = by_host.setdefault(each["host"], [])
        if each["kind"] not in kinds:
            kinds.append(each["kind"])
    return f"{_SETTING} = {json.dumps(by_host)}"


def _host_of(row: Row) -> str:
    """Return the host to name in the setting: that of all the pages, their site, or else ""."""
    try:
        host = urlsplit(row["origin"] or f"//{row['site']}").hostname or ""
        (checked,) = check_ignored_marks(_SETTING, {host: [row["kind"]]}) or [""]
    except (ValueError, ConfigurationError):
        return ""
    # The host in a URL may be "*", which must not become a setting for all hosts.
    return "" if checked == EVERY_HOST else checked
