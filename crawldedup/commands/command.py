"""Declare the commands of `crawldedup` without importing their code, and run them.

This makes the index of a command, prints its output, and writes its files.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeVar

from rich.console import Console, RenderableType
from rich.text import Text

from crawldedup.commands.leftovers import names_no_room, unfinished_file
from crawldedup.commands.packing import packed, packed_suffix, unpacked_name
from crawldedup.commands.termination import (
    TERMINATED_STATUS,
    TerminatedError,
    termination_raised,
)
from crawldedup.errors import ConfigurationError, CrawlDedupError, PageError
from crawldedup.options import Options, options_of
from crawldedup.passwords import without_passwords
from crawldedup.text import pluralize, printable

if TYPE_CHECKING:
    from crawldedup.deduplicator import Deduplicator

T = TypeVar("T")
STORE_VARIABLE: Final = "CRAWLDEDUP_STORE"
STORE_FILE_VARIABLE: Final = "CRAWLDEDUP_STORE_FILE"
"""The environment variable that names a file with the URL of the store.

It keeps passwords out of variables.
"""

DEFAULT_STORE: Final = "sqlite:///crawldedup.sqlite"
STANDARD: Final = "-"  # the name of standard input and output
STANDARD_OUTPUT: Final = "standard output"  # its name in errors
# Some spreadsheets take full-width letters.
_BEGIN_FORMULAS: Final = tuple("=+-@|\uff1d\uff0b\uff0d\uff20")
_NUMBER: Final = re.compile(r"[+-]?\d+(?:\.\d+)?")
_UNLIMITED: Final = 10_000  # letters of a line that a terminal doesn't show

INDEX_OPTIONS: Final = ("store", "namespace")
# Options for reading pages and telling them apart. Every command that asks an index needs the same
# values.
PROFILE_OPTIONS: Final = (
    "extractor",
    "content",
    "min_words",
    "distinguish",
    "distinguish_params",
    "apart",
    "ignore_marks",
)
PARAGRAPH_OPTIONS: Final = ("paragraphs", "paragraph_ttl", "max_paragraphs")

Arguments = dict[str, dict[str, Any]]  # the names of arguments, and the argparse keywords of each


def argument(help: str, metavar: str | None = None, **settings: Any) -> dict[str, Any]:
    """Return the keywords with which argparse declares an argument."""
    return {"help": help, **({"metavar": metavar} if metavar else {}), **settings}


_FORMATS: Final = (
    "write the rules for crawldedup, or for another tool: a file for duplicate-url-discarder, or "
    "the deny patterns of a LinkExtractor (default: rules)"
)
ADVISE_OPTIONS: Final[Arguments] = {
    "--format": argument(
        _FORMATS, choices=("rules", "duplicate-url-discarder", "deny"), default="rules"
    ),
}

FIELD_ARGUMENTS: Final[Arguments] = {
    "--url-field": argument(
        "field of a feed that contains the URL (default: url)", "FIELD", default="url"
    ),
    "--html-field": argument("field of a feed that contains HTML (default: html or text)", "FIELD"),
    "--text-field": argument("field of a feed that contains plain text", "FIELD"),
    "--title-field": argument(
        "field of a feed that contains the title of a plain text (default: title)",
        "FIELD",
        default="title",
    ),
}
_SOURCES: Final = (
    "file, folder, feed (.jl, .json, .csv, .parquet), .warc or .wacz file, sitemap (.xml), URL, "
    "or - for standard input (one page, JSON lines or CSV)"
)
PAGE_ARGUMENTS: Final[Arguments] = {
    "pages": argument(_SOURCES, "PAGE", nargs="+"),
    **FIELD_ARGUMENTS,
}


@dataclass(frozen=True, slots=True)
class Command:
    """A command, with its arguments and the function that runs it.

    `options` are the names of options of `kind`, and `defaults` are defaults that differ here. If
    an option that is `inherited` isn't given, it has the value that the existing index was built
    with.

    The command is the function `run` of `module`, which is only imported to run it. It takes a
    Deduplicator, the given arguments, and the output. `index` has options of that Deduplicator that
    the command sets itself, such as `{"key": 0}`. If `index` is None, the command doesn't need a
    Deduplicator, and takes only the other two. A command `shows_results` if it can print them as
    JSON.
    """

    help: str
    arguments: Arguments = field(default_factory=dict)
    options: tuple[str, ...] = ()
    defaults: dict[str, Any] = field(default_factory=dict)
    description: str = ""
    module: str = "crawldedup.commands.pages"
    run: str = "run"
    index: dict[str, Any] | None = field(default_factory=dict)
    kind: type[Options] = Options
    inherited: tuple[str, ...] = ()
    shows_results: bool = True


def flag_of(name: str) -> str:
    """Return the flag for an option on the command line, such as "--min-words"."""
    return f"--{name.replace('_', '-')}"


def checked_options(
    given: Namespace, kind: type[Options] = Options, *, store_flag: str = "--store", **changes: Any
) -> dict[str, Any]:
    """Check the options on the command line, and return those that were given, with changes.

    Raises ConfigurationError, which names the option.
    """
    declared = {option.name: option for option in options_of(kind)}
    values = {name: getattr(given, name) for name in declared if hasattr(given, name)} | changes
    names = {**{name: flag_of(name) for name in values}, "store": store_flag}
    if "store" in values and values["store"] is None:
        values["store"], names["store"] = _store_of_environment()
    return {name: declared[name].check(names[name], value) for name, value in values.items()}


def _store_of_environment() -> tuple[str, str]:
    """Return the URL of the store from the environment, and the variable that it comes from.

    If no variable is set, it is the default. Raises ConfigurationError if its file can't be read or
    is empty.
    """
    # An empty variable counts as not set, as in compose files with "${VARIABLE:-}".
    url = os.environ.get(STORE_VARIABLE)
    file = os.environ.get(STORE_FILE_VARIABLE)
    if url or not file:
        return url or DEFAULT_STORE, STORE_VARIABLE
    try:
        content = Path(file).read_text("utf-8").strip()
    except (OSError, UnicodeError) as error:
        raise ConfigurationError(f"{STORE_FILE_VARIABLE}: {file} cannot be read: {error}") from None
    if not content:
        raise ConfigurationError(
            f"{STORE_FILE_VARIABLE}: {file} is empty, but must contain the URL of the store"
        )
    return content, STORE_FILE_VARIABLE


def make_deduplicator(given: Namespace, **changes: Any) -> Deduplicator:
    """Make the Deduplicator for a command from its options: see `checked_options`.

    Raises ConfigurationError.
    """
    from crawldedup.deduplicator import Deduplicator

    checked = checked_options(given, **changes)
    if checked.get("scope") == "spider":
        raise ConfigurationError(
            "--scope is 'spider', but no spider is named here: use `scrapy dedup --spider NAME`"
        )
    return Deduplicator(**checked)


def require_existing(dedup: Deduplicator) -> str:
    """Return the profile of an index that exists.

    Raises ConfigurationError if it doesn't, with a message that lists those that do, and StoreError
    if the store can't be used.
    """
    from crawldedup.stores.registry import require_index

    return require_index(dedup.options.store, dedup.options.namespace)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Raise BrokenPipeError, which `run_command` handles, instead of exiting."""
        raise BrokenPipeError


