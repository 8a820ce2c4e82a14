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


class UnknownServiceError(MasterNotFoundError):
    """Raised when sentinels answer but none knows the service."""


class UnexpectedReplyError(redis.RedisError):
    """Raised for a reply that the command cannot have: from a broken proxy, or from a server of another kind."""


BAD_REPLIES: Final = (TypeError, ValueError, LookupError, AttributeError, struct.error)
"""What reading a reply raises that has the wrong form."""

_REFUSALS: Final[tuple[tuple[type[Exception], str, str], ...]] = (
    (redis.AuthenticationError, "", "refuses the user or the password"),
    (exceptions.NoPermissionError, "", "does not let this user work"),
    (UnknownServiceError, "", "names a service that the sentinels do not know"),
    (redis.ConnectionError, "CERTIFICATE_(VERIFY_FAILED|REQUIRED)", "and this program do not agree on TLS"),
    (exceptions.MovedError, "", "is a node of a cluster, so write redis+cluster://"),
    (redis.ResponseError, "cluster support disabled", "is not a node of a cluster, so write redis://"),
)
"""Kind and pattern of the errors that only other settings can mend, and what the message says."""

_TRANSIENT_KINDS: Final = (
    *(redis.ConnectionError, redis.TimeoutError, redis.ReadOnlyError, OSError, exceptions.RedisClusterException),
    *(exceptions.ClusterError, exceptions.AskError, exceptions.TryAgainError, exceptions.ClusterCrossSlotError),
)
_TRANSIENT: Final = re.compile(
    r"\b(LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|READONLY|BUSY|NOREPLICAS|MISCONF)\b|access a non local key"
)
_NOT_OURS: Final = re.compile(r"\bWRONGTYPE (Operation|at)\b|\bFOREIGN hash at\b")
_KEY: Final = re.compile(r"\bcrawldedup:\{.*\}:[0-9a-z:]+")


@contextlib.contextmanager
def store_errors(shown_url: str, was_in: Callable[[], bool], namespace: str) -> Iterator[None]:
    """Turn the client's errors into ours. `shown_url` and `namespace` are for messages.

    What only other settings can mend is a ConfigurationError, unless the server has let us in before (`was_in`): then
    it is being reconfigured, and no crawl must end because of that.
    """
    try:
        yield
    except (redis.RedisError, exceptions.RedisClusterException, OSError) as error:
        raise _as_ours(error, shown_url, was_in(), namespace) from error


@contextlib.contextmanager
def replies_read() -> Iterator[None]:
    """Raise UnexpectedReplyError where reading a reply fails because it has the wrong form. Wrap reading alone."""
    try:
        yield
    except CrawlDedupError:
        raise  # some of ours are ValueErrors
    except BAD_REPLIES as error:
        raise UnexpectedReplyError(f"a reply cannot be read ({type(error).__name__}: {error})") from error


def _as_ours(error: Exception, store: str, was_in: bool, namespace: str) -> CrawlDedupError:
    text = str(error)
    if refusal := refusal_in(error, store):
        message = f"{store} {refusal}: {text}"
        return StoreUnavailableError(message) if was_in else ConfigurationError(message)
    if isinstance(error, UnexpectedReplyError):
        what = "look at what is at that address, or in front of it"
        return StoreError(f"{store} does not answer as Redis does: {text}; {what}")
    # Before the codes below, because a key's name may look like one.
    if _NOT_OURS.search(text):
        found = _KEY.search(text)
        key, which = (f"the key {found[0]!r}", "it") if found else (f"a key of the namespace {namespace!r}", "that key")
        way_out = f"remove {which} if nobody needs it, or use another namespace or database"
        return StoreError(f"{store}: {key} holds what crawldedup did not write there; {way_out}: {text}")
    # Redis 6.2 puts the code of an error inside a script in the middle of the message.
    if isinstance(error, redis.OutOfMemoryError) or re.search(r"\bOOM\b", text):
        return StoreFullError(f"{store} is full (maxmemory reached): {text}")
    if is_transient(error):
        return StoreUnavailableError(f"{store} cannot be used: {text}")
    if "DB index" in text:
        return ConfigurationError(f"{store} names a database the server does not have: {text}")
    return StoreError(f"{store}: {text}")


def refusal_in(error: BaseException | None, store: str) -> str | None:
    """Return what only other settings can mend, if that is what an error says. A cluster's client wraps errors."""
    while error is not None:
        for kind, pattern, refusal in _REFUSALS:
            is_moved = kind is exceptions.MovedError and store.startswith("redis+cluster:")
            if isinstance(error, kind) and re.search(pattern, str(error)) and not is_moved:
                return refusal
        error = (error.__cause__ or error.__context__) if isinstance(error, exceptions.RedisClusterException) else None
    return None


def is_transient(error: Exception) -> bool:
    """Return True for an error that waiting may mend."""
    return isinstance(error, _TRANSIENT_KINDS) or _TRANSIENT.search(str(error)) is not None
