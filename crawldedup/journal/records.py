"""The lines of a journal: JSON objects in ASCII, one a line, the first of which is a header."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from crawldedup.verdict import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT: Final = "crawldedup_journal"
"""The key of a header that no other line has. Its value is `VERSION`."""
VERSION: Final = 1

LONGEST_URL: Final = 2048

OUTCOMES: Final = {
    Kind.NEW: "new",
    Kind.NEAR_DUPLICATE: "near",
    Kind.EXACT_DUPLICATE: "exact",
    Kind.REVISIT: "revisit",
    Kind.THIN: "thin",
}
"""What the lines of checked pages call their kinds."""

_encode: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def line_of(record: Mapping[str, Any]) -> bytes:
    """Return a record as one line."""
    return _encode(record).encode("ascii") + b"\n"


def record_in(line: bytes | str) -> dict[str, Any] | None:
    """Return the record that a line holds; None for a line that was cut off, or is of another program."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def header_in(line: bytes) -> dict[str, Any] | None:
    """Return the header that a line holds, or None."""
    match record_in(line):
        case {"crawldedup_journal": 1, "crawl": str(), "spider": str(), "started": int() | float()} as header:
            return header
    return None


def shown(url: str) -> str:
    """Return a URL without lone surrogates, which are no Unicode text, and cut at `LONGEST_URL` characters.

    A cut one ends with a hash of the whole and "…", so that different URLs stay different.
    """
    if not url.isascii():
        url = url.encode("utf-8", "replace").decode("utf-8")
    if len(url) <= LONGEST_URL:
        return url
    whole = hashlib.blake2b(url.encode(), digest_size=8).hexdigest()
    return f"{url[: LONGEST_URL - len(whole) - 1]}{whole}…"


def pages_in(end: Mapping[str, Any]) -> int:
    """Return how many responses a last line counts."""
    stats = end.get("stats")
    groups = ("crawldedup/skipped/", "crawldedup/error/")
    counts = (
        count
        for name, count in (stats.items() if isinstance(stats, dict) else ())
        if name == "crawldedup/checked" or name.startswith(groups)
    )
    return sum(count for count in counts if isinstance(count, int))
