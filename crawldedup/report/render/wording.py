"""Numbers and times in words, and texts from pages made safe to show."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from rich.filesize import decimal

from crawldedup.printable import pluralize, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawldedup.report.model import Report, Saving

LONGEST_LINK: Final = 500
_LONGEST_SHOWN: Final = 120
_MOST_RULES: Final = 2
_PASSAGE: Final = re.compile(r"(\[-.*?-\]|\{\+.*?\+\})")


def compact(number: float) -> str:
    """Return a number with three digits: 1,234 as "1.23k"."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"


def lasting(seconds: float) -> str:
    """Return a time in two units: "2 h 5 min", "3 min 20 s", "12 s"."""
    if 0 < seconds < 10 and seconds != int(seconds):
        return f"{seconds:.1f} s"
    rest = round(seconds)
    parts: list[str] = []
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        number, rest = divmod(rest, size)
        if number or (unit == "s" and not parts):
            parts.append(f"{number} {unit}")
    return " ".join(parts[:2])


def precise(seconds: float) -> str:
    """Return a short time: "4.2 ms", "1.25 s"."""
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else lasting(seconds) if seconds >= 100 else f"{seconds:.3g} s"


def date(seconds: float) -> str:
    """Return a date in UTC."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"


def size(number: float) -> str:
    """Return a number of bytes: "1.2 MB"."""
    return decimal(int(number))


def percent(share: float | None) -> str:
    """Return a share: "12 %", "0.4 %", "–" for None."""
    if share is None:
        return "–"
    return f"{100 * share:.1f} %" if 0 < share < 0.01 or 0.99 < share < 1 else f"{100 * share:.0f} %"


def shown(text: str, longest: int = _LONGEST_SHOWN) -> str:
    """Return a text from a page, safe to show; of a longer one the middle is left out."""
    if len(text) > longest:
        text = f"{text[: longest * 2 // 3]}…{text[-(longest // 3) :]}"
    return printable(text, longest + 1)


def link(url: str) -> str:
    """Return a URL that may be linked to: of the web, whole and not too long. Else return an empty string."""
    if len(url) > LONGEST_LINK or "…" in url or not url.isprintable() or " " in url:
        return ""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return url if parts.scheme in ("http", "https") and parts.hostname else ""


def headline(report: Report) -> str:
    """Return the most important figures in a sentence or two."""
    counts = report.totals.counts
    if not counts.checked:
        return f"{counts.pages:,} responses came, and none was checked."
    told = f"{counts.checked:,} pages were checked: {counts.new:,} are new, {counts.duplicates:,} are duplicates"
    if counts.duplicates:
        told += f" ({percent(counts.duplicate_share)})"
    if counts.revisit:
        again = counts.revisit - report.totals.unwanted
        fate = "and" if again == counts.revisit else f"of which {again:,} were"
        told += f", {counts.revisit:,} were known {fate} delivered again"
    return f"{told}.{_saved(report.savings)}"


def _saved(savings: Sequence[Saving]) -> str:
    if not savings:
        return ""
    first, rest = savings[:_MOST_RULES], savings[_MOST_RULES:]
    rules = [f"{each.downloads:,} by the rule {shown(each.rule)}" for each in first]
    rules += [f"{sum(each.downloads for each in rest):,} by {pluralize(len(rest), 'other rule')}"] if rest else []
    return f" {sum(each.downloads for each in savings):,} downloads of copies were skipped: {', '.join(rules)}."


def index_health(report: Report) -> str:
    """Return what is known of the index, in sentences."""
    index = report.index
    told = []
    if index.known_after:
        each = "" if index.bytes is None else f", {index.bytes / index.known_after:,.0f} bytes each"
        told.append(f"The index holds {pluralize(index.known_after, 'page')}{each}.")
    if index.recall is not None:
        told.append(f"Expected recall: {percent(index.recall)}.")
    return " ".join(told)


def passages(difference: str) -> list[tuple[str, str]]:
    """Return a difference in pieces, each with "del" for the earlier page, "ins" for this one, or "" for both."""
    pieces = _PASSAGE.split(difference)
    kinds = {"[-": "del", "{+": "ins"}
    found = [(kinds.get(piece[:2], ""), piece) for piece in pieces if piece]
    return [(kind, piece[2:-2] if kind else piece) for kind, piece in found]
