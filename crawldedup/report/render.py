"""Show a report: as a self-contained page, in a terminal, or as a file.

Nothing from crawled pages can run in the page. In a terminal, their texts are plain, with control
characters escaped. The suffix of a file decides its format: a page, data, or one row per verdict.
"""

import base64
import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from crawldedup.commands.command import check_target, target_file
from crawldedup.errors import ConfigurationError
from crawldedup.report.apart import setting_of
from crawldedup.report.queries import CHANGES, Database, Report, check_installed
from crawldedup.text import pluralize, printable

if TYPE_CHECKING:
    from jinja2 import Environment

LARGEST_PAGE: Final = 500_000  # bytes; a page above this gets tables with fewer rows

_PACKAGE: Final = "crawldedup.report"
_NARROWEST: Final = 16
# The beginnings of lines that have a style, and these styles.
_MARKS: Final = {"= ": ("bold", ""), "! ": ("bold red", "- "), "? ": ("yellow", "- ")}

ROWS: Final = {
    ".csv": ("FORMAT csv, HEADER", "safe_columns"),
    ".jsonl": ("FORMAT json, ARRAY false", "all_columns"),
    ".parquet": ("FORMAT parquet, COMPRESSION zstd", "all_columns"),
}
SUFFIXES: Final = (".html", ".json", *ROWS)

_MOST_RULES: Final = 2
_MOST_GRID_LINES: Final = 5
_PASSAGE: Final = re.compile(r"(\[-.*?-\]|\{\+.*?\+\})")


