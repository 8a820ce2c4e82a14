"""What commands print: JSON or words, errors, and their progress."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from rich.console import Console, RenderableType
from rich.text import Text

from crawldedup.errors import CrawlDedupError, PageError, printable

T = TypeVar("T")
_LONGEST_MESSAGE = 2000


class Output:
    """Standard output and standard error of one command. `status` is its exit status unless it fails."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.out = Console(highlight=False, soft_wrap=True)
        self.err = Console(stderr=True, highlight=False, soft_wrap=True)
        self.status = 0

    def show(self, value: Any, *lines: RenderableType) -> None:
        """Print a result: its value as one line of JSON, or else its lines."""
        if self.as_json:
            # ASCII only: text from pages may not even be valid Unicode. Rich would wrap the line.
            print(json.dumps(value), file=self.out.file)
            return
        for line in lines:
            # Rich would read "[red]" in a page's URL as markup.
            self.out.print(Text(line) if isinstance(line, str) else line)

    def skip(self, url: str, error: PageError) -> None:
        """Print that a page cannot be compared."""
        value = {"url": url, "skipped": error.reason, "message": str(error)}
        self.show(value, f"{printable(url)}: skipped ({error.reason}): {safe_message(error)}")

    def error(self, error: Exception) -> None:
        """Print an error in one line on standard error."""
        self.err.print(Text(f"crawldedup: {safe_message(error)}"))

    def unreadable(self, error: Exception) -> None:
        """Print the error of a source that cannot be read. The command goes on, and its exit status is 1."""
        self.status = 1
        self.error(error)

    def counted(self, pages: Iterable[T]) -> Iterator[T]:
        """Count pages on a terminal while they are worked on."""
        with self.progress("reading") as progress:
            for done, page in enumerate(pages):
                progress(done, None)
                yield page

    @contextmanager
    def progress(self, doing: str) -> Iterator[Callable[..., None]]:
        """Show on a terminal's last line what is being done.

        Yield a function of what is done, of the estimated total, if known, and of what is being done, if that changes.
        """
        # Elsewhere rich leaves lines behind.
        if not self.err.is_terminal:
            yield lambda *_: None
            return
        with self.err.status(doing) as status:

            def show(done: int, total: int | None, now: str = doing) -> None:
                status.update(Text(f"{now} {done:,}" + (f" of {max(done, total):,}" if total else "")))

            yield show

    @contextmanager
    def shares(self) -> Iterator[Callable[[str, float], None]]:
        """Yield a function that shows what is being done, and how many percent of it are done."""
        with self.progress("") as progress:
            yield lambda doing, percent: progress(int(percent), 100, doing)


def run_command(command: Callable[[Output], object], *, as_json: bool) -> int:
    """Run a command and return its exit status; an error is printed in one line.

    0: done. 1: done except for sources that could not be read. 2: not possible as asked. 130: interrupted.
    """
    output = Output(as_json=as_json)
    try:
        command(output)
        # A closed pipe is noticed here rather than when Python exits.
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output has left (`| head`): what is still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (CrawlDedupError, OSError, UnicodeError) as error:
        output.error(error)
        return 2
    except KeyboardInterrupt:
        return 130
    return output.status


def safe_message(message: object) -> str:
    """Return a message with what it quotes made safe to show."""
    return printable(str(message), _LONGEST_MESSAGE)
