"""The ``CRAWLDEDUP_*`` settings: read once, checked strictly, frozen."""

from __future__ import annotations

import difflib
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import ConfigurationError
from crawldedup.options import DISTINGUISH, SCOPES, Options
from crawldedup.scrapy_plugin.reading.base import PAGE_LIMIT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from scrapy.settings import BaseSettings

PREFIX = "CRAWLDEDUP_"
ACTIONS = ("drop", "drop-items", "mark")
ON_ERROR = ("pass", "fail")
CANONICAL = ("ignore", "compare")
REVISIT = ("keep", "drop")
ITEM_ACTIONS = ("drop", "mark")
DEFAULT_EXTRACTOR = "trafilatura"

# Learns while it reads, so that one worker must read all pages.

# Quick enough that sending a page to another process would be a large part of the work.
INLINE_EXTRACTORS = ("text",)
# One process keeps up with Scrapy itself.
QUICK_EXTRACTORS = ("resiliparse",)

_KNOWN = (
    "ACTION",
    "ALLOW",
    "CANONICAL",
    "DEFAULT",
    "DENY",
    "DISTINGUISH",
    "ENABLED",
    "EXTRACTOR",
    "GC_FREEZE",
    "ITEM_ACTION",
    "ITEM_FIELDS",
    "ITEM_IDENTITY",
    "KEEP_PER_CLUSTER",
    "MAX_PAGES",
    "MIN_WORDS",
    "NAMESPACE",
    "ON_ERROR",
    "PAGE_SECONDS",
    "RECALL",
    "REMEMBER",
    "REVISIT",
    "SCOPE",
    "SIMILARITY",
    "STORE",
    "STORE_URLS",
    "TTL",
    "TTL_REFRESH",
    "WORKERS",
)

# Read by the parts of the plugin that they are for.
_READ_ELSEWHERE = ("ENABLED", "ITEM_ACTION", "ITEM_FIELDS", "ITEM_IDENTITY")


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupSettings:
    """The settings of one crawl. `min_words` and `ttl` are None where the core's default applies.

    `namespace` is "default" and not the project's BOT_NAME, so that the library, the command line and Scrapy
    look at the same index when none of them is told otherwise, and renaming a project does not lose it.
    `workers` is the number of processes that read pages; 0 means one thread in this process. `page_seconds` is the time
    that reading a page may take. `gc_freeze` is explained in `garbage`.
    """

    store: str = "memory://"
    namespace: str = "default"
    scope: str = "global"
    similarity: float = 0.9
    recall: float = 0.98
    action: str = "drop"
    ttl: str | int | None = None
    ttl_refresh: bool = True
    max_pages: int | None = None
    store_urls: bool = True
    extractor: str = DEFAULT_EXTRACTOR
    min_words: int | None = None
    distinguish: str = Options().distinguish
    keep_per_cluster: int = 1
    default: bool = True
    allow: tuple[re.Pattern[str], ...] = ()
    deny: tuple[re.Pattern[str], ...] = ()
    remember: bool = True
    canonical: str = "ignore"
    revisit: str = "keep"
    on_error: str = "pass"
    workers: int = 0
    page_seconds: int = int(PAGE_LIMIT_SECONDS)
    gc_freeze: bool = True

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> DedupSettings:
        """Read Scrapy's settings. Raises `ConfigurationError`, which names the setting and what it allows."""
        _refuse_unknown(settings)
        # Both are the item pipeline's, which is not there where no fields are named: misspelt they would pass unsaid.
        item_action(settings)
        item_identity(settings)
        given = {
            name.lower(): value
            for name in _KNOWN
            if name not in _READ_ELSEWHERE and (value := settings.get(PREFIX + name)) is not None
        }
        checked: dict[str, Any] = {
            field: _CHECKS[field](PREFIX + field.upper(), value) for field, value in given.items()
        }
        checked.setdefault("store", _default_store(settings))
        checked.setdefault("workers", default_workers(checked.get("extractor", DEFAULT_EXTRACTOR)))
        return cls(**checked)


def is_enabled(settings: BaseSettings) -> bool:
    """Read ``CRAWLDEDUP_ENABLED`` alone: a plugin that is switched off does not check its other settings."""
    return yes_or_no(PREFIX + "ENABLED", settings.get(PREFIX + "ENABLED", True))


def item_action(settings: BaseSettings) -> str:
    """Read ``CRAWLDEDUP_ITEM_ACTION``: one of ITEM_ACTIONS. Raises `ConfigurationError`."""
    return one_of(f"{PREFIX}ITEM_ACTION", settings.get(f"{PREFIX}ITEM_ACTION", ITEM_ACTIONS[0]), ITEM_ACTIONS)


def item_identity(settings: BaseSettings) -> str:
    """Read ``CRAWLDEDUP_ITEM_IDENTITY``: the name of a field. Raises `ConfigurationError`."""
    name = f"{PREFIX}ITEM_IDENTITY"
    identity = settings.get(name, "url")
    if not isinstance(identity, str) or not identity.strip():
        raise _refused(name, identity, "the name of a field")
    return identity


def default_workers(extractor: str) -> int:
    """One process less than there are cores for a slow extractor, at most 4; one or none for a quick one."""
    if extractor in INLINE_EXTRACTORS:
        return 0
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if extractor in QUICK_EXTRACTORS:
        return min(1, cores - 1)
    return max(1, min(4, cores - 1))


def similarity(name: str, value: object) -> float:
    """Check a similarity: above .5, for below it every other page resembles some page."""
    allowed = "a number above 0.5 and at most 1"
    number = _number(name, value, allowed)
    if not 0.5 < number <= 1:
        raise _refused(name, value, allowed)
    return number


