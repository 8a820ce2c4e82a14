"""The command `changes`: what has changed on sites between two crawls."""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import RenderableType
from rich.text import Text

from crawldedup.commands.command import (
    Arguments,
    Command,
    Output,
    argument,
    check_target,
    target_file,
)
from crawldedup.errors import ConfigurationError
from crawldedup.journal import Journal, find_journals
from crawldedup.report.command import DEFAULT_SOURCE
from crawldedup.text import pluralize, printable

STATES: Final = ("new", "changed", "unchanged", "moved", "gone", "unknown")
"""What became of a page since an earlier crawl. It is gone only if that was answered."""

_SUFFIXES: Final = (".csv", ".jsonl")
_LONGEST_DIFFERENCE: Final = 200
_CRAWL: Final = "journal of a crawl, folder of journals (its last crawl), or name of a crawl"
_ARGUMENTS: Final[Arguments] = {
    "earlier": argument(_CRAWL, "EARLIER"),
    "later": argument(_CRAWL, "LATER"),
    "--source": argument(
        f"folder where crawls are looked up by name (default: {DEFAULT_SOURCE})",
        "FOLDER",
        default=DEFAULT_SOURCE,
    ),
    "-o --output": argument("write all rows into this file (.csv or .jsonl)", "FILE", type=Path),
    "--force": argument("replace the file if it is there", action="store_true"),
    "--most": argument("show so many pages of each kind (default: 10)", "N", type=int, default=10),
}
CHANGES: Final = Command(
    "tell what has changed between two crawls of the same sites",
    _ARGUMENTS,
    description="Compares the journals of two crawls page by page: new, changed, unchanged, moved, "
    "gone and unknown. A page is gone only if the later crawl was answered 404 or 410.",
    module=__name__,
    run="changes",
    index=None,
)


def changes(given: Namespace, output: Output) -> None:
    """Show or write what became of each page.

    Raises:
        ConfigurationError: There is no such crawl, or the output is not allowed.
        ReportError: Memory or disk do not suffice.
        OSError: A file cannot be read or written.
    """
    # Here, so that `--help` does not wait for DuckDB.
    from crawldedup.report.queries import CURRENT, FORMER, Database, have_one_index
    from crawldedup.report.render import ROWS

    earlier, later = (_journals_of(name, given.source) for name in (given.earlier, given.later))
    if given.output is not None:
        if given.output.suffix not in _SUFFIXES:
            raise ConfigurationError(
                f"--output is {printable(str(given.output))!r}; it must end with one of "
                f"{', '.join(_SUFFIXES)}"
            )
        check_target(given.output, [each.path for each in (*earlier, *later)], force=given.force)
    by_text = have_one_index(earlier, later)
    with output.shares() as progress, Database(progress) as database:
        left_out = database.load(earlier, FORMER)
        known_then = database.row("index")["known_after"]
        database.rows("make_contents")
        left_out += database.load(later, CURRENT)
        is_next = by_text and known_then == database.row("index")["known_before"]
        for name in ("make_contents", "make_answers"):
            database.rows(name)
        database.rows("make_moves", by_text=by_text)
        database.rows("make_changes_since", by_text=by_text, is_next=is_next)
        counts = {row["change"]: row["pages"] for row in database.rows("count_changes")}
        examples = database.rows("first_changes", most=max(given.most, 0))
        if given.output is not None:
            layout, columns = ROWS[given.output.suffix]
            with target_file(given.output, force=given.force) as out:
                database.write("changes_since", out.name, layout, columns)
    totals = {state: counts.get(state, 0) for state in STATES}
    output.show({"changes": totals, "pages": examples}, *_lines_of(totals, examples, given.output))
    if not by_text:
        output.error(
            "the crawls had no common index, so texts cannot be compared: CRAWLDEDUP_STORE gives "
            "them one"
        )
    if left_out:
        output.unreadable(f"{pluralize(left_out, 'line')} cannot be read and were left out")


def _journals_of(name: str, source: str) -> list[Journal]:
    """Return the journals of a crawl, which a file, a folder or its name stands for."""
    if Path(name).exists():
        return find_journals([name])
    if not Path(source).exists():
        raise ConfigurationError(
            f"{printable(name)!r} is no file and no folder, and there is no {printable(source)} to "
            "look it up by name: --source names another folder"
        )
    return find_journals([source], name)


def _lines_of(
    totals: dict[str, int], examples: Sequence[dict[str, Any]], path: Path | None
) -> Iterator[RenderableType]:
    """Yield what is printed: the totals, and with no file some pages of each kind."""
    for state in STATES:
        yield Text(f"{state:<10} {totals[state]:>9,}")
        if path is not None:
            continue
        for row in examples:
            if row["change"] == state:
                yield Text(f"  {printable(row['url'])}{_detail_of(row)}")
    if path is not None:
        yield Text(f"written into {printable(str(path))}")


def _detail_of(row: dict[str, Any]) -> str:
    """Return what more is known of a page, behind its URL."""
    if row["moved_to"]:
        return f" -> {printable(row['moved_to'])}"
    details = [row["what"], row["difference"][:_LONGEST_DIFFERENCE], row["reason"]]
    text = ": ".join(printable(detail) for detail in details if detail)
    return f" ({text})" if text else ""
