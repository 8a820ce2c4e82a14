"""Patterns for URLs in settings."""

from __future__ import annotations

import json
import logging
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Self

import regex

from crawldedup.checks import refused
from crawldedup.printable import printable

logger = logging.getLogger(__name__)

_SECONDS: Final = 0.05
# Expressions of the user, so there are few.
_SLOW: Final[set[str]] = set()
_FLAGS: Final = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE, "a": re.ASCII}


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression for URLs, which anybody may make: a search that takes too long is given up."""

    expression: str
    _compiled: regex.Pattern[str] = field(repr=False, compare=False)

    @classmethod
    def of(cls, value: str | re.Pattern[str]) -> Self:
        """Compile an expression. Raises ValueError."""
        if isinstance(value, re.Pattern):
            flags = "".join(letter for letter, flag in _FLAGS.items() if value.flags & flag)
            value = f"(?{flags}:{value.pattern})" if flags else value.pattern
        try:
            return cls(value, regex.compile(value))
        except regex.error as error:
            raise ValueError(str(error)) from None

    def matches(self, url: str, *, otherwise: bool = False) -> bool:
        """Return whether it is found in a URL, or `otherwise` if that takes longer than a twentieth of a second."""
        try:
            return self._compiled.search(url, timeout=_SECONDS) is not None
        except TimeoutError:
            if self.expression not in _SLOW:
                _SLOW.add(self.expression)
                logger.warning(
                    "crawldedup: the regular expression %s takes more than %.2f s on %s, and is given up there: it "
                    "counts as %sfound.",
                    printable(self.expression, 200),
                    _SECONDS,
                    printable(url, 200),
                    "" if otherwise else "not ",
                )
            return otherwise


def check_patterns(name: str, value: object) -> tuple[Pattern, ...]:
    """Compile regular expressions: one, or several in a list, as texts or compiled already."""
    allowed = "a regular expression or a list of them, none of them empty"
    compiled = []
    if isinstance(value, str) and value.startswith("["):
        # Scrapy's command line gives texts. Many an expression begins so, too.
        with suppress(ValueError):
            given = json.loads(value)
            value = given if all(isinstance(each, str) for each in given) else value
        if isinstance(value, str) and re.match(r"\[\s*['\"]", value):
            raise refused(name, value, f"{allowed}; on a command line a list is JSON, with double quotes around texts")
    for expression in value if isinstance(value, list | tuple | set | frozenset) else [value]:
        if isinstance(expression, Pattern):
            compiled.append(expression)
            continue
        text = getattr(expression, "pattern", expression)
        if not isinstance(expression, str | re.Pattern) or not isinstance(text, str) or not text:
            raise refused(name, expression, allowed)
        try:
            compiled.append(Pattern.of(expression))
        except ValueError as error:
            raise refused(name, expression, f"{allowed}: {error}") from None
    return tuple(compiled)
