"""Read pages some at a time, so that the store is asked about many in one round trip."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from crawldedup import checks
from crawldedup.errors import ConfigurationError, PageError, StoreError, StoreUnavailableError
from crawldedup.fingerprinting.fingerprint import Fingerprint
from crawldedup.page import Page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from crawldedup.verdict import Verdict

BATCH: Final = 100
BATCH_SECONDS: Final = 0.5
"""A batch that took this long to read goes to the store as it is."""

check_batch: Final = checks.whole(1)


@dataclass(slots=True)
class Batch:
    """At most `size` pages that were read, in their order. `error` kept further pages from being read.

    With `skips`, a page that cannot be read takes its place with its error; otherwise it ends the batch.
    """

    size: int
    skips: bool
    pages: list[tuple[Page, Fingerprint | PageError]] = field(default_factory=list)
    error: BaseException | None = None
    _deadline: float = field(default_factory=lambda: time.monotonic() + BATCH_SECONDS)

    def is_full(self, pages: int) -> bool:
        """Return True if a batch of this many pages takes no more."""
        return pages >= self.size or time.monotonic() >= self._deadline

    def add(self, page: Page, read: Fingerprint | BaseException) -> bool:
        """Add what came of reading a page. Return False if that ends the batch."""
        if isinstance(read, Fingerprint) or (self.skips and isinstance(read, PageError)):
            self.pages.append((page, read))
            return True
        self.error = read
        return False

    def fill(self, pages: Iterator[Page], read: Callable[[Page], Fingerprint]) -> None:
        """Take and read pages until the batch is full or ends."""
        try:
            for page in pages:
                result: Fingerprint | PageError
                try:
                    result = read(checked(page))
                except PageError as error:
                    result = error
                if not self.add(page, result) or self.is_full(len(self.pages)):
                    return
        except Exception as error:
            self.error = error


def checked(page: object) -> Page:
    """Return the page. Raises ConfigurationError for anything but a Page."""
    if not isinstance(page, Page):
        raise ConfigurationError(f"one of the pages is a {type(page).__name__}; each must be a Page")
    return page


def take_results(verdicts: Iterator[Verdict], results: list[Verdict | Exception], wanted: int) -> None:
    """Add verdicts to results until there are as many as wanted; an error of the store takes the place of its page.

    If the verdicts end before, the last error is that of the rest. Raises StoreUnavailableError.
    """
    failure = StoreError("The store gave no answer.")
    while len(results) < wanted:
        try:
            results.append(next(verdicts))
        except StopIteration:
            results += [failure] * (wanted - len(results))
        except StoreUnavailableError:
            raise
        except StoreError as error:
            results.append(failure := error)
