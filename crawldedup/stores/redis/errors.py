"""Translate the Redis client's errors into ours."""

import contextlib
import re
import struct
from collections.abc import Callable, Iterator
from typing import Final

import redis
from redis import exceptions
from redis.sentinel import MasterNotFoundError

from crawldedup.errors import ConfigurationError, CrawlDedupError, StoreError, StoreFullError, StoreUnavailableError

ANY_ERROR: Final = (redis.RedisError, exceptions.RedisClusterException, OSError)
BAD_REPLIES: Final = (TypeError, ValueError, LookupError, AttributeError, struct.error)
"""What reading a reply raises that has the wrong form: from a broken proxy, or from a server of another kind."""


class UnknownServiceError(MasterNotFoundError):
    """Raised when sentinels answer but none knows the service."""


_REFUSALS: Final[tuple[tuple[type[Exception], str, str], ...]] = (
    (redis.AuthenticationError, "", "refuses the user or the password"),
    (exceptions.NoPermissionError, "", "does not let this user work"),
    (UnknownServiceError, "", "names a service that the sentinels do not know"),
    (redis.ConnectionError, "CERTIFICATE_(VERIFY_FAILED|REQUIRED)", "and this program do not agree on TLS"),
    (exceptions.MovedError, "", "is a node of a cluster, so write redis+cluster://"),
    (redis.ResponseError, "cluster support disabled", "is not a node of a cluster, so write redis://"),
    (redis.ResponseError, "DB index", "names a database the server does not have"),
)
"""Kind and pattern of the errors that only other settings can mend, and what the message says."""

_NOT_OURS: Final = (
    "has a key in the namespace {!r} with what crawldedup did not write there; remove that key if nobody needs it, or "
    "use another namespace or database"
)
_TRANSIENT: Final = (
    *(redis.ConnectionError, redis.TimeoutError, redis.ReadOnlyError, OSError, exceptions.RedisClusterException),
    *(exceptions.ClusterError, exceptions.AskError, exceptions.TryAgainError, exceptions.ClusterCrossSlotError),
)
_CODES: Final = r"\b(LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|READONLY|BUSY|NOREPLICAS|MISCONF)\b|access a non local key"
_OTHERS: Final[tuple[tuple[tuple[type[Exception], ...], str, type[CrawlDedupError], str], ...]] = (
    (BAD_REPLIES, "", StoreError, "does not answer as Redis does; look at what is at that address, or in front of it"),
    # Before the codes below, because a key's name may look like one.
    (ANY_ERROR, r"\bWRONGTYPE (Operation|at)\b|\bFOREIGN hash at\b", StoreError, _NOT_OURS),
    ((redis.OutOfMemoryError,), "", StoreFullError, "is full (maxmemory reached)"),
    # Redis 6.2 puts the code of an error inside a script in the middle of the message.
    (ANY_ERROR, r"\bOOM\b", StoreFullError, "is full (maxmemory reached)"),
    (_TRANSIENT, "", StoreUnavailableError, "cannot be used"),
    (ANY_ERROR, _CODES, StoreUnavailableError, "cannot be used"),
    (ANY_ERROR, "", StoreError, "answers with an error"),
)


def our_error(error: Exception, store: str) -> tuple[type[CrawlDedupError], str]:
    """Return what an error of the client becomes, and what the message says of the store."""
    cause: BaseException | None = error
    while cause is not None:
        for kind, pattern, words in _REFUSALS:
            is_moved = kind is exceptions.MovedError and store.startswith("redis+cluster:")
            if isinstance(cause, kind) and re.search(pattern, str(cause)) and not is_moved:
                return ConfigurationError, words
        # A cluster's client wraps errors.
        cause = (cause.__cause__ or cause.__context__) if isinstance(cause, exceptions.RedisClusterException) else None
    fitting = (case for case in _OTHERS if isinstance(error, case[0]) and re.search(case[1], str(error)))
    return next(fitting)[2:]


@contextlib.contextmanager
def store_errors(store: str, was_in: Callable[[], bool], namespace: str) -> Iterator[None]:
    """Turn the client's errors into ours. The URL `store` and the `namespace` are for messages.

    What only other settings can mend is a ConfigurationError, unless the server has let us in before (`was_in`): then
    it is being reconfigured, and no crawl must end because of that.
    """
    try:
        yield
    except CrawlDedupError:
        raise  # some of ours are ValueErrors
    except (*ANY_ERROR, *BAD_REPLIES) as error:
        ours, words = our_error(error, store)
        if ours is ConfigurationError and was_in():
            ours = StoreUnavailableError
        raise ours(f"{store} {words.format(namespace)}: {error}") from error
