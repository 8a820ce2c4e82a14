"""What commands print: JSON, messages, and how far they are."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from crawldedup.errors import CrawlDedupError
from crawldedup.printable import counted, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

_LONGEST_MESSAGE = 2000


def print_json(out: Console, value: Any) -> None:
    """One object a line."""
    # ASCII only: text from pages may not even be valid Unicode. Rich must not wrap it.
    print(json.dumps(value), file=out.file)


def print_forgotten(out: Console, forgotten: int, named: int, *, as_json: bool) -> None:
    """How many pages there were of those that were named."""
    if as_json:
        print_json(out, {"forgotten": forgotten})
    else:
        out.print(f"{forgotten:,} of {counted(named, 'page')} {'was' if named == 1 else 'were'} known and forgotten")


def print_error(err: Console, error: Exception) -> None:
    """One line, whatever the error quotes."""
    err.print(Text(f"crawldedup: {safe_message(str(error))}"))


def status_of(action: Callable[[], int], err: Console) -> int:
    """The exit status of an action; what it raises is printed in one line.

    0: done. 1: done, but for sources that could not be read. 2: not possible as asked. 130: interrupted.
    """
    try:
        status = action()
        # Now, while a reader that has left is still noticed.
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output has left (`| head`).
        give_up_output()
        return 0
    except (CrawlDedupError, OSError, UnicodeError) as error:
        print_error(err, error)
        return 2
    except KeyboardInterrupt:
        return 130
    return status


def give_up_output() -> None:
    """Nobody reads standard output any more: what is still buffered has nowhere to go."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def safe_message(message: str) -> str:
    """A message of ours, with what it quotes made safe to show."""
    return printable(message, _LONGEST_MESSAGE)


@contextmanager
def progress_bar(err: Console, doing: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal's last line; what it yields is to be called with what is done, and what there is about."""
    # Up to rich 14.2 even a bar that is disabled leaves an empty line behind.
    if not err.is_terminal:
        yield lambda _done, _total: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task(doing, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=max(done, total))
