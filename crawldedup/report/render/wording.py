"""What templates call: numbers and times in words, texts from pages made safe to show, and places in charts."""

import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlsplit

from rich.filesize import decimal

from crawldedup.errors import pluralize, printable

LONGEST_LINK: Final = 500
_LONGEST_SHOWN: Final = 120
_MOST_RULES: Final = 2
_MOST_LABELS: Final = 10
_MOST_LINES: Final = 5
_PASSAGE: Final = re.compile(r"(\[-.*?-\]|\{\+.*?\+\})")


def compact(number: float) -> str:
    """Return a number with three digits: 1,234 as "1.23k"."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"


def lasting(seconds: float) -> str:
    """Return a time in at most two units: "2 h 5 min", "3 min 20 s", "1.25 s", "4.2 ms"."""
    if seconds < 60:
        return f"{1000 * seconds:.3g} ms" if 0 < seconds < 1 else f"{seconds:.3g} s"
    rest, parts = round(seconds), list[str]()
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        number, rest = divmod(rest, size)
        if number:
            parts.append(f"{number} {unit}")
    return " ".join(parts[:2])


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


def headline(report: Mapping[str, Any]) -> str:
    """Return the most important figures in a sentence or two."""
    totals = report["totals"]
    counts, checked, copies = totals["counts"], totals["checked"], totals["duplicates"]
    if not checked:
        return f"{totals['responses']:,} responses came, and none was checked."
    if report["crawl"]["is_scan"]:
        kept = counts["new"] + counts["thin"]
        return f"{checked:,} pages were compared: {kept:,} are kept, {copies:,} are duplicates of them."
    share = f" ({percent(totals['share'])})" if copies else ""
    known = ""
    if revisits := counts["revisit"]:
        fate = f"of which {revisits - totals['unwanted']:,} were" if totals["unwanted"] else "and"
        known = f", {revisits:,} were known {fate} delivered again"
    words = f"{checked:,} pages were checked: {counts['new']:,} are new, {copies:,} are duplicates{share}{known}."
    savings = report["savings"]
    rules = [f"{row['downloads']:,} by the rule {shown(row['rule'])}" for row in savings[:_MOST_RULES]]
    if rest := savings[_MOST_RULES:]:
        rules.append(f"{sum(row['downloads'] for row in rest):,} by {pluralize(len(rest), 'other rule')}")
    total = sum(row["downloads"] for row in savings)
    return words + (f" {total:,} downloads of copies were skipped: {', '.join(rules)}." if rules else "")


def change_by(what_if: Mapping[str, Any]) -> str:
    """Return what another similarity would change; a looser one also looks further than the crawl did."""
    if what_if["kept"] is not None:
        return f"at most {what_if['kept']:,} duplicates fewer"
    return "more duplicates" if what_if["dropped"] is None else f"at least {what_if['dropped']:,} duplicates more"


def index_health(index: Mapping[str, Any]) -> str:
    """Return what is known of the index, in sentences."""
    if not index["known_after"]:
        return ""
    each = "" if index["bytes"] is None else f", {index['bytes'] / index['known_after']:,.0f} bytes each"
    recall = "" if index["recall"] is None else f" Expected recall: {percent(index['recall'])}."
    return f"The index holds {pluralize(index['known_after'], 'page')}{each}.{recall}"


def passages(difference: str) -> list[tuple[str, str]]:
    """Return a difference in pieces, each with "del" for the earlier page, "ins" for this one, or "" for both."""
    pieces = _PASSAGE.split(difference)
    kinds = {"[-": "del", "{+": "ins"}
    marked = [(kinds.get(piece[:2], ""), piece) for piece in pieces if piece]
    return [(kind, piece[2:-2] if kind else piece) for kind, piece in marked]


def axis(low: float, high: float) -> list[float]:
    """Return values at a round distance, at most seven, of which the outer ones enclose two others."""
    span = (high - low) or high or 1
    power = 10 ** math.floor(math.log10(span / _MOST_LINES))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if span / (power * factor) <= _MOST_LINES)
    first = math.floor(low / step)
    return [step * number for number in range(first, max(math.ceil(high / step), first + 1) + 1)]


def depth(value: float, grid: Sequence[float]) -> float:
    """Return how far below the top of an axis a value is, in percent."""
    return 100 * (grid[-1] - value) / (grid[-1] - grid[0])


def time_labels(moments: Sequence[Mapping[str, Any]]) -> list[tuple[float, str]]:
    """Return when the steps of a crawl began, at most ten of them, with their places in the width, from 0 to 1."""
    marks = [(at / len(moments), lasting(moment["seconds"])) for at, moment in enumerate(moments)]
    return marks[:: -(-len(marks) // _MOST_LABELS)]