class Output:
    """What a command prints, on standard output and standard error.

    `status` is its exit status, unless it fails.
    """

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.out = _Console(highlight=False, soft_wrap=True)
        if not self.out.is_terminal and "COLUMNS" not in os.environ:
            # In a file or a pipe, there's no limit, so tables are as wide as their content.
            self.out.width = _UNLIMITED
        self.err = _Console(stderr=True, highlight=False, soft_wrap=True)
        self.status = 0

    def show(self, value: Any, *lines: RenderableType) -> None:
        """Print a result as one line of JSON (`value`) if `as_json` is set, or else as `lines`."""
        if self.as_json:
            # ASCII only: text from pages may not even be valid Unicode. Rich would wrap the line.
            with names_no_room(STANDARD_OUTPUT):
                print(json.dumps(value), file=self.out.file)
            return
        for line in lines:
            # Rich would read "[red]" in a page's URL as markup.
            with names_no_room(STANDARD_OUTPUT):
                self.out.print(Text(line) if isinstance(line, str) else line)

    def skip(self, url: str, error: PageError) -> None:
        """Say that a page can't be compared, and why."""
        value = {"url": url, "skipped": error.reason, "message": str(error)}
        self.show(
            value,
            f"{printable(url.removesuffix(':'))}: skipped ({error.reason}): {safe_message(error)}",
        )

    def error(self, message: object) -> None:
        """Print an error or a note on standard error, in one line."""
        self.err.print(Text(f"crawldedup: {safe_message(message)}"))

    def left_out(self, count: int, noun: str) -> None:
        """Say how many lines or parts of the sources can't be read, as `unreadable` does."""
        were = "was" if count == 1 else "were"
        self.unreadable(f"{pluralize(count, noun)} cannot be read and {were} left out")

    def unreadable(self, error: object) -> None:
        """Say why a source can't be read.

        The command continues, and its exit status is 1.
        """
        self.status = 1
        self.error(error)

    def counted(self, pages: Iterable[T]) -> Iterator[T]:
        """Yield pages, and show on a terminal how many have been processed."""
        with self.progress("reading") as progress:
            for done, page in enumerate(pages):
                progress(done, None)
                yield page

    @contextmanager
    def progress(self, doing: str) -> Iterator[Callable[..., None]]:
        """Show how far the work has come, on the last line of a terminal.

        Yield a function that takes the number done, the estimated total, if it's known, and a new
        description, if that changes.
        """
        # Elsewhere rich leaves lines behind.
        if not self.err.is_terminal:
            yield lambda *_: None
            return
        with self.err.status(doing) as status:

            def show(done: int, total: int | None, now: str = doing) -> None:
                status.update(
                    Text(f"{now} {done:,}" + (f" of {max(done, total):,}" if total else ""))
                )

            yield show

    @contextmanager
    def shares(self) -> Iterator[Callable[[str, float], None]]:
        """Yield a function that shows what is being done, and how much of it as a percentage."""
        with self.progress("") as progress:
            yield lambda doing, percent: progress(int(percent), 100, doing)


