"""How the URL of a store chooses the class that serves it."""

import contextlib
import pkgutil
import re
from dataclasses import replace
from typing import Final

from crawldedup.checks import did_you_mean
from crawldedup.errors import ConfigurationError, ProfileMismatchError
from crawldedup.stores.contract import Layout, Store

_STORES: Final = {
    "memory": "sqlite.store:MemoryStore",
    "sqlite": "sqlite.store:SqliteStore",
    **dict.fromkeys(("redis", "rediss", "unix", "redis+sentinel"), "redis.store:RedisStore"),
    "redis+cluster": "redis.cluster:RedisClusterStore",
}
_ANY_LAYOUT: Final = Layout("", "", (), 0)


def make_store(url: str, layout: Layout) -> Store:
    """Return the store that a URL names, not yet opened. Raises ConfigurationError."""
    return store_class("store", url)(url, layout)


def check_store_url(name: str, value: object) -> str:
    """Check for the URL of a store that can be made.

    Raises ConfigurationError, which begins with `name`.
    """
    kind, url = store_class(name, value), str(value)
    try:
        kind(url, _ANY_LAYOUT)
    except ConfigurationError as error:
        # The traceback of the cause would show the URL.
        raise ConfigurationError(f"{name}: {error}") from None
    return url


def is_persistent(url: str) -> bool:
    """Return True if the indexes of a store outlive the program. Raises ConfigurationError."""
    return store_class("store", url).is_persistent


def require_index(url: str, namespace: str) -> None:
    """Raise ConfigurationError unless the store holds this index: a misspelt namespace would else
    be an empty one.
    """
    shown = shown_url(url)
    if not is_persistent(url):
        raise ConfigurationError(
            f"an index in {shown} ends with the program that made it: name a store that lasts, as "
            "sqlite:///path or redis://host"
        )
    store = make_store(url, replace(_ANY_LAYOUT, namespace=namespace))
    # Every index that is there has another profile than this one.
    with contextlib.closing(store), contextlib.suppress(ProfileMismatchError):
        store.open_read_only()
        raise ConfigurationError(
            f"there is no index {namespace!r} in {shown}: check the store and the namespace"
        )


def store_class(name: str, url: object) -> type[Store]:
    """Return the class that serves the scheme of a URL.

    Raises ConfigurationError, which begins with `name`.
    """
    scheme, separator, _ = url.partition("://") if isinstance(url, str) else ("", "", "")
    path = _STORES.get(scheme.lower())
    if path is None or not separator:
        shown = shown_url(url) if isinstance(url, str) else url
        is_file = (
            isinstance(url, str) and not separator and url.endswith((".sqlite", ".sqlite3", ".db"))
        )
        hint = f"; did you mean 'sqlite:///{shown}'?" if is_file else did_you_mean(scheme, _STORES)
        allowed = ", ".join(f"{name}://" for name in _STORES)
        raise ConfigurationError(
            f"{name} is {shown!r}; it must be a URL with one of the schemes {allowed}{hint}"
        )
    found: type[Store] = pkgutil.resolve_name(f"crawldedup.stores.{path}")
    return found


def shown_url(url: str) -> str:
    """Return a store URL without its password, for messages."""
    scheme, separator, rest = re.sub(r"(?i)([?&]\w*password=)[^&]*", r"\1***", url).partition("://")
    # A password may hold an @ or a / that should have been escaped. What begins with / is a path.
    credentials, at, place = ("", "", rest) if rest.startswith("/") else rest.rpartition("@")
    user, colon, _ = credentials.partition(":")
    return f"{scheme}{separator}{user if colon else ''}{colon}{'***@' if at else ''}{place}"
