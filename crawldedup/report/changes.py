"""The command `changes`, which shows what has changed on a site between two crawls."""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rich.console import RenderableType
from rich.text import Text

from crawldedup import checks
from crawldedup.commands.command import (
    Arguments,
    Command,
    Output,
    argument,
    check_target,
    target_file,
)
from crawldedup.commands.moments import moment_of
from crawldedup.errors import ConfigurationError
from crawldedup.journal import Journal, find_before, find_between, find_journals
from crawldedup.report.command import DEFAULT_SOURCE
from crawldedup.text import printable

if TYPE_CHECKING:
    from crawldedup.report.queries import Database

STATES: Final = ("new", "changed", "unchanged", "moved", "gone", "unknown")
"""What can happen to a page between two crawls. It is gone only if the server says so."""

_SUFFIXES: Final = (".html", ".csv", ".jsonl")
_MOST_OF_PAGE: Final = 200
_SECTIONS: Final = (
    ("new", "New pages", "The earlier crawl did not see them."),
    ("changed", "Changed pages", "Their text is different, or they show something else."),
    ("moved", "Moved pages", "Their texts were found at other addresses."),
    ("gone", "Pages that are gone", "The server answered 404 or 410."),
    ("unknown", "Pages that nothing is known about", "Nothing shows that they are gone."),
)
_LONGEST_DIFFERENCE: Final = 200
_CRAWL: Final = "journal of a crawl, folder of journals (its last crawl), or name of a crawl"
_ARGUMENTS: Final[Arguments] = {
    "earlier": argument(
        f"{_CRAWL} (default: the last crawl before LATER by the same spider)", "EARLIER", nargs="?"
    ),
    "later": argument(
        f"{_CRAWL} (default: the last crawl); with --since, this is the only one",
        "LATER",
        nargs="?",
    ),
    "--since": argument(
        "compare LATER, by default the last crawl, with the last crawl by the same spider that "
        "began at TIME or earlier: a time in UTC, such as 2026-11-28 or 2026-11-28T09:00, or an "
        "age, such as 12h or 1d",
        "TIME",
    ),
    "--source": argument(
        "folder in which to look for crawls by name and by time (default: with --since, the folder "
        f"of LATER; otherwise, {DEFAULT_SOURCE})",
        "FOLDER",
    ),
    "-o --output": argument(
        "write all rows to this file (.csv or .jsonl), or a page (.html)", "FILE", type=Path
    ),
    "--force": argument("replace the file if it exists", action="store_true"),
    "--most": argument("pages to show of each kind (default: 10)", "N", type=int, default=10),
}
CHANGES: Final = Command(
    "show what changed between two crawls of the same sites",
    _ARGUMENTS,
    description="Compares the journals of two crawls page by page: new, changed, unchanged, moved, "
    "gone and unknown. A page is gone only if the later crawl got status 404 or 410.",
    module=__name__,
    run="changes",
    index=None,
)


