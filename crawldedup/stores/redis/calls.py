"""Send script calls and commands to Redis servers, several in one round trip.

Scripts are called with a `ScriptRequest`, and commands with a `CommandRequest`. Together with the
key prefix that it is for, a request becomes a `Call`.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol, Self

import redis
from redis import exceptions

from crawldedup.stores.redis.errors import ANY_ERROR, BAD_REPLIES
from crawldedup.stores.redis.protocol import Argument, CheckArguments
from crawldedup.stores.redis.scripts import LOADED_IN_ORDER, ScriptName, script_sha, script_text

Command = tuple[Argument, ...]
"""The words of a command, as they are sent to the server."""


class Request(Protocol):
    """A script or a command that can be sent for any prefix, and so to any part of an index."""

    def command(self, prefix: str) -> Command:
        """Return the words of the command to send for a prefix."""
        ...

    def retried(self) -> Self:
        """Return the request to send when the reply to this one may have been lost."""
        ...


class CommandRequest:
    """A Redis command for a single key, which is named without its prefix."""

    def __init__(self, name: str, key: str, *arguments: Argument) -> None:
        self._name = name
        self._key = key
        self._arguments = arguments

    def command(self, prefix: str) -> Command:
        return (self._name, f"{prefix}{self._key}", *self._arguments)

    def retried(self) -> Self:
        return self


class ScriptRequest:
    """A call of a Lua script with its arguments (ARGV)."""

    def __init__(self, name: ScriptName, *arguments: Argument) -> None:
        self._name: ScriptName = name
        self._arguments = arguments

    def command(self, prefix: str) -> Command:
        return ("EVALSHA", script_sha(self._name), 1, prefix, *self._arguments)

    def retried(self) -> Self:
        return self


class CheckRequest(NamedTuple):
    """A call of the script `check`, which decides about a page. If repeated, it says so.

    If a page occurs twice in a batch, the second one is a revisit whether or not an answer was
    lost. So `is_first` is False for the second one, and it is not marked as a retry.
    """

    arguments: CheckArguments
    is_first: bool

    def command(self, prefix: str) -> Command:
        return ("EVALSHA", script_sha("check"), 1, prefix, *self.arguments.as_arguments())

    def retried(self) -> Self:
        if not self.is_first:
            return self
        return self._replace(arguments=self.arguments._replace(is_retry=1))


class Call(NamedTuple):
    """A request, and the prefix of the keys that it is for. The prefix determines the server."""

    prefix: str
    request: Request

    def command(self) -> Command:
        """Return the words of the command to send."""
        return self.request.command(self.prefix)

    def retried(self) -> "Call":
        """Return the call to make when the reply to this one may have been lost."""
        return self._replace(request=self.request.retried())


class ForeignIndexError(Exception):
    """Raised when the index on the server has another profile than this program expects."""


def is_lost(reply: Any) -> bool:
    """Return whether a script replied that the index is missing, although we had joined it."""
    return bool(reply == [b"lost"])


def value_of(reply: Any) -> Any:
    """Return a reply if it is a value, or else raise the error that it stands for.

    Raises:
        ForeignIndexError: If the index has another profile.
        redis.ConnectionError: If the index is lost.
        Exception: The error that came instead of a reply.
    """
    match reply:
        case Exception():
            raise reply
        case [b"lost"]:
            raise redis.ConnectionError("the index disappears as soon as it is created")
        case [b"profile", bytes()]:
            raise ForeignIndexError
    return reply


class Commands(NamedTuple):
    """A batch of commands that is sent to one server in one round trip."""

    server: redis.Redis
    commands: list[Command]


def exchange(batches: Sequence[Commands]) -> list[list[Any]]:
    """Send each server its commands, and return its replies, in the order of both.

    A command that fails has its error instead. The servers work at the same time.
    """
    if len(batches) < 2:
        return [_replies(batch) for batch in batches]
    with ThreadPoolExecutor(len(batches)) as threads:
        return list(threads.map(_replies, batches))


def _replies(batch: Commands) -> list[Any]:
    """Collect the replies of a server. If it lacks a script, all scripts are sent to it first."""
    server, commands = batch
    replies = _pipelined(server, commands)
    unknown = [
        place for place, reply in enumerate(replies) if isinstance(reply, exceptions.NoScriptError)
    ]
    if not unknown:
        return replies
    repeated = [commands[place] for place in unknown]
    loads: list[Command] = [("SCRIPT LOAD", script_text(name)) for name in LOADED_IN_ORDER]
    fresh = _pipelined(server, [*loads, *repeated])
    for place, reply in zip(unknown, fresh[len(loads) :], strict=True):
        replies[place] = reply
    return replies


def _pipelined(server: redis.Redis, commands: Sequence[Command]) -> list[Any]:
    """Send commands in one round trip, and return the replies.

    A failed command has its error instead. If the round trip fails, all of them have its error.
    """
    pipeline = server.pipeline(transaction=False)
    for command in commands:
        pipeline.execute_command(*command)  # type: ignore[no-untyped-call]
    try:
        return pipeline.execute(raise_on_error=False)
    except (*ANY_ERROR, *BAD_REPLIES) as error:
        return [error] * len(commands)
