"""Name crawls and what writes their journals, so that a name can be part of a file's name and of a key."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import socket
import time
from pathlib import Path, PurePath
from typing import Final

from crawldedup.checks import refused
from crawldedup.stores.registry import check_store_url

OWN_STORE: Final = "store"
"""Stands for the Redis that holds a crawl's index."""

NAME_FILE: Final = "crawldedup.crawl"
"""Has the name of the crawl, in the directory of a job that may be paused."""

_LONGEST: Final = 60
_FOREIGN: Final = re.compile(r"[^A-Za-z0-9._-]+")
_CRAWL: Final = re.compile(r"[A-Za-z0-9._-]{1,100}")
_PLACES: Final = 'a directory, the URL of a Redis, "store" for the Redis of the index, or False'


def check_journal(name: str, value: object) -> str | bool:
    """Check for a place of journals; False for none. Raises ConfigurationError."""
    if value is False or (isinstance(value, str) and value.lower() in ("false", "0")):
        return False
    if not isinstance(value, str | PurePath) or not str(value):
        raise refused(name, value, _PLACES)
    if "://" in (place := str(value)):
        check_store_url(name, place)
        if not is_redis(place):
            raise refused(name, value, _PLACES)
    return place


def check_crawl(name: str, value: object) -> str:
    """Check for the name of a crawl. Raises ConfigurationError."""
    if not isinstance(value, str) or not is_name(value):
        raise refused(name, value, "1 to 100 letters, digits and the signs . _ -")
    return value


def is_name(text: str) -> bool:
    """Return True for what can be the name of a crawl."""
    return _CRAWL.fullmatch(text) is not None


def is_redis(url: str) -> bool:
    """Return True for the URL of a Redis, as stores have it."""
    return url.partition("://")[0].lower() in ("redis", "rediss", "unix", "redis+sentinel", "redis+cluster")


def crawl_of(spider: str, started: float) -> str:
    """Return the name of a crawl that was given none: its spider, and when it started in UTC, to the millisecond."""
    second = time.strftime("%Y%m%dT%H%M%S", time.gmtime(started))
    return f"{_safe(spider)}-{second}.{int(started * 1000) % 1000:03d}"


def name_of_job(job: Path | None, name: str) -> str:
    """Return the name that the first run of a job had: this one, unless there was a run before."""
    if job is None:
        return name
    try:
        with (job / NAME_FILE).open("x") as file:
            file.write(name)
    except FileExistsError:
        with contextlib.suppress(OSError, ValueError):
            earlier = (job / NAME_FILE).read_text("ascii")
            return earlier if is_name(earlier) else name
    except OSError:
        pass
    return name


def own_writer() -> str:
    """Return the name of this process: its host and its id."""
    return f"{_safe(socket.gethostname())}-{os.getpid()}"


def _safe(text: str) -> str:
    """Return a text whose other characters are replaced. What that changes ends with a hash: names stay different."""
    safe = _FOREIGN.sub("_", text)[:_LONGEST]
    if safe == text:
        return text
    return f"{safe}-{hashlib.blake2b(text.encode('utf-8', 'replace'), digest_size=4).hexdigest()}"