def changes(given: Namespace, output: Output) -> None:
    """Compare two crawls, and show or write what happened to each page.

    Raises:
        ConfigurationError: There is no such crawl, or the output is not allowed.
        ReportError: There is not enough memory or disk space.
        OSError: A file cannot be read or written.
    """
    # Imported here so that `--help` does not have to wait for DuckDB.
    from crawldedup.report.queries import CURRENT, FORMER, Database, have_one_index

    checks.whole(0)("--most", given.most)
    earlier, later = _crawls_of(given)
    if given.output is not None:
        if given.output.suffix not in _SUFFIXES:
            raise ConfigurationError(
                f"--output is {printable(str(given.output))!r}; it must end with one of "
                f"{', '.join(_SUFFIXES)}"
            )
        check_target(given.output, [each.path for each in (*earlier, *later)], force=given.force)
    _check_order(earlier, later)
    with output.shares() as progress, Database(progress) as database:
        left_out = database.load(earlier, FORMER)
        known_then = database.row("index")["known_after"]
        is_whole = not database.rows("unfinished")
        _check_apart(earlier, database)
        for name in ("make_contents", "make_answers"):
            database.rows(name)
        left_out += database.load(later, CURRENT)
        is_whole_later = not database.rows("unfinished")
        _check_apart(later, database)
        by_text = have_one_index(database, earlier, later)
        # Another crawl between them may have brought no new page.
        is_next = (
            by_text
            and known_then == database.row("index")["known_before"]
            and not find_between(earlier, later)
        )
        for name in ("make_contents", "make_answers"):
            database.rows(name)
        database.rows("make_moves", by_text=by_text, is_whole_later=is_whole_later)
        database.rows(
            "make_changes_since",
            by_text=by_text,
            is_next=is_next,
            is_whole=is_whole,
            is_whole_later=is_whole_later,
        )
        counts = {row["change"]: row["pages"] for row in database.rows("count_changes")}
        totals = {state: counts.get(state, 0) for state in STATES}
        examples = database.rows("first_changes", most=given.most)
        notes = _notes(_Lacking(earlier, later, by_text, is_whole, is_whole_later))
        if given.output is not None:
            _write(database, _Compared(earlier, later, notes, totals), given)
    output.show({"changes": totals, "pages": examples}, *_lines_of(totals, examples, given.output))
    for note in notes:
        output.error(note)
    if left_out:
        output.left_out(left_out, "line")


class _Lacking(NamedTuple):
    """What may be missing from a comparison of two crawls."""

    earlier: list[Journal]
    later: list[Journal]
    by_text: bool  #: Whether texts could be compared.
    is_whole: bool  #: Whether the earlier crawl finished.
    is_whole_later: bool  #: Whether the later crawl finished.


def _notes(lacking: _Lacking) -> list[str]:
    """Explain, in a sentence each, why the comparison may be incomplete."""
    notes = []
    spiders = [printable(each[0].spider) for each in (lacking.earlier, lacking.later)]
    if spiders[0] != spiders[1]:
        notes.append(
            f"the crawls are of two spiders, {spiders[0]!r} and {spiders[1]!r}, which may have "
            "requested other pages"
        )
    if not lacking.by_text:
        notes.append(
            "the crawls did not share an index, so texts cannot be compared: set "
            "CRAWLDEDUP_STORE to share one, and do not empty it between the crawls"
        )
    if not lacking.is_whole:
        notes.append(
            f"the earlier crawl {printable(lacking.earlier[0].crawl)!r} did not finish (its "
            "journal has no end), so pages that were only in the index at that time are unknown"
        )
    if not lacking.is_whole_later:
        notes.append(
            f"the later crawl {printable(lacking.later[0].crawl)!r} did not finish (its journal "
            "has no end), so pages that it had not requested by then are unknown"
        )
    return notes


def _check_order(earlier: Sequence[Journal], later: Sequence[Journal]) -> None:
    """Raise ConfigurationError if the crawls are the same, or in the wrong order."""
    names = [printable(journals[0].crawl) for journals in (earlier, later)]
    if {journal.path for journal in earlier} & {journal.path for journal in later}:
        raise ConfigurationError(f"EARLIER and LATER are the same crawl, {names[0]!r}")
    if later[0].started < earlier[0].started:
        raise ConfigurationError(
            f"EARLIER, {names[0]!r}, began after LATER, {names[1]!r}: swap them"
        )


def _check_apart(journals: Sequence[Journal], database: "Database") -> None:
    """Raise ConfigurationError if the journals of several crawls are in one file."""
    for row in database.rows("joined"):
        path = printable(str(journals[row["process"]].path))
        raise ConfigurationError(
            f"{path} contains the journals of {row['crawls']} crawls, so times would count from "
            "the first one: put each journal in its own file"
        )


class _Compared(NamedTuple):
    """The comparison of two crawls: counts of changes, and notes on what may be incomplete."""

    earlier: list[Journal]
    later: list[Journal]
    notes: list[str]
    totals: dict[str, int]


