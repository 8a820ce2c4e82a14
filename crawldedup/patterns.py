"""The regular expressions that users give to select URLs: check and match them."""

import json
import logging
import re
from typing import Final, TypeAlias

import regex

from crawldedup import checks
from crawldedup.text import printable

Pattern: TypeAlias = regex.Pattern[str]

_PATTERNS: Final = "a regular expression or a list of them, none of them empty"
_PATTERN_SECONDS: Final = 0.05
_slow_patterns: Final[set[str]] = set()  # Expressions of the user, so there are few.

_log: Final = logging.getLogger("crawldedup")


def matches(pattern: Pattern, url: str, *, otherwise: bool = False) -> bool:
    """Return whether a regular expression matches somewhere in a URL.

    If that takes longer than a twentieth of a second, return `otherwise`. The first time, each
    expression is also logged.
    """
    try:
        return pattern.search(url, timeout=_PATTERN_SECONDS) is not None
    except TimeoutError:
        if pattern.pattern not in _slow_patterns:
            _slow_patterns.add(pattern.pattern)
            slow = (
                f"the regular expression {printable(pattern.pattern, 200)} takes more than "
                f"{_PATTERN_SECONDS} s"
            )
            result = f"is given up there: it counts as {'' if otherwise else 'not '}found"
            _log.warning("crawldedup: %s on %s, and %s.", slow, printable(url, 200), result)
        return otherwise


def check_patterns(name: str, value: object) -> tuple[Pattern, ...]:
    """Check an option that holds regular expressions, and compile them.

    There may be a single one, or several in a list, as texts or compiled already. A text that looks
    like a list is read as JSON. Raises ConfigurationError for anything else, for an empty
    expression, and for one that can't be compiled.
    """
    if isinstance(value, str) and re.match(r"\[\s*(['\"]|]$)", value):
        try:  # Scrapy's command line passes strings.
            value = json.loads(value)
        except ValueError:
            hint = "on a command line a list is JSON, with double quotes around texts"
            raise checks.refused(name, value, f"{_PATTERNS}; {hint}") from None
    patterns = []
    for expression in value if isinstance(value, list | tuple | set | frozenset) else [value]:
        text = getattr(expression, "pattern", expression)
        flags = getattr(expression, "flags", 0)
        if not isinstance(text, str) or not text:
            raise checks.refused(name, expression, _PATTERNS)
        try:
            # Both libraries have the same numbers for these.
            patterns.append(regex.compile(text, flags & (regex.I | regex.M | regex.S | regex.X)))
        except regex.error as error:
            raise checks.refused(name, expression, f"{_PATTERNS}: {error}") from None
    return tuple(patterns)
