"""Send commands to all nodes of a cluster at once, through failovers, and while slots move.

The client's own pipelines take no scripts. And the client follows a slot that is just being moved to the node that
has a part of its keys so far, where a script would find half an index: here such a slot is waited for.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import redis
from redis.exceptions import AskError, NoScriptError, RedisClusterException, TryAgainError

from crawldedup.stores.redis.client import check_cluster_url, connect_cluster, retry_on_failover
from crawldedup.stores.redis.scripts import script_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from redis.cluster import RedisCluster

    from crawldedup.stores.redis.shared import Argument

_CUT_OFF: Final = (redis.ConnectionError, redis.TimeoutError, OSError)
_ANY_ERROR: Final = (redis.RedisError, RedisClusterException, OSError)


@dataclass(frozen=True, slots=True)
class Call:
    """One command to the node that serves `key`; `script` is the name of the script that it runs, if any.

    `last_again` takes the place of the last argument when the answer was lost and the call is repeated.
    """

    key: str
    command: tuple[Argument, ...]
    script: str = ""
    last_again: Argument | None = None


def script_call(script: str, prefix: str, *arguments: Argument, last_again: Argument | None = None) -> Call:
    """Make a call of one of our scripts for the partition behind `prefix`."""
    # No key has the bare prefix as its name, so a node that is giving the slot away refuses the call at once.
    return Call(prefix, ("EVALSHA", _sha(script), 1, prefix, *arguments), script, last_again)


@cache
def _sha(script: str) -> str:
    return hashlib.sha1(script_text(script).encode(), usedforsecurity=False).hexdigest()


class Nodes:
    """The nodes of the cluster that a URL names. Connects when first used; safe to use from several threads.

    `calls` and `rounds` count what was asked, without a lock. Raises ConfigurationError for the URL, and the client's
    errors from the other methods.
    """

    def __init__(self, url: str) -> None:
        check_cluster_url(url)
        self._url = url
        self._client: RedisCluster | None = None
        self.calls = self.rounds = 0

    def run(self, calls: Iterable[Call]) -> list[Any]:
        """Return the answers, in order.

        Every call must be safe to repeat, for it is repeated: while a replica takes the place of a dead master,
        while a slot moves, and where an answer was lost. Calls to one node run in their order.
        """
        answers = self.try_to_run(calls)
        for error in (answer for answer in answers if isinstance(answer, Exception)):
            raise error
        return answers

    def try_to_run(self, calls: Iterable[Call]) -> list[Any]:
        """Return the same, with an error in the place of the answer that it prevented."""
        calls = list(calls)
        answers: list[Any] = [None] * len(calls)
        waiting = list(range(len(calls)))

        def attempt() -> None:
            try:
                asked = self._places_by_node(calls, waiting)
            except _ANY_ERROR as failure:
                for place in waiting:
                    answers[place] = failure
            else:
                self._ask(calls, asked, answers)
                if unknown := _taught(calls, asked, answers):
                    self._ask(calls, unknown, answers)
            waiting[:] = [place for place in waiting if isinstance(answers[place], Exception)]
            for place in waiting:
                call = calls[place]
                if isinstance(answers[place], _CUT_OFF) and call.last_again is not None:
                    calls[place] = replace(call, command=(*call.command[:-1], call.last_again))
            if waiting:
                error: Exception = answers[waiting[0]]
                # A slot that is on its way is still where it was. (That it has moved is a kind of AskError, too.)
                if type(error) not in (AskError, TryAgainError):
                    with contextlib.suppress(*_ANY_ERROR):
                        self._connected().nodes_manager.initialize()
                raise error

        if calls:
            with contextlib.suppress(*_ANY_ERROR):
                retry_on_failover(attempt)
        return answers

    def masters(self) -> Iterator[redis.Redis]:
        """Return a client of every master."""
        client = self._connected()
        return map(client.get_redis_connection, client.get_primaries())  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """Disconnect; harmless when repeated. Connects again when it is used again."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _connected(self) -> RedisCluster:
        client = self._client = self._client or connect_cluster(self._url)
        return client

    def _places_by_node(self, calls: Sequence[Call], places: Sequence[int]) -> dict[redis.Redis, list[int]]:
        client, found = self._connected(), defaultdict(list)
        for place in places:
            node = client.get_node_from_key(calls[place].key)  # type: ignore[no-untyped-call]
            found[client.get_redis_connection(node)].append(place)
        return found

    def _ask(self, calls: Sequence[Call], places_by_node: dict[redis.Redis, list[int]], answers: list[Any]) -> None:
        """Send all that every node is asked, then read what they say, or errors: they work at the same time."""
        self.rounds += 1
        self.calls += sum(map(len, places_by_node.values()))
        with contextlib.ExitStack() as stack:
            asked = []
            for node, places in places_by_node.items():
                try:
                    connection = stack.enter_context(_connection(node))
                    connection.send_packed_command(connection.pack_commands([calls[place].command for place in places]))
                    asked.append((connection, places))
                except _ANY_ERROR as error:
                    for place in places:
                        answers[place] = error
            for connection, places in asked:
                cut_off = None
                for place in places:
                    try:
                        answers[place] = cut_off or connection.read_response()
                    except redis.ResponseError as error:
                        answers[place] = error
                    except _ANY_ERROR as error:
                        answers[place] = cut_off = error


def _taught(
    calls: Sequence[Call], places_by_node: dict[redis.Redis, list[int]], answers: Sequence[Any]
) -> dict[redis.Redis, list[int]]:
    """Tell each node the scripts that it did not know, each having a cache of its own; return the calls of these."""
    unknown = {}
    for node, places in places_by_node.items():
        if mine := [place for place in places if isinstance(answers[place], NoScriptError)]:
            unknown[node] = mine
            with contextlib.suppress(*_ANY_ERROR):
                for script in {calls[place].script for place in mine}:
                    node.script_load(script_text(script))
    return unknown


@contextlib.contextmanager
def _connection(node: redis.Redis) -> Iterator[Any]:
    """Lend a connection. Whatever interrupts us, no later call must read what was meant for this one."""
    connection = node.connection_pool.get_connection()
    try:
        yield connection
    except BaseException:
        connection.disconnect()  # type: ignore[no-untyped-call]
        raise
    finally:
        node.connection_pool.release(connection)
