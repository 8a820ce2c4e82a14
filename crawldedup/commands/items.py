"""The items that sources yield: those of feeds, and records of archives, with their pages.

Also, how lost items are reported.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any, Final, NamedTuple, NoReturn

from crawldedup.errors import ConfigurationError, PageError
from crawldedup.page import Page
from crawldedup.text import pluralize, printable

OnError = Callable[[Exception], None]
OnSkip = Callable[[str, PageError], None]
"""Called with the URL of a page that can't be compared, and the reason."""

OnNote = Callable[[str], None]
"""Called with a note about parts of a source that are left out on purpose."""

# The maximum size of a page or of an item of a feed. The compared text is far shorter.
MOST_BYTES: Final = 64 * 1024 * 1024
# How many errors to show for a source. A broken file may have a million of them.
MOST_TOLD: Final = 10
_SHOWN_KINDS: Final = 8


class Unread(NamedTuple):
    """A page that can't be compared, and why."""

    url: str
    error: PageError


class NoPage(NamedTuple):
    """An item or record that isn't a page.

    `kind` is its name in the count of such things, or "" if it isn't counted.
    """

    kind: str


class Item(NamedTuple):
    """An item of a feed, a record of an archive, or a file, with the page in it.

    Attributes:
        place: Where it is, in words.
        raw: What `crawldedup filter` writes if it keeps the item: the bytes of a line or of a
            member of an array, a row as a batch of pyarrow and a number, or a record. It is None
            if the content is lost.
        page: The page, or the reason why there is none.
        head: The header or the schema of its file.
    """

    place: str
    raw: Any = None
    page: Page | Unread | NoPage | Exception | None = None
    head: Any = None


class Report(NamedTuple):
    """The words in which the errors of a source are reported."""

    name: str  # the name of the source
    unit: str  # what each error is about, such as a line
    fate: str  # what happens to the items whose errors are only counted
    refusal: str  # why nothing is read if the first items are no good
    needs_page: bool  # whether a good item has a page


def refuse(error: Exception) -> NoReturn:
    """Raise an error rather than continue with the rest of a source."""
    raise error


def ignore_note(note: str) -> None:
    """Do nothing about a note. Used where nobody reads notes."""


@contextmanager
def complaints(on_error: OnError, name: str, unit: str, fate: str) -> Iterator[OnError]:
    """Report the first errors of a source, and count the others.

    Yield a function that takes an error about one `unit` of the source. At the end, the number of
    the other errors is reported, with their `fate`.
    """
    number = 0

    def tell(error: Exception) -> None:
        nonlocal number
        number += 1
        if number <= MOST_TOLD:
            on_error(error)

    try:
        yield tell
    finally:
        if number > MOST_TOLD:
            rest = pluralize(number - MOST_TOLD, f"further {unit}")
            on_error(ConfigurationError(f"{name}: {rest} {fate}"))


def reported(items: Iterator[Item], report: Report, on_error: OnError) -> Iterator[Item]:
    """Yield the items that can be written again, and report the errors of the others.

    Raises ConfigurationError if nothing more can be read. A source with errors is also refused if
    none of its first items is good, which means that it can be written again and has a page if it
    needs one.
    """
    first: list[Item] = []
    end: ConfigurationError | None = None
    is_begun = False
    try:
        while not is_begun and len(first) < MOST_TOLD and (item := next(items, None)):
            first.append(item)
            has_page = isinstance(item.page, Page) or not report.needs_page
            is_begun = item.raw is not None and has_page
    except ConfigurationError as error:
        end = error
    errors = [item.page for item in first if isinstance(item.page, Exception)]
    if end is not None:
        errors.append(end)
    if errors and not is_begun:
        raise ConfigurationError(f"{errors[0]} ({report.refusal})")
    with complaints(on_error, report.name, report.unit, report.fate) as tell:
        for item in chain(first, items):
            if isinstance(item.page, Exception):
                tell(item.page)
            if item.raw is not None:
                yield item


def without_pages(name: str) -> ConfigurationError:
    """Make the error for a source that has nothing to compare."""
    return ConfigurationError(f"{name} contains no page that can be compared")


def counted(kinds: Counter[str]) -> str:
    """Name the most frequent kinds of things with their numbers, and count all others."""
    shown = [f"{printable(kind, 60)} {count:,}" for kind, count in kinds.most_common(_SHOWN_KINDS)]
    rest = kinds.total() - sum(count for _, count in kinds.most_common(_SHOWN_KINDS))
    if rest:
        shown.append(f"others {rest:,}")
    return ", ".join(shown)
