"""Find the class for a store by the scheme of its URL.

A store class lists its URL schemes in `Store.schemes`. The stores of this package are in the table
`BUILT_IN`, so only the one that a URL needs is imported. Other packages can add a store with an
entry point in the group `crawldedup.stores`, which maps a scheme to a class:

    [project.entry-points."crawldedup.stores"]
    toy = "toy_store:ToyStore"

From then on, `Deduplicator("toy://...")` uses this class. The schemes in `BUILT_IN` cannot be
replaced.
"""

import contextlib
import pkgutil
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from crawldedup.checks import did_you_mean
from crawldedup.errors import ConfigurationError, ProfileMismatchError
from crawldedup.passwords import shown_url
from crawldedup.stores.anchors import AnchorStore
from crawldedup.stores.contract import Layout, Store

#: The group of entry points with which other packages add stores.
ENTRY_POINT_GROUP: Final = "crawldedup.stores"

#: The classes of this package by URL scheme, as "module:class".
BUILT_IN: Final = {
    "memory": "crawldedup.stores.sqlite.store:MemoryStore",
    "sqlite": "crawldedup.stores.sqlite.store:SqliteStore",
    "redis": "crawldedup.stores.redis.store:RedisStore",
    "rediss": "crawldedup.stores.redis.store:RedisStore",
    "unix": "crawldedup.stores.redis.store:RedisStore",
    "redis+sentinel": "crawldedup.stores.redis.store:RedisStore",
    "redis+cluster": "crawldedup.stores.redis.cluster:RedisClusterStore",
}
_ANY_LAYOUT: Final = Layout("", "", (), 0)
# The attributes that a store class must have.
_MEMBERS: Final = (
    "is_persistent",
    *(name for name in vars(Store) if callable(vars(Store)[name]) and not name.startswith("_")),
)


def make_store(url: str, layout: Layout, *, paragraphs: bool = False) -> Store:
    """Return the store that a URL names, without opening it.

    Args:
        url: The URL of the store.
        layout: The index to use, and what it is made for.
        paragraphs: Whether the store must be an `AnchorStore` as well.

    Raises:
        ConfigurationError: The URL is wrong, or its store cannot recognize paragraphs.
    """
    kind = store_class("store", url)
    if paragraphs and not issubclass(kind, AnchorStore):
        raise ConfigurationError(
            f"paragraphs is set, but the store {shown_url(url)} cannot recognize paragraphs: leave "
            "it at None, or use another store, such as sqlite:///path"
        )
    return kind(url, layout)


def check_store_url(name: str, value: object) -> str:
    """Check that a value is the URL of a store, without connecting to it, and return it.

    Args:
        name: The option that has the value. Error messages begin with it.
        value: The value of the option.

    Raises:
        ConfigurationError: There can't be a store with this URL.
    """
    kind = store_class(name, value)
    url = str(value)
    try:
        kind(url, _ANY_LAYOUT)
    except ConfigurationError as error:
        # The traceback of the cause would show the URL, which may have a password.
        raise ConfigurationError(f"{name}: {error}") from None
    return url


def is_persistent(url: str) -> bool:
    """Return whether indexes at this URL outlive the program.

    Raises:
        ConfigurationError: The URL has no scheme of a store.
    """
    return store_class("store", url).is_persistent


def require_index(url: str, namespace: str) -> str:
    """Make sure that an index exists, and return its profile.

    Without this check, a misspelled namespace would look like an empty index.

    Raises:
        ConfigurationError: The URL is wrong, or there is no index with this name.
        StoreError: The store fails.
    """
    shown = shown_url(url)
    if not is_persistent(url):
        raise ConfigurationError(
            f"an index in {shown} ends with the program that made it: name a persistent store, "
            "such as sqlite:///path or redis://host"
        )
    store = make_store(url, replace(_ANY_LAYOUT, namespace=namespace))
    # The profile of an index is never empty like the one of this layout, so an existing index
    # raises ProfileMismatchError.
    with contextlib.closing(store):
        try:
            store.open_read_only()
        except ProfileMismatchError as error:
            return error.index_profile
    raise ConfigurationError(
        f"there is no index {namespace!r} in {shown}: check the store and the namespace"
    )


