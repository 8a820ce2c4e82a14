"""Choose the store that a URL names. A new store is a class that follows `Store`, and one line in `_STORES`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

from crawldedup.checks import did_you_mean
from crawldedup.errors import ConfigurationError
from crawldedup.stores.shown import shown_url

if TYPE_CHECKING:
    from crawldedup.stores.base import Layout, Store

_STORES: Final = {
    "memory": "memory:MemoryStore",
    "sqlite": "sqlite.store:SqliteStore",
    **dict.fromkeys(("redis", "rediss", "unix", "redis+sentinel"), "redis.store:RedisStore"),
    "redis+cluster": "cluster.store:ClusterStore",
}
_FILE_ENDINGS: Final = (".sqlite", ".sqlite3", ".db")
MOST_SHOWN: Final = 20


class EmptyStoreError(ConfigurationError):
    """Raised where an index is looked for in a store that holds none."""


def make_store(url: str, layout: Layout) -> Store:
    """Return the store that a URL names, not yet opened. Raises ConfigurationError."""
    return store_class("store", url).from_url(url, layout)


def check_store_url(name: str, value: object) -> str:
    """Check for the URL of a store that can be made. Raises ConfigurationError, which begins with `name`."""
    kind = store_class(name, value)
    url = str(value)
    try:
        kind.check_url(url)
    except ConfigurationError as error:
        message = f"{name}: {error}"
    else:
        return url
    # Outside of the handler: the traceback of the cause would show the URL.
    raise ConfigurationError(message)


def is_persistent(url: str) -> bool:
    """Return True if the indexes of a store outlive the program. Raises ConfigurationError."""
    return store_class("store", url).is_persistent


def require_index(url: str, namespace: str) -> None:
    """Raise ConfigurationError, which names the indexes there are, unless the store holds this one.

    A misspelt namespace would else be an empty index. Writes nothing. Raises StoreError if the store cannot be asked.
    """
    kind = store_class("store", url)
    if not kind.is_persistent:
        raise ConfigurationError(
            f"an index in {shown_url(url)} ends with the program that made it: name a store that lasts, as "
            f"sqlite:///path or redis://host"
        )
    names = kind.namespaces(url, namespace)
    if namespace not in names:
        missing = f"there is no index {namespace!r} in {shown_url(url)}"
        if not names:
            raise EmptyStoreError(f"{missing}; it holds none at all")
        more = f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else ""
        raise ConfigurationError(f"{missing}; there are: {', '.join(names[:MOST_SHOWN])}{more}")


def store_class(name: str, url: object) -> type[Store]:
    """Return the class that serves the scheme of a URL. Raises ConfigurationError, which begins with `name`."""
    scheme, separator, _ = url.partition("://") if isinstance(url, str) else ("", "", "")
    path = _STORES.get(scheme.lower())
    if path is None or not separator:
        shown = shown_url(url) if isinstance(url, str) else url
        is_file = isinstance(url, str) and not separator and url.endswith(_FILE_ENDINGS)
        hint = f"; did you mean 'sqlite:///{shown}'?" if is_file else did_you_mean(scheme, _STORES)
        allowed = ", ".join(f"{name}://" for name in _STORES)
        raise ConfigurationError(f"{name} is {shown!r}; it must be a URL with one of the schemes {allowed}{hint}")
    module, _, kind = path.partition(":")
    found: type[Store] = getattr(importlib.import_module(f"crawldedup.stores.{module}"), kind)
    return found
