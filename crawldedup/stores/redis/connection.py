"""Connect a store to its Redis server: send calls, repeat failed ones, and collect replies."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, cast

import redis
from redis.sentinel import MasterNotFoundError

from crawldedup.stores.redis.calls import Call, Commands, Request, exchange
from crawldedup.stores.redis.client import Target, connect
from crawldedup.stores.redis.errors import ANY_ERROR


class Connection:
    """A connection to one Redis server that is opened when it is first used.

    Safe to use from several threads.
    """

    def __init__(self, target: Target, store: str, prefixes: tuple[str, ...]) -> None:
        """Store what is needed to connect, without connecting yet.

        Args:
            target: The server.
            store: The URL of the store as messages show it.
            prefixes: The prefixes of the keys of an index.
        """
        self._target = target
        self._store = store
        self.prefixes = prefixes
        self.passwords = target.passwords
        """The passwords, which no message may show."""
        self.reachable = prefixes
        """The prefixes whose server replied the last time that all of them were called."""

    @cached_property
    def _client(self) -> Any:
        return connect(self._target)

    def _server(self, prefix: str) -> redis.Redis:  # noqa: ARG002 (the parts of a cluster differ)
        return cast(redis.Redis, self._client)

    def _attempts(self) -> Iterator[None]:
        """Yield before each attempt to get replies, so the caller can loop until it has them.

        The first attempt may find that an idle connection was closed, but the second one will not.
        """
        yield
        yield

    def _is_worth_repeating(self, reply: object) -> bool:
        """Return whether a reply is a failure that another attempt may fix."""
        # Sentinels that name no master have used up the time.
        return isinstance(reply, redis.ConnectionError) and not isinstance(
            reply, MasterNotFoundError
        )

    def servers(self) -> set[redis.Redis]:
        """Return a client for each server that holds a part of the index.

        Raises the client's own errors.
        """
        return {self._server(prefix) for prefix in self.prefixes}

    def send(self, calls: Sequence[Call]) -> list[Any]:
        """Send calls, and return the replies in the same order.

        A call that fails has its error instead. Calls to one server run in their order. Each
        attempt takes one round trip. Only calls that may succeed this time are repeated.
        """
        replies: dict[int, Any] = {}
        waiting = dict(enumerate(calls))
        for _ in self._attempts():
            replies |= self._send_once(waiting)
            waiting = {
                place: call.retried()
                for place, call in waiting.items()
                if self._is_worth_repeating(replies[place])
            }
            if not waiting:
                break
        return [replies[place] for place in range(len(calls))]

    def _send_once(self, numbered: Mapping[int, Call]) -> dict[int, Any]:
        """Send numbered calls once, and return the replies by number."""
        replies: dict[int, Any] = {}
        numbers: defaultdict[redis.Redis, list[int]] = defaultdict(list)
        for number, call in numbered.items():
            try:
                server = self._server(call.prefix)
            except ANY_ERROR as error:
                replies[number] = error
            else:
                numbers[server].append(number)
        batches = []
        for server, of_server in numbers.items():
            commands = [numbered[number].command() for number in of_server]
            batches.append(Commands(server, commands))
        exchanged = exchange(batches)
        for of_server, server_replies in zip(numbers.values(), exchanged, strict=True):
            replies.update(zip(of_server, server_replies, strict=True))
        return replies

    def send_everywhere(self, request: Request, *, anew: bool = False) -> dict[str, Any]:
        """Send a request to every part of the index, and return the replies by prefix.

        Parts whose server can't be reached are left out. If no server can be reached, all replies
        are errors. Servers that were left out aren't called again until a call with `anew`.
        """
        prefixes = self.prefixes if anew else self.reachable
        replies = self.send([Call(prefix, request) for prefix in prefixes])
        by_prefix = dict(zip(prefixes, replies, strict=True))
        reached = {
            prefix: reply
            for prefix, reply in by_prefix.items()
            if not self._is_worth_repeating(reply)
        }
        replies_to_use = reached or by_prefix
        self.reachable = tuple(replies_to_use)
        return replies_to_use

    def close(self) -> None:
        """Disconnect. The connection is opened again when it is used again."""
        client = vars(self).pop("_client", None)
        if client:
            client.close()
