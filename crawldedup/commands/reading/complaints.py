"""Tell the errors of a file: the first ones one by one, and how many more there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

from crawldedup.errors import ConfigurationError
from crawldedup.printable import pluralize

if TYPE_CHECKING:
    from crawldedup.commands.feeds import OnError

MOST_TOLD: Final = 10
"""A reader looks at so many; a broken file of a million items has as many errors."""


class Complaints:
    """Hands the first errors of a file to `on_error`, and when it is closed the number of further ones.

    `what` names one thing that an error is about, and `fate` says what became of these things.
    """

    def __init__(self, on_error: OnError, name: str, what: str, fate: str) -> None:
        self._on_error = on_error
        self._name = name
        self._what = what
        self._fate = fate
        self.number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if (more := self.number - MOST_TOLD) > 0:
            message = f"{self._name}: {pluralize(more, f'further {self._what}')} {self._fate}"
            self._on_error(ConfigurationError(message))

    def tell(self, error: Exception) -> None:
        """Count an error, and hand it on if it is one of the first."""
        self.number += 1
        if self.number <= MOST_TOLD:
            self._on_error(error)
