"""Translate the errors of redis-py into the errors of crawldedup."""

import contextlib
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import redis
from redis import exceptions
from redis.sentinel import MasterNotFoundError

from crawldedup.errors import (
    ConfigurationError,
    CrawlDedupError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
)
from crawldedup.text import printable

BAD_REPLIES: Final = (
    TypeError,
    ValueError,
    LookupError,
    AttributeError,
    RecursionError,  # replies that are nested a thousand levels deep
    struct.error,
)
"""Errors from reading a malformed reply.

Such replies come from a broken proxy, for example, or from a server that isn't Redis.
"""
ANY_ERROR: Final = (redis.RedisError, exceptions.RedisClusterException, OSError)
"""Errors from connecting to a server or from running a command."""

_TRANSIENT: Final = (
    redis.ConnectionError,
    redis.TimeoutError,
    redis.ReadOnlyError,
    OSError,
    exceptions.RedisClusterException,
    exceptions.ClusterError,
    exceptions.AskError,
    exceptions.TryAgainError,
    exceptions.ClusterCrossSlotError,
)
_TRANSIENT_CODES: Final = (
    r"\b(LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|READONLY|BUSY|NOREPLICAS|MISCONF)\b"
    r"|access a non local key"
)
_NOT_OURS: Final = (
    "has a key in the namespace {!r} that crawldedup did not write; remove that key if nobody "
    "needs it, or use another namespace or database"
)


class Translation(NamedTuple):
    """A kind of error of redis-py, and the error of crawldedup that it becomes."""

    kinds: type[Exception] | tuple[type[Exception], ...]
    pattern: str  # found in the client's message
    error: type[CrawlDedupError]
    words: str  # what our message says about the store; {!r} is the namespace

    def covers(self, error: BaseException) -> bool:
        """Return whether this translation applies to an error of redis-py."""
        return isinstance(error, self.kinds) and re.search(self.pattern, str(error)) is not None


_TRANSLATIONS: Final = (
    # First the errors that only different settings can fix.
    Translation(
        redis.AuthenticationError, "", ConfigurationError, "refuses the user or the password"
    ),
    Translation(
        exceptions.NoPermissionError,
        "",
        ConfigurationError,
        "does not give this user enough permissions",
    ),
    Translation(
        MasterNotFoundError,
        "",
        StoreUnavailableError,
        "needs its sentinels and the name of their service",
    ),
    Translation(
        redis.ConnectionError,
        "CERTIFICATE_(VERIFY|REQ)",
        ConfigurationError,
        "and this program do not agree on TLS",
    ),
    Translation(
        exceptions.MovedError,
        "",
        ConfigurationError,
        "is a node of a cluster, so write redis+cluster://",
    ),
    Translation(
        redis.ResponseError,
        "cluster support",
        ConfigurationError,
        "is not a node of a cluster, so write redis://",
    ),
    Translation(
        redis.ResponseError,
        "DB index",
        ConfigurationError,
        "names a database the server does not have",
    ),
    Translation(
        BAD_REPLIES,
        "",
        StoreError,
        "does not answer like Redis; check what is at that address, or in front of it",
    ),
    # This one comes before the error codes because a key's name may look like one.
    Translation(
        ANY_ERROR, r"\bWRONGTYPE (Operation|at)\b|\bFOREIGN hash at\b", StoreError, _NOT_OURS
    ),
    Translation(redis.OutOfMemoryError, "", StoreFullError, "is full (maxmemory reached)"),
    # Redis 6.2 puts the code of an error inside a script in the middle of the message.
    Translation(ANY_ERROR, r"\bOOM\b", StoreFullError, "is full (maxmemory reached)"),
    Translation(_TRANSIENT, "", StoreUnavailableError, "cannot be used"),
    Translation(ANY_ERROR, _TRANSIENT_CODES, StoreUnavailableError, "cannot be used"),
    Translation(ANY_ERROR, "", StoreError, "answers with an error"),
)
"""The first translation that covers an error applies."""


def translation_of(error: Exception, store: str) -> Translation:
    """Return the translation that applies to an error of redis-py.

    `store` is the URL of the store. If no translation covers the error, it is raised again.
    """
    # redis-py's cluster client hides errors that only different settings can fix in its own errors.
    causes: list[BaseException] = [error]
    while isinstance(causes[-1], exceptions.RedisClusterException):
        cause = causes[-1].__cause__ or causes[-1].__context__
        if not cause:
            break
        causes.append(cause)
    for translation in _TRANSLATIONS:
        # Slots of a cluster can move, so this isn't a problem with the settings of its client.
        if translation.kinds is exceptions.MovedError and store.startswith("redis+cluster:"):
            continue
        candidates = causes if translation.error is ConfigurationError else [error]
        if any(translation.covers(candidate) for candidate in candidates):
            return translation
    raise error


@contextlib.contextmanager
def store_errors(
    store: str, was_in: Callable[[], bool], namespace: str, passwords: Sequence[str] = ()
) -> Iterator[None]:
    """Turn errors of redis-py inside a `with` block into errors of crawldedup.

    An error that only different settings can fix becomes a ConfigurationError, unless the server
    has let us in before: then somebody is reconfiguring it, and that must not end a crawl.

    Args:
        store: The URL of the store, for messages.
        was_in: Returns whether the server has let us in before.
        namespace: The name of the index, for messages.
        passwords: The passwords, which no message may show. Servers and proxies that don't know a
            command repeat its arguments.

    Raises:
        StoreError: If the server fails, or a more specific error below it.
        ConfigurationError: If only different settings can help.
    """
    try:
        yield
    except CrawlDedupError:
        raise  # some of ours are ValueErrors
    except (*ANY_ERROR, *BAD_REPLIES) as error:
        translation = translation_of(error, store)
        ours = translation.error
        if ours is ConfigurationError and was_in():
            ours = StoreUnavailableError
        words = translation.words.format(namespace)
        message = str(error)
        shown = message
        for password in passwords:
            shown = shown.replace(password, "***")
        # A traceback would also show the client's own message.
        cause = error if shown == message else None
        raise ours(f"{store} {words}: {printable(shown)}") from cause
