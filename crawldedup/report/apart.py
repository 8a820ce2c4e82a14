"""What a crawl kept apart, in words, and the marks that a user may tell to keep quiet."""

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
"""From this estimated similarity on, two pages have one text: the estimate is off by some words."""

_SETTING: Final = "CRAWLDEDUP_IGNORE_MARKS"
# Marks that a template may change with every load. Another text and other links are contents.
_CHANGING: Final = ("picture", "data", "name", "player")
_LEAST_PAGES: Final = 10
# Of the judged pages of a pattern. A content that has two addresses comes first at one of them.
_LEAST_SHARE: Final = 0.25
# Of pages that have copies with the same mark at other paths: from here on, it does not change.
_SHARE_CONFIRMED: Final = 0.5
_MOST_SUGGESTED: Final = 20


def named_in_words(row: Row) -> Row:
    """Return a row with what its kind of mark means."""
    return {**row, "what": kind_in_words(row["kind"])}


def in_words(row: Row) -> Row:
    """Return a row with what its kind means, and with an example that has a reason in any case."""
    named = named_in_words(row)
    example = row["example"]
    return {**named, "example": {**example, "reason": example["reason"] or named["what"]}}


def ignorable_in(apart: Iterable[Row]) -> list[Row]:
    """Return the marks that may change by themselves, each with a pair of pages to look at.

    One kind of mark has kept many pages of a pattern from pages with the same text. They may be
    contents all the same, as the pictures of a gallery are: only a look at them tells. If most of
    them have copies elsewhere whose marks agree, the mark does not change, and is not named.
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
    """Return the setting that follows suggestions, as a line to copy. It is plain ASCII."""
    by_host: dict[str, list[str]] = {}
    for each in suggestions:
        kinds = by_host.setdefault(each["host"], [])
        if each["kind"] not in kinds:
            kinds.append(each["kind"])
    return f"{_SETTING} = {json.dumps(by_host)}"


def _host_of(row: Row) -> str:
    """Return the host for the setting: that of all pages, or their site; "" if it names none."""
    try:
        host = urlsplit(row["origin"] or f"//{row['site']}").hostname or ""
        (checked,) = check_ignored_marks(_SETTING, {host: [row["kind"]]}) or [""]
    except (ValueError, ConfigurationError):
        return ""
    # A page must not suggest a setting for all hosts.
    return "" if checked == EVERY_HOST else checked