def one_of(name: str, value: object, allowed: Collection[str]) -> str:
    """Check a word against the words that are allowed."""
    if not isinstance(value, str) or value not in allowed:
        raise _refused(name, value, " or ".join(repr(word) for word in allowed))
    return value


def whole(name: str, value: object, at_least: int) -> int:
    """Check a whole number with a lower limit."""
    allowed = f"a whole number of at least {at_least}"
    number = _number(name, value, allowed)
    if number != int(number) or number < at_least:
        raise _refused(name, value, allowed)
    return int(number)


def yes_or_no(name: str, value: object) -> bool:
    """Check a truth value, in the spellings that Scrapy's command line produces too."""
    spelling = str(value).lower()
    if spelling not in ("true", "false", "1", "0"):
        raise _refused(name, value, "True or False")
    return spelling in ("true", "1")


def patterns(name: str, value: object) -> tuple[re.Pattern[str], ...]:
    """Check regular expressions for URLs: one, or several in a list, as texts or compiled."""
    allowed = "a regular expression or a list of them"
    compiled = []
    for expression in value if isinstance(value, list | tuple | set | frozenset) else [value]:
        if isinstance(expression, str):
            try:
                pattern = re.compile(expression)
            except re.error as error:
                raise ConfigurationError(f"{name} holds {expression!r}; it must be {allowed}: {error}.") from None
        elif isinstance(expression, re.Pattern) and isinstance(expression.pattern, str):
            pattern = expression
        else:
            raise _refused(name, value, allowed)
        if not pattern.pattern:
            raise _refused(name, value, f"{allowed}, none of them empty: an empty one is found in every URL")
        compiled.append(pattern)
    return tuple(compiled)


def _number(name: str, value: object, allowed: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise _refused(name, value, allowed)
    try:
        number = float(value)
    except ValueError:
        raise _refused(name, value, allowed) from None
    if not abs(number) < 1e15:  # nan and the infinities included
        raise _refused(name, value, allowed)
    return number


def _recall(name: str, value: object) -> float:
    allowed = "a number of at least 0.5 and below 1"
    number = _number(name, value, allowed)
    if not 0.5 <= number < 1:
        raise _refused(name, value, allowed)
    return number


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _refused(name, value, "a text that is not empty")
    return value


def _ttl(name: str, value: object) -> str | int:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise _refused(name, value, "seconds as a whole number, or a text such as '30d'")
    # A number on Scrapy's command line arrives as a text.
    return int(value) if isinstance(value, str) and value.isdecimal() else value


def _core_allows(argument: str, check: Callable[[str, object], Any]) -> Callable[[str, object], Any]:
    """A check whose last word is the core's, which knows stores and extractors; its message gets the setting's name."""

    def checked(name: str, value: object) -> Any:
        argument_value: dict[str, Any] = {argument: check(name, value)}
        try:
            # Opens nothing.
            Deduplicator(**argument_value)
        except ConfigurationError as error:
            raise ConfigurationError(f"{name}: {error}") from error
        return argument_value[argument]

    return checked


_CHECKS: dict[str, Callable[[str, object], Any]] = {
    "store": _core_allows("store", _text),
    "namespace": _core_allows("namespace", _text),
    "scope": lambda name, value: one_of(name, value, SCOPES),
    "similarity": similarity,
    "recall": _recall,
    "action": lambda name, value: one_of(name, value, ACTIONS),
    "ttl": _core_allows("ttl", _ttl),
    "ttl_refresh": yes_or_no,
    "max_pages": lambda name, value: whole(name, value, 1),
    "store_urls": yes_or_no,
    "extractor": _core_allows("extractor", _text),
    "min_words": lambda name, value: whole(name, value, 1),
    "distinguish": lambda name, value: one_of(name, value, DISTINGUISH),
    "keep_per_cluster": lambda name, value: whole(name, value, 1),
    "default": yes_or_no,
    "allow": patterns,
    "deny": patterns,
    "remember": yes_or_no,
    "canonical": lambda name, value: one_of(name, value, CANONICAL),
    "revisit": lambda name, value: one_of(name, value, REVISIT),
    "on_error": lambda name, value: one_of(name, value, ON_ERROR),
    "workers": lambda name, value: whole(name, value, 0),
    "page_seconds": lambda name, value: whole(name, value, 1),
    "gc_freeze": yes_or_no,
}


def _refuse_unknown(settings: BaseSettings) -> None:
    for name in settings:
        if not isinstance(name, str) or not name.startswith(PREFIX) or name.removeprefix(PREFIX) in _KNOWN:
            continue
        closest = difflib.get_close_matches(name.removeprefix(PREFIX), _KNOWN, n=1, cutoff=0)
        raise ConfigurationError(
            f"{name} is not a setting of crawldedup; did you mean {PREFIX}{closest[0]}? "
            f"Allowed are: {', '.join(PREFIX + word for word in _KNOWN)}."
        )


def _default_store(settings: BaseSettings) -> str:
    if redis_url := settings.get("REDIS_URL"):
        return str(_CHECKS["store"]("REDIS_URL", redis_url))
    # Not by Scrapy's job_dir, which makes the directory: who only looks at an index leaves no trace.
    if directory := settings.get("JOBDIR"):
        return f"sqlite:///{quote(directory)}/crawldedup.sqlite"
    return "memory://"


def _refused(name: str, value: object, allowed: str) -> ConfigurationError:
    return ConfigurationError(f"{name} is {value!r}; it must be {allowed}.")