def store_class(name: str, url: object) -> type[Store]:
    """Return the store class for the scheme of a URL.

    Args:
        name: The option that has the URL. Error messages begin with it.
        url: The value of the option.

    Raises:
        ConfigurationError: The value isn't a URL, no store has its scheme, or the store of another
            package can't be used.
    """
    scheme, separator, _ = url.partition("://") if isinstance(url, str) else ("", "", "")
    scheme = scheme.lower()
    if separator and scheme in BUILT_IN:
        found: type[Store] = pkgutil.resolve_name(BUILT_IN[scheme])
        return found
    added = _added_stores()
    if separator and scheme in added:
        return _load(name, scheme, added[scheme])
    raise _unknown_scheme(name, url, [*BUILT_IN, *added])


def _unknown_scheme(name: str, url: object, schemes: Sequence[str]) -> ConfigurationError:
    """Make the error for a URL whose scheme no store has, or for a value that isn't a URL."""
    shown = shown_url(url) if isinstance(url, str) else url
    scheme, separator, _ = url.partition("://") if isinstance(url, str) else ("", "", "")
    if isinstance(url, str) and not separator and url.endswith((".sqlite", ".sqlite3", ".db")):
        hint = f"; did you mean 'sqlite:///{shown}'?"
    else:
        hint = did_you_mean(scheme, schemes)
    allowed = ", ".join(f"{allowed}://" for allowed in schemes)
    return ConfigurationError(
        f"{name} is {shown!r}; it must be a URL with one of the schemes {allowed}{hint}"
    )


def _added_stores() -> dict[str, list[EntryPoint]]:
    """Find the entry points by which other packages add stores, by URL scheme.

    Finding them takes a while, because every installed package has to be examined. It is only done
    for schemes that are not built in.
    """
    added: dict[str, list[EntryPoint]] = {}
    for entry_point in entry_points(group=ENTRY_POINT_GROUP):
        scheme = entry_point.name.lower()
        if scheme not in BUILT_IN:
            added.setdefault(scheme, []).append(entry_point)
    return added


def _load(name: str, scheme: str, added: Sequence[EntryPoint]) -> type[Store]:
    """Import the store class that entry points name for a scheme.

    Raises ConfigurationError if they name several, or if the class can't be used.
    """
    if len({entry_point.value for entry_point in added}) > 1:
        claims = " and ".join(sorted(map(_origin, added)))
        raise ConfigurationError(
            f"{name}: several packages add a store for {scheme}://: {claims}; uninstall all but one"
        )
    origin = _origin(added[0])
    try:
        kind = added[0].load()
    except Exception as error:
        raise ConfigurationError(
            f"{name}: the store for {scheme}:// cannot be loaded from {origin}: "
            f"{type(error).__name__}: {error}; update or uninstall that package"
        ) from error
    _check_class(name, scheme, kind, origin)
    loaded: type[Store] = kind
    return loaded


def _check_class(name: str, scheme: str, kind: Any, origin: str) -> None:
    """Check that an imported object is a store class that serves the scheme.

    Raises ConfigurationError if it isn't.
    """
    if not isinstance(kind, type):
        raise ConfigurationError(
            f"{name}: the store for {scheme}:// is {kind!r} from {origin}; it must be a class "
            "that implements crawldedup.stores.contract.Store"
        )
    missing = [member for member in _MEMBERS if not hasattr(kind, member)]
    if missing:
        raise ConfigurationError(
            f"{name}: the store for {scheme}://, {kind.__qualname__} from {origin}, lacks "
            f"{', '.join(missing)}; it must implement crawldedup.stores.contract.Store"
        )
    schemes = tuple(getattr(kind, "schemes", ()))
    if scheme not in schemes:
        raise ConfigurationError(
            f"{name}: the store for {scheme}://, {kind.__qualname__} from {origin}, has the "
            f"schemes {schemes!r}; {scheme!r} must be one of them"
        )


def _origin(entry_point: EntryPoint) -> str:
    """Return the target of an entry point and the package that has it, for messages."""
    package = f" of {entry_point.dist.name}" if entry_point.dist else ""
    return f"{entry_point.value!r}{package}"
