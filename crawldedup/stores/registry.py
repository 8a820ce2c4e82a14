"""Store URLs: which class serves which scheme. A new store is one file, one line in `_OPENERS` and one in `listing`."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from crawldedup.errors import ConfigurationError
from crawldedup.stores.base import shown_url

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawldedup.stores.base import Layout, Store


def _memory(url: str, layout: Layout) -> Store:
    from crawldedup.stores.memory.store import MemoryStore

    if url != "memory://":
        raise ConfigurationError(f"the store URL {url!r} is not valid: memory:// takes nothing behind it")
    return MemoryStore(layout)


def _sqlite(url: str, layout: Layout) -> Store:
    from crawldedup.stores.sqlite.store import SqliteStore

    return SqliteStore(sqlite_path(url), layout)


def _redis(url: str, layout: Layout) -> Store:
    from crawldedup.stores.redis.store import RedisStore

    return RedisStore(url, layout)


def _redis_cluster(url: str, layout: Layout) -> Store:
    from crawldedup.stores.cluster.store import ClusterStore

    return ClusterStore(url, layout)


_OPENERS: Final[dict[str, Callable[[str, Layout], Store]]] = {
    "memory": _memory,
    "sqlite": _sqlite,
    "redis": _redis,
    "rediss": _redis,
    "unix": _redis,
    "redis+sentinel": _redis,
    "redis+cluster": _redis_cluster,
}


def sqlite_path(url: str) -> str:
    """The path of the file that a `sqlite` URL names. Raises ConfigurationError."""
    path = unquote(url.removeprefix("sqlite://")).removeprefix("/")
    if not url.startswith("sqlite:///") or not path or path.endswith("/") or "\0" in path:
        raise ConfigurationError(
            f"the store URL {url!r} is not valid: write sqlite:///relative/path.sqlite or "
            f"sqlite:////absolute/path.sqlite"
        )
    return path


def scheme_of(url: str) -> str:
    """What of a store URL chooses the store."""
    return url.partition("://")[0].lower()


def check_store_url(name: str, value: object) -> str:
    """Return the URL of a store that can be made. Raises ConfigurationError, which begins with `name`."""
    if not isinstance(value, str) or scheme_of(value) not in _OPENERS or "://" not in value:
        schemes = ", ".join(f"{scheme}://" for scheme in _OPENERS)
        shown = shown_url(value) if isinstance(value, str) else value
        raise ConfigurationError(f"{name} is {shown!r}; it must be a URL with one of the schemes {schemes}")
    return value


def make_store(url: str, layout: Layout) -> Store:
    """The store a URL names, not yet opened. Raises ConfigurationError for a URL no store understands."""
    if not isinstance(url, str):
        raise ConfigurationError(f"store is {url!r}; it must be a URL as a text, as in 'sqlite:///path.sqlite'")
    scheme = scheme_of(url)
    opener = _OPENERS.get(scheme)
    if opener is None or "://" not in url:
        close = difflib.get_close_matches(scheme, _OPENERS, n=1)
        hint = f"; did you mean {close[0]}://?" if close else "."
        allowed = ", ".join(f"{name}://" for name in _OPENERS)
        raise ConfigurationError(f"the store URL {shown_url(url)!r} is not known{hint} Stores: {allowed}")
    return opener(url, layout)