def run_command(command: Callable[[Output], object], *, as_json: bool) -> int:
    """Run a command, print its error if it fails, and return its exit status.

    The status is 0 if the command is done or nobody reads its output anymore, 1 if it is done
    except for sources that could not be read, 2 if it is not possible as requested, 130 if it was
    interrupted (Ctrl-C), and 143 if it was terminated (SIGTERM).
    """
    output = Output(as_json=as_json)
    try:
        with termination_raised():
            command(output)
        # A closed pipe or a full disk is noticed here rather than when Python exits.
        with names_no_room(STANDARD_OUTPUT):
            sys.stdout.flush()
    except BrokenPipeError:
        # The output pipe was closed (`| head`).
        _discard_output()
        return 0
    except OSError as error:
        if error.filename == STANDARD_OUTPUT:
            _discard_output()
        output.error(_reason_of(error))
        return 2
    except (CrawlDedupError, UnicodeError) as error:
        output.error(error)
        return 2
    except TerminatedError:
        return TERMINATED_STATUS
    except KeyboardInterrupt:
        return 130
    return output.status


def _discard_output() -> None:
    """Discard the rest of the buffer, which Python would try to write once more when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _reason_of(error: OSError) -> str:
    """Return the text of a system error, without its number."""
    if error.filename is None or error.strerror is None:
        return str(error)
    return f"{error.filename}: {error.strerror}"


def safe_message(message: object) -> str:
    """Make a message safe to show: escaped, and without the passwords of URLs."""
    return printable(without_passwords(str(message)), 2000)


def safe_cell(value: object) -> object:
    """Make a value safe for CSV, so no spreadsheet runs it and no terminal interprets it.

    A text that begins like a formula gets an apostrophe in front, which is how spreadsheets mark
    text.
    """
    if not isinstance(value, str):
        return value
    shown = printable(value, len(value))
    is_formula = shown.lstrip()[:1] in _BEGIN_FORMULAS and not _NUMBER.fullmatch(shown)
    return f"'{shown}" if shown.strip() and is_formula else shown


def check_target(path: Path, inputs: Sequence[Path], *, force: bool) -> None:
    """Raise ConfigurationError if an output file must not be written, so as not to lose data."""
    if any(path.exists() and path.samefile(each) for each in inputs):
        raise ConfigurationError(f"{path} is also read, so it cannot be written: name another file")
    if path.exists() and not path.is_file():
        raise ConfigurationError(f"{path} already exists, and is not a file")
    if path.exists() and not force:
        raise ConfigurationError(
            f"{path} already exists: name another file, or add --force to replace it"
        )
    if not os.access(path.parent, os.W_OK):
        trouble = "nothing can be written in" if path.parent.is_dir() else "there is no"
        raise ConfigurationError(f"{path} cannot be written: {trouble} folder {str(path.parent)!r}")


@contextmanager
def target_file(
    path: Path, *, force: bool, packs: bool = True, is_whole: Callable[[], bool] = lambda: True
) -> Iterator[BinaryIO]:
    """Open a file for writing that replaces `path` at the end.

    After an error, it's removed. If an earlier process with the same output was killed, its
    temporary file is removed at the start. If the file isn't `is_whole` at the end, its name ends
    in ".partial". The output is compressed if the suffix says so, unless it already is
    (`packs=False`). "-" is standard output. Raises ConfigurationError if `path` has appeared in the
    meantime, unless `force` is given.
    """
    if str(path) == STANDARD:
        with names_no_room(STANDARD_OUTPUT):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        return
    # A link stays, and its target is replaced.
    path = path.resolve()
    suffix = packed_suffix(path.name) if packs else ""
    with unfinished_file(path) as beside:
        with (
            beside.open("r+b", buffering=1 << 20) as file,
            packed(suffix, file) if suffix else nullcontext(file) as out,
        ):
            yield out
        if is_whole():
            check_target(path, (), force=force)
            beside.replace(path)
        else:
            beside.replace(f"{path}.partial")


def write_rows(
    columns: Sequence[str], rows: Iterable[dict[str, Any]], path: Path, *, force: bool
) -> None:
    """Write rows with these columns to a file: CSV if the name says so, or else JSON lines.

    Raises ConfigurationError if the file has appeared in the meantime, and OSError.
    """
    with (
        target_file(path, force=force) as out,
        io.TextIOWrapper(out, "utf-8", "replace", newline="") as text,
    ):
        if unpacked_name(path.name).endswith(".csv"):
            table = csv.DictWriter(text, columns)
            table.writeheader()
            for row in rows:
                table.writerow({name: safe_cell(value) for name, value in row.items()})
        else:
            text.writelines(f"{json.dumps(row)}\n" for row in rows)