@cache
def templates_of(package: str, *functions: Callable[..., object]) -> "Environment":
    """Return the templates in the folder `page` of a package.

    HTML templates escape all values. An undefined variable raises an error.
    """
    # Not everyone who asks for a report has it.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(package, "page"),
        autoescape=lambda name: name is None or not name.endswith(".txt"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    of_reports = (
        axis,
        change_by,
        compact,
        date,
        depth,
        headline,
        index_health,
        lasting,
        link,
        passages,
        percent,
        pluralize,
        setting_of,
    )
    named = {
        function.__name__: function for function in (*of_reports, shown, time_labels, *functions)
    }
    environment.globals |= {**named, "size": environment.filters["filesizeformat"]}
    return environment


def page_of(report: Report, template: str = "report.html") -> str:
    """Render the report as an HTML page, with as many rows as fit into `LARGEST_PAGE`.

    If not even the shortest page fits, it is "".
    """
    from markupsafe import Markup

    folder = files(_PACKAGE) / "page"
    style, script = (
        (folder / name).read_text(encoding="utf-8") for name in ("report.css", "report.js")
    )
    more = {"style": Markup(style), "script": Markup(script), "hash_of": _hash_of}
    pages = (rendered(template, report, most=most, **more) for most in (200, 100, 50, 25, 10, 5, 2))
    return next((page for page in pages if len(page.encode()) <= LARGEST_PAGE), "")


def rendered(name: str, report: Report, **more: Any) -> str:
    """Render a template with the parts of a report and more values."""
    values = {**report, "report": report, "changes": CHANGES, **more}
    return templates_of(_PACKAGE).get_template(name).render(values).lstrip()


def _hash_of(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def lines_of(report: Report) -> Iterator[RenderableType]:
    """Yield the parts of a report in the order in which a terminal shows them."""
    text = rendered("report.txt", report, most=10)
    for is_table, lines in groupby(text.splitlines(), lambda line: "\t" in line):
        if is_table:
            yield _table([line.split("\t") for line in lines])
            continue
        for line in lines:
            style, mark = _MARKS.get(line[:2], ("", line[:2]))
            yield Text(mark + line[2:], style=style)


def _table(rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    # An empty column would only take room from the others.
    columns = [column for column in zip(*rows, strict=True) if {*column[1:]} - {"", "–"}]
    for heading, *_ in columns:
        is_number = heading.startswith("#")
        table.add_column(
            heading.removeprefix("#"), justify="right" if is_number else "left", no_wrap=is_number
        )
    for cells in [*zip(*columns, strict=True)][1:]:
        table.add_row(*map(_Line, cells))
    return table


class _Line:
    """A text that stays on one line. If there isn't enough room, its middle is left out."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __rich_measure__(self, _console: Console, _options: ConsoleOptions) -> Measurement:
        width = cell_len(self._text)
        return Measurement(min(width, _NARROWEST), width)

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> Iterator[Text]:
        room = options.max_width
        text = self._text if cell_len(self._text) <= room else shown(self._text, room - 1)
        yield Text(text, no_wrap=True, overflow="ellipsis")


def check_path(name: str, path: Path) -> None:
    """Check that a report can be written to a path, before the work starts.

    Raises ConfigurationError if its suffix is unknown or nothing can be written there, and
    MissingDependencyError if a package that reports need is not installed.
    """
    if path.suffix not in SUFFIXES:
        raise ConfigurationError(
            f"{name} is {printable(str(path))!r}; it must end with one of {', '.join(SUFFIXES)}"
        )
    check_target(path, (), force=True)
    check_installed()


def write_report(database: Database, report: Report, path: Path) -> None:
    """Write a report to a file, which gets its name only when it is complete.

    Raises ReportError and OSError.
    """
    with target_file(path, force=True) as out:
        if path.suffix == ".html":
            out.write(page_of(report).encode())
        elif path.suffix == ".json":
            out.write(json.dumps(report, indent=1).encode())
        else:
            name = "compared_rows" if report["comparison"] else "rows"
            database.write(name, out.name, *ROWS[path.suffix], started=report["crawl"]["started"])


# --- Functions for templates


def compact(number: float) -> str:
    """Format a number with three significant digits: 1,234 as "1.23k"."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"


def lasting(seconds: float) -> str:
    """Format a duration in at most two units: "2 h 5 min", "3 min 20 s", "1.25 s", "4.2 ms"."""
    if seconds < 60:
        return f"{1000 * seconds:.3g} ms" if 0 < seconds < 1 else f"{seconds:.3g} s"
    rest = round(seconds)
    parts = list[str]()
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        number, rest = divmod(rest, size)
        if number:
            parts.append(f"{number} {unit}")
    return " ".join(parts[:2])


def date(seconds: float) -> str:
    """Format a time as a date and time in UTC."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"


def percent(share: float | None) -> str:
    """Format a share as a percentage, such as "12%" or "0.4%", or "–" for None.

    Only the shares 0 and 1 are shown as 0% and 100%.
    """
    if share is None:
        return "–"
    if 0 < share < 0.0005:
        return "<0.1%"
    if 0.9995 < share < 1:
        return ">99.9%"
    return f"{100 * share:.1f}%" if 0 < share < 0.01 or 0.99 < share < 1 else f"{100 * share:.0f}%"


def shown(text: str, longest: int = 120) -> str:
    """Make a text from a page safe to show, and shorten it to about `longest` characters.

    The middle is left out.
    """
    if len(text) > longest:
        text = f"{text[: longest * 2 // 3]}…{text[-(longest // 3) :]}"
    return printable(text, longest + 1)


def link(url: str) -> str:
    """Return a URL if it is safe to link to: HTTP or HTTPS, complete, and not too long.

    Otherwise, return an empty string.
    """
    if len(url) > 500 or "…" in url or not url.isprintable() or " " in url:
        return ""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return url if parts.scheme in ("http", "https") and parts.hostname else ""


def headline(report: Mapping[str, Any]) -> str:
    """Sum up a crawl in a sentence or two with the most important figures."""
    totals = report["totals"]
    counts = totals["counts"]
    checked = totals["checked"]
    copies = totals["duplicates"]
    if not checked:
        return f"{totals['responses']:,} responses came in, and none of them was checked."
    if report["crawl"]["is_scan"]:
        kept = counts["new"] + counts["thin"]
        return (
            f"{checked:,} pages were compared: {kept:,} are kept, {copies:,} are duplicates of "
            "them."
        )
    share = f" ({percent(totals['share'])})" if copies else ""
    if replaced := totals["replaced"]:
        better = "a better copy" if replaced == 1 else "better copies"
        share += f", {replaced:,} of them delivered as {better}"
    known = ""
    if revisits := counts["revisit"]:
        delivered = revisits - totals["unwanted"]
        known = f", {pluralize(revisits, 'revisit')} ({delivered:,} delivered again)"
    thin = f", {counts['thin']:,} thin" if counts["thin"] else ""
    words = (
        f"{pluralize(checked, 'page')} checked: {counts['new']:,} new, "
        f"{pluralize(copies, 'duplicate')}{share}{known}{thin}."
    )
    return words + _skipped_in_words(report)


def _skipped_in_words(report: Mapping[str, Any]) -> str:
    """Return sentences about the requests that were skipped. Each begins with a space."""
    words = ""
    if rules := report["savings"]:
        counts = _most_of(rules, "rule")
        words += f" {_total(rules):,} downloads of copies were skipped: {counts}."
    # Whether they lead to copies is not known.
    if patterns := report["over_budget"]:
        requests = pluralize(_total(patterns), "request")
        counts = _most_of(patterns, "pattern")
        words += f" {requests} were skipped because their patterns had ended: {counts}."
    return words


def _total(rows: Sequence[Mapping[str, Any]]) -> int:
    return sum(row["downloads"] for row in rows)


def _most_of(rows: Sequence[Mapping[str, Any]], noun: str) -> str:
    """Say how many downloads each of the first rules or patterns skipped, and how many the rest."""
    counts = [
        f"{row['downloads']:,} by the {noun} {shown(row[noun])}" for row in rows[:_MOST_RULES]
    ]
    if rest := rows[_MOST_RULES:]:
        counts.append(f"{_total(rest):,} by {pluralize(len(rest), f'other {noun}')}")
    return ", ".join(counts)


def change_by(what_if: Mapping[str, Any]) -> str:
    """Say how many more or fewer duplicates another similarity would find.

    A looser one would also search further than the crawl did, so its number is a minimum.
    """
    if what_if["kept"] == 0:
        return "no change"
    if what_if["kept"] is not None:
        return f"at most {pluralize(what_if['kept'], 'fewer duplicate')}"
    if not what_if["dropped"]:
        return "more duplicates"
    return f"at least {pluralize(what_if['dropped'], 'more duplicate')}"


def index_health(index: Mapping[str, Any]) -> str:
    """Describe the state of the index in one or two sentences, or return "" if nothing is in it."""
    if not index["known_after"]:
        return ""
    each = (
        ""
        if index["bytes"] is None
        else f", {index['bytes'] / index['known_after']:,.0f} bytes each"
    )
    recall = "" if index["recall"] is None else f" Expected recall: {percent(index['recall'])}."
    return f"The index holds {pluralize(index['known_after'], 'page')}{each}.{recall}"


def passages(difference: str) -> list[tuple[str, str]]:
    """Split the difference of two texts into pieces to show in color.

    Each piece comes with "del" if only the earlier page has it, "ins" if only this one has it, and
    "" if both have it.
    """
    kinds = {"[-": "del", "{+": "ins"}
    marked = [(kinds.get(piece[:2], ""), piece) for piece in _PASSAGE.split(difference) if piece]
    return [(kind, piece[2:-2] if kind else piece) for kind, piece in marked]


def axis(low: float, high: float) -> list[float]:
    """Return the marks of an axis: at most seven round values around `low` and `high`."""
    span = (high - low) or high or 1
    power = 10 ** math.floor(math.log10(span / _MOST_GRID_LINES))
    step = next(
        power * factor
        for factor in (1, 2, 2.5, 5, 10)
        if span / (power * factor) <= _MOST_GRID_LINES
    )
    first = math.floor(low / step)
    return [step * number for number in range(first, max(math.ceil(high / step), first + 1) + 1)]


def depth(value: float, grid: Sequence[float]) -> float:
    """Return how far down a value is on an axis, in percent from the top."""
    return 100 * (grid[-1] - value) / (grid[-1] - grid[0])


def time_labels(moments: Sequence[Mapping[str, Any]]) -> list[tuple[float, str]]:
    """Label at most ten steps of a timeline with their start times, at positions from 0 to 1."""
    marks = [(at / len(moments), lasting(moment["seconds"])) for at, moment in enumerate(moments)]
    return marks[:: -(-len(marks) // 10)]
