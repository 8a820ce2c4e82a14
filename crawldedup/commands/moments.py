"""Parse points in time on the command line, such as "2026-11-28", or "20h" for 20 hours ago."""

import re
import time
from datetime import UTC, datetime
from typing import Final

from crawldedup.errors import ConfigurationError
from crawldedup.text import printable

_AGE: Final = re.compile(r"(\d{1,6}) *([mhdw])")
_SECONDS: Final = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def moment_of(flag: str, given: str) -> float:
    """Return the point in time that was given, in seconds since 1970 (UTC).

    It is given as an age, or as a time, which is in UTC unless it names another time zone.

    Raises:
        ConfigurationError: It is neither. The message begins with the `flag` that it was given for.
    """
    if age := _AGE.fullmatch(given.strip()):
        return time.time() - int(age[1]) * _SECONDS[age[2]]
    try:
        moment = datetime.fromisoformat(given.strip())
    except ValueError:
        raise ConfigurationError(
            f"{flag} is {printable(given)!r}; it must be a time such as 2026-11-28 or "
            "2026-11-28T09:00, or an age such as 12h, 1d or 2w"
        ) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