def _write(database: "Database", compared: _Compared, given: Namespace) -> None:
    """Write the changes to the output file, as rows or as a page.

    Raises ReportError and OSError.
    """
    from crawldedup.report.render import ROWS, page_of

    with target_file(given.output, force=given.force) as out:
        if given.output.suffix != ".html":
            layout, columns = ROWS[given.output.suffix]
            database.write("changes_since", out.name, layout, columns)
            return
        page = {
            "earlier": _named(compared.earlier),
            "later": _named(compared.later),
            "notes": compared.notes,
            "states": STATES,
            "sections": _SECTIONS,
            "totals": compared.totals,
            "pages": database.rows("first_changes", most=_MOST_OF_PAGE),
        }
        out.write(page_of(page, "changes.html").encode())


def _named(journals: Sequence[Journal]) -> dict[str, Any]:
    return {"name": journals[0].crawl, "started": journals[0].started}


def _crawls_of(given: Namespace) -> tuple[list[Journal], list[Journal]]:
    """Return the journals of the earlier crawl and of the later one.

    Raises ConfigurationError if one of them is not given or cannot be found.
    """
    if given.since is None:
        source = given.source or DEFAULT_SOURCE
        if given.earlier is None:
            later = find_journals([source])
            return find_before([source], later, later[0].started), later
        if given.later is None:
            raise ConfigurationError(
                "name two crawls to compare, EARLIER and LATER, or none to compare the last crawl "
                "with the one before; `crawldedup report --crawls` lists crawls, and --since TIME "
                "finds the earlier one"
            )
        return _journals_of(given.earlier, source), _journals_of(given.later, source)
    if given.later is not None:
        raise ConfigurationError("--since finds the earlier crawl: name only the later one")
    moment = moment_of("--since", given.since)
    source = given.source or _folder_of(given.earlier)
    later = (
        find_journals([source]) if given.earlier is None else _journals_of(given.earlier, source)
    )
    if later[0].started <= moment:
        raise ConfigurationError(
            f"the crawl {printable(later[0].crawl)!r} began before {given.since}: nothing was "
            "crawled since"
        )
    try:
        return find_before([source], later, moment), later
    except ConfigurationError as error:
        if given.source is not None:
            raise
        raise ConfigurationError(
            f"{error}; to look for it in another folder, add --source FOLDER"
        ) from None


def _folder_of(name: str | None) -> str:
    """Return the folder in which the earlier crawl is looked for, given the argument LATER."""
    path = Path(name or DEFAULT_SOURCE)
    if path.is_dir():
        return str(path)
    return str(path.parent) if path.exists() else DEFAULT_SOURCE


def _journals_of(name: str, source: str) -> list[Journal]:
    """Return the journals of one crawl, which is given by a file, a folder, or its name.

    Raises ConfigurationError if there are none.
    """
    if Path(name).exists():
        return find_journals([name])
    if not Path(source).exists():
        raise ConfigurationError(
            f"{printable(name)!r} is neither a file nor a folder, and there is no folder "
            f"{printable(source)} to look it up by name: use --source to name another folder"
        )
    return find_journals([source], name)


def _lines_of(
    totals: dict[str, int], examples: Sequence[dict[str, Any]], path: Path | None
) -> Iterator[RenderableType]:
    """Yield the lines to print: totals and, without an output file, some pages of each kind."""
    for state in STATES:
        yield Text(f"{state:<10} {totals[state]:>9,}")
        if path is not None:
            continue
        shown = [row for row in examples if row["change"] == state]
        for row in shown:
            yield Text(f"  {printable(row['url'])}{_detail_of(row)}")
        if shown and len(shown) < totals[state]:
            yield f"  and {totals[state] - len(shown):,} more, which --output writes to a file"
    if path is not None:
        yield Text(f"written to {printable(str(path))}")


def _detail_of(row: dict[str, Any]) -> str:
    """Return what is shown after the URL of a page, such as what has changed."""
    if row["moved_to"]:
        return f" -> {printable(row['moved_to'])}"
    difference = printable(row["difference"], _LONGEST_DIFFERENCE)
    details = [printable(row["what"]), difference, printable(row["reason"])]
    text = ": ".join(detail for detail in details if detail)
    return f" ({text})" if text else ""
