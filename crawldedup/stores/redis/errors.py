"""Translate the Redis client's errors into ours."""

from __future__ import annotations

import contextlib
import re
import struct
from typing import TYPE_CHECKING, Final, Self

import redis
from redis.exceptions import (
    AskError,
    ClusterCrossSlotError,
    ClusterError,
    MovedError,
    NoPermissionError,
    RedisClusterException,
    TryAgainError,
)
from redis.sentinel import MasterNotFoundError

from crawldedup.errors import (
    ConfigurationError,
    CrawlDedupError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
)
from crawldedup.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_LONGEST_ANSWER: Final = 60


class UnknownServiceError(MasterNotFoundError):
    """Raised when sentinels answer but none knows the service."""


class UnexpectedReplyError(redis.RedisError):
    """Raised for a reply that the command cannot have: from a broken proxy, or from a server of another kind."""

    @classmethod
    def to(cls, asked: str, answer: object) -> Self:
        """Return the error for an answer."""
        return cls(f"{asked} was answered by {printable(repr(answer), _LONGEST_ANSWER)}")


@contextlib.contextmanager
def replies_read() -> Iterator[None]:
    """Raise UnexpectedReplyError where reading a reply fails because it has the wrong form. Wrap reading alone."""
    try:
        yield
    except CrawlDedupError:
        raise  # some of ours are ValueErrors
    except (TypeError, ValueError, LookupError, AttributeError, struct.error) as error:
        raise UnexpectedReplyError(f"a reply cannot be read ({type(error).__name__}: {error})") from error


@contextlib.contextmanager
def store_errors(shown_url: str, was_in: Callable[[], bool], namespace: str | None = None) -> Iterator[None]:
    """Turn the client's errors into ours. `shown_url` and `namespace` are for messages.

    What only other settings can mend is a ConfigurationError, unless the server has let us in before (`was_in`): then
    it is being reconfigured, and no crawl must end because of that.
    """
    try:
        yield
    except (redis.RedisError, RedisClusterException, OSError) as error:
        raise _as_ours(error, shown_url, was_in(), namespace) from error


def _as_ours(error: Exception, store: str, was_in: bool, namespace: str | None) -> CrawlDedupError:
    text = str(error)
    if isinstance(error, UnexpectedReplyError):
        return StoreError(
            f"{store} does not answer as Redis does: {text}; look at what is at that address, or in front of it"
        )
    if refusal := auth_error(error) or _wrong_kind(error, store):
        message = f"{store} {refusal}: {text}"
        return StoreUnavailableError(message) if was_in else ConfigurationError(message)
    # Before the codes below, because a key's name may look like one.
    if _NOT_OURS.search(text):
        return StoreError(f"{store}: {_foreign_key(text, namespace)}: {text}")
    # Redis 6.2 puts the code of an error inside a script in the middle of the message.
    if isinstance(error, redis.OutOfMemoryError) or re.search(r"\bOOM\b", text):
        return StoreFullError(f"{store} is full (maxmemory reached): {text}")
    if is_transient(error):
        return StoreUnavailableError(f"{store} cannot be used: {text}")
    if "DB index" in text:
        return ConfigurationError(f"{store} names a database the server does not have: {text}")
    return StoreError(f"{store}: {text}")


def _foreign_key(text: str, namespace: str | None) -> str:
    """Say that another program wrote a key, and what to do. Scripts name the key where they know it."""
    found = _KEY.search(text)
    index = "the index" if namespace is None else f"the namespace {namespace!r}"
    key, which = (f"the key {found[0]!r}", "it") if found else (f"a key of {index}", "that key")
    return (
        f"{key} holds what crawldedup did not write there; remove {which} if nobody needs it, or use another "
        f"namespace or database"
    )


def auth_error(error: BaseException) -> str | None:
    """Return how the server refuses us, if it does."""
    if isinstance(error, redis.AuthenticationError):
        return "refuses the user or the password"
    if isinstance(error, NoPermissionError):
        return "does not let this user work"
    if isinstance(error, UnknownServiceError):
        return "names a service that the sentinels do not know"
    if isinstance(error, redis.ConnectionError) and _TLS_TROUBLE.search(str(error)):
        return "and this program do not agree on TLS"
    # A cluster's client wraps the errors of its connections.
    if isinstance(error, RedisClusterException) and error.__cause__ is not None:
        return auth_error(error.__cause__)
    return None


def _wrong_kind(error: Exception, store: str) -> str | None:
    """Return what kind of server it is, if the URL takes it for another."""
    if isinstance(error, MovedError) and not store.startswith("redis+cluster:"):
        return "is a node of a cluster, so write redis+cluster://"
    # The client says the same of any error in a node's first answer; its origin has the node's own words.
    origin: BaseException = error
    while (earlier := origin.__cause__ or origin.__context__) is not None:
        origin = earlier
    if isinstance(error, RedisClusterException) and "cluster support disabled" in str(origin):
        return "is not a node of a cluster, so write redis://"
    return None


_UNAVAILABLE_KINDS: Final = (
    redis.ConnectionError,
    redis.TimeoutError,
    redis.ReadOnlyError,
    ClusterError,
    AskError,
    TryAgainError,
    ClusterCrossSlotError,
    RedisClusterException,
    OSError,
)
_UNAVAILABLE: Final = re.compile(
    r"\b(LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|READONLY|BUSY|NOREPLICAS|MISCONF)\b|access a non local key"
)
_NOT_OURS: Final = re.compile(r"\bWRONGTYPE (Operation|at)\b|\bFOREIGN hash at\b")
_KEY: Final = re.compile(r"\bcrawldedup:\{.*\}:[0-9a-z:]+")
_TLS_TROUBLE: Final = re.compile(r"CERTIFICATE_VERIFY_FAILED|ALERT_CERTIFICATE_REQUIRED")


def is_transient(error: Exception) -> bool:
    """Return True for an error that waiting may mend."""
    return isinstance(error, _UNAVAILABLE_KINDS) or _UNAVAILABLE.search(str(error)) is not None
