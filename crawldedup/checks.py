"""Checks for the values that users give to options.

A `Check` takes a name and a value, and returns the value, which may be converted, or raises
ConfigurationError. `one_of`, `whole`, `number` and `optional` make checks.
"""

import difflib
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from crawldedup.errors import ConfigurationError
from crawldedup.text import printable

Check = Callable[[str, Any], Any]

_TTL_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_LONGEST_TTL: Final = 100 * 365 * 86400
_LONGEST_SHOWN: Final = 80  # A whole page would hide the rest of the message.
KEY_BYTES: Final = 16  # the length of a random key
LONGEST_KEY: Final = 64


def refused(name: str, value: object, allowed: str) -> ConfigurationError:
    """Make the error for a value that is not allowed."""
    return ConfigurationError(
        f"{name} is {printable(repr(value), _LONGEST_SHOWN)}; it must be {allowed}"
    )


def did_you_mean(word: object, allowed: Iterable[str]) -> str:
    """Return "; did you mean 'x'?" if an allowed word is similar to this one, or else ""."""
    names = {each.lower(): each for each in allowed}
    close = difflib.get_close_matches(str(word).lower(), names, n=1)
    return f"; did you mean {names[close[0]]!r}?" if close else ""


def string(name: str, value: object) -> str:
    """Check that a value is a string, which may be empty, and return it."""
    if not isinstance(value, str):
        raise refused(name, value, "a string")
    return value


def one_of(*allowed: str | bool) -> Check:
    """Make a check that accepts one of several words, or True or False if they are among them."""

    def check(name: str, value: object) -> str | bool:
        if not isinstance(value, str | bool) or value not in allowed:
            hint = did_you_mean(value, map(str, allowed))
            raise refused(name, value, f"{_alternatives(allowed)}{hint}")
        return value

    return check


def _alternatives(values: Sequence[object]) -> str:
    """Return values in words, as in "'drop', 'mark' or None"."""
    *others, last = map(repr, values)
    return f"{', '.join(others)} or {last}" if others else last


flag: Final = one_of(True, False)  # "no" would count as true


def whole(at_least: int, at_most: float = math.inf) -> Check:
    """Make a check that accepts whole numbers within bounds, and converts 2.0 to 2."""
    if at_most < math.inf:
        allowed = f"a whole number from {at_least:,} to {at_most:,}"
    else:
        allowed = f"a whole number, at least {at_least:,}"

    def check(name: str, value: Any) -> int:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        # Infinity never has the remainder 0.
        if not is_number or not at_least <= value <= at_most or value % 1:
            raise refused(name, value, allowed)
        return int(value)

    return check


def number(allowed: str, accept: Callable[[float], bool]) -> Check:
    """Make a check that accepts a number if `accept` returns True for it."""

    def check(name: str, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not accept(value):
            raise refused(name, value, f"a number {allowed}")
        return value

    return check


def optional(check: Check) -> Check:
    """Turn a check into one that also accepts None."""
    return lambda name, value: None if value is None else check(name, value)


def secret(name: str, value: object) -> bytes | None:
    """Check a secret key: None, b"", 16 to 64 bytes, or a whole number below 2^128.

    None, which stands for a random key, and bytes are returned as they are. A number becomes 16
    bytes, and 0, which stands for no secret, becomes b"".
    """
    if value is None or (
        isinstance(value, bytes) and (not value or KEY_BYTES <= len(value) <= LONGEST_KEY)
    ):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 8 * KEY_BYTES:
        return value.to_bytes(KEY_BYTES, "big") if value else b""
    raise ConfigurationError(
        f"{name} must be None, 16 to 64 bytes, or a whole number from 0 to 2^128 - 1"
    )


def namespace(name: str, value: object) -> str:
    """Check the name of an index, which has to be usable as a part of a key, and return it."""
    if not isinstance(value, str) or not re.fullmatch(r"[\w.:-]{1,100}", value, re.ASCII):
        raise refused(name, value, "1 to 100 letters, digits and the characters . _ : -")
    return value


def ttl_seconds(name: str, value: object) -> int | None:
    """Check a time to live, and return it in seconds, or None for forever.

    It is given as a number of seconds, or as a text such as "90m", "12h", "30d" or "8w". None and
    "" mean forever.
    """
    if value is None or value == "":
        return None
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhdw]?)\s*", str(value))
    seconds = float(match[1]) * _TTL_UNITS[match[2] or "s"] if match else 0
    if not 1 <= seconds <= _LONGEST_TTL:
        units = f"one of the units {', '.join(_TTL_UNITS)}, such as '30d'"
        raise refused(
            name,
            value,
            f"a number of seconds, or a number with {units}, from 1 second to 100 years",
        )
    return int(seconds)
