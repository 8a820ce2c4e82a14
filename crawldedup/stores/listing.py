"""Which indexes a store holds. Who only looks is told so where the one that was named is none of them.

A misspelt namespace would else be an index without pages: a store begins an index when somebody joins it.
"""

from __future__ import annotations

import re
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

from crawldedup.errors import ConfigurationError
from crawldedup.stores.base import shown_url
from crawldedup.stores.registry import scheme_of, sqlite_path
from crawldedup.stores.sqlite.database import errors_of, holds_anything, namespaces_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    import redis

MOST_SHOWN: Final = 20
SCAN_SECONDS: Final = 2.0
"""For a list in a message nobody waits any longer, however many keys a server has."""

_SCANNED_AT_ONCE: Final = 10_000
# Of a cluster, the namespace has the number of a partition behind it.
_HEAD: Final = re.compile(r"crawldedup:\{([\w.:-]+)\}:m", re.ASCII)
_HEAD_OF_PART: Final = re.compile(r"crawldedup:\{([\w.:-]+)\.[0-9a-f][0-9]*\}:(?:[hs]:)?m", re.ASCII)


def require_index(url: str, namespace: str) -> None:
    """Raise ConfigurationError, which names the indexes there are, unless the store holds this one.

    Writes nothing. Raises StoreError if the store cannot be asked. The URL must be one that `make_store` takes.
    """
    scheme = scheme_of(url)
    if scheme == "memory":
        raise ConfigurationError(
            "an index in memory:// ends with the program that made it: name a store that lasts, as sqlite:///path or "
            "redis://host"
        )
    if scheme == "sqlite":
        others = _others_in_file(url, namespace)
    elif scheme == "redis+cluster":
        others = _others_on_cluster(url, namespace)
    else:
        others = _others_on_server(url, namespace)
    if others is not None:
        raise ConfigurationError(f"there is no index {namespace!r} in {shown_url(url)}; {_listed(others)}")


def _listed(names: list[str]) -> str:
    if not names:
        return "it holds none at all"
    more = f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else ""
    return f"there are: {', '.join(names[:MOST_SHOWN])}{more}"


def _others_in_file(url: str, namespace: str) -> list[str] | None:
    """None if the index is there; else the names of those that are."""
    path = sqlite_path(url)
    with errors_of(path):
        if not holds_anything(path):
            raise ConfigurationError(f"there is no index in {url!r}, for the file does not exist or is empty")
        names = namespaces_in(path)
    return None if namespace in names else names


def _others_on_server(url: str, namespace: str) -> list[str] | None:
    """The same, of one server."""
    from crawldedup.stores.redis.client import connect
    from crawldedup.stores.redis.errors import replies_read, store_errors

    with closing(connect(url)) as connection, store_errors(shown_url(url), lambda: False, namespace), replies_read():
        client = connection.main
        if client.exists(f"crawldedup:{{{namespace}}}:m"):
            return None
        return _names(_heads_on(client), _HEAD)


def _others_on_cluster(url: str, namespace: str) -> list[str] | None:
    """The same, of a cluster: an index is there if any part of it is."""
    from crawldedup.stores.cluster.nodes import Call, Nodes
    from crawldedup.stores.cluster.protocol import prefixes
    from crawldedup.stores.redis.errors import replies_read, store_errors

    with closing(Nodes(url)) as nodes, store_errors(shown_url(url), lambda: False, namespace), replies_read():
        heads = [f"{prefix}m" for prefix in prefixes(namespace)]
        if any(nodes.run([Call(head, ("EXISTS", head)) for head in heads])):
            return None
        return _names((head for node in nodes.masters() for head in _heads_on(node)), _HEAD_OF_PART)


def _names(heads: Iterator[bytes], pattern: re.Pattern[str]) -> list[str]:
    found = (pattern.fullmatch(head.decode("utf-8", "replace")) for head in heads)
    return sorted({match[1] for match in found if match})


def _heads_on(client: redis.Redis) -> Iterator[bytes]:
    """The names of the heads of indexes, as far as they are found in the time there is."""
    deadline = time.monotonic() + SCAN_SECONDS
    cursor: int | None = None
    while cursor != 0 and time.monotonic() < deadline:
        # The server looks at so many keys at a time, whether they match or not.
        answer: Any = client.scan(cursor or 0, match="crawldedup:{*}:*m", count=_SCANNED_AT_ONCE)
        cursor, heads = answer
        yield from heads
