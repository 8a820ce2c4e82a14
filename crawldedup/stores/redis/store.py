"""The shared store: one Redis (or Valkey) server, 6.2 or later, one script call a page.

Everything that must be atomic is in the scripts under `lua/`; `lua/lib/layout.lua` describes the keys.
"""

from __future__ import annotations

import contextlib
import secrets
from functools import cache
from typing import TYPE_CHECKING, Any

from redis.exceptions import NoScriptError

from crawldedup.stores.redis.client import connect, retry_once
from crawldedup.stores.redis.errors import replies_read, store_errors
from crawldedup.stores.redis.protocol import crawl, question, unpacked, url_keys_of
from crawldedup.stores.redis.replies import validate_reply
from crawldedup.stores.redis.scripts import script_text
from crawldedup.stores.redis.shared import SharedStore
from crawldedup.stores.redis.upkeep import heads_on, load, namespaces_among
from crawldedup.stores.redis.url import SINGLE_SERVER, parse_url
from crawldedup.stores.shown import shown_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import redis
    from redis.commands.core import Script

    from crawldedup.stores.base import Answer, Layout, Query, Record
    from crawldedup.stores.redis.shared import Argument


class RedisStore(SharedStore):
    """One namespace of a Redis server. Safe to use from several threads, processes and machines."""

    def __init__(self, url: str, layout: Layout, *, clock: Callable[[], float] | None = None) -> None:
        self._prefix = f"crawldedup:{{{layout.namespace}}}:"
        super().__init__(url, layout, (self._prefix,), clock)
        self._client = connect(url)
        self._script: Callable[[str], Script] = cache(lambda name: self._client.register_script(script_text(name)))

    @classmethod
    def check_url(cls, url: str) -> None:
        """See `Store`."""
        parse_url(url, *SINGLE_SERVER)

    @classmethod
    def namespaces(cls, url: str, wanted: str) -> list[str]:
        """See `Store`."""
        errors = store_errors(shown_url(url), lambda: False, wanted)
        with contextlib.closing(connect(url)) as client, errors, replies_read():
            if client.exists(f"crawldedup:{{{wanted}}}:m"):
                return [wanted]
            return namespaces_among(heads_on(client))

    def open_read_only(self) -> int:
        """See `Store`."""
        with self._errors():
            self._learn_key()
            return int(self._ask(self._prefix, "look", self._layout.profile)[1])

    def check_many(self, queries: Sequence[Query]) -> Iterator[Answer]:
        """See `Store`. One round trip for all of them."""
        return map(self._answer, queries, self._check(queries))

    def _check(self, queries: Sequence[Query]) -> list[Any]:
        """Run the script `check` for each page; return what it answers, or errors."""
        with self._errors():
            if len(queries) == 1:
                return [retry_once(lambda again: self._run("check", self._arguments(queries[0], again=again)))]
            batch = secrets.token_hex(4).encode()
            answers = retry_once(lambda again: self._pipelined(queries, range(len(queries)), batch, again))
            unknown = [place for place, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
            if unknown:
                self._client.script_load(script_text("check"))
                for place, answer in zip(unknown, self._pipelined(queries, unknown, batch, again=False), strict=True):
                    answers[place] = answer
            return answers

    def _check_one(self, query: Query) -> Any:
        return validate_reply("check", self._check((query,))[0])

    def _pipelined(self, queries: Sequence[Query], places: Sequence[int], batch: bytes, again: bool) -> list[Any]:
        pipeline = self._client.pipeline(transaction=False)
        asked: set[int] = set()
        for place in places:
            query = queries[place]
            # What comes twice in a batch is a revisit the second time, whether or not an answer was lost.
            first_time = query.entry.url_key not in asked
            asked.add(query.entry.url_key)
            arguments = self._arguments(query, again=again and first_time, place=place, batch=batch)
            pipeline.evalsha(self._script("check").sha, 1, self._prefix, *arguments)
        return pipeline.execute(raise_on_error=False)

    def _arguments(self, query: Query, **repetition: Any) -> tuple[bytes | str, ...]:
        delivered, text = url_keys_of(query.delivered), query.entry.packed_text
        own = (delivered, text, crawl(query, self._session, **repetition))
        return (self._layout.profile_of(query), *question(query, self._layout, self._now()), *own)

    def find(self, query: Query) -> list[Record]:
        """See `Store`."""
        with self._errors():
            asked = question(query, self._layout, self._now())
            _, *found = self._ask(self._prefix, "find", self._layout.profile_of(query), *asked)
            return [unpacked(record, self._layout) for record in found]

    def load(self, records: Sequence[Record]) -> int:
        """See `Store`."""
        with self._errors():
            return load(self._ask, self._layout, self._prefix, records)

    def _ask_each(self, prefixes: Sequence[str], script: str, *arguments: Argument) -> list[Any]:  # noqa: ARG002
        return [validate_reply(script, retry_once(lambda _: self._run(script, arguments)))]

    def _run(self, script: str, arguments: Sequence[Argument]) -> Any:
        return self._script(script)(keys=[self._prefix], args=arguments)

    @replies_read()
    def _send(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        answers = retry_once(lambda _: self._sent(commands))
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers

    def _sent(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        pipeline = self._client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)  # type: ignore[no-untyped-call]
        return pipeline.execute(raise_on_error=False)

    def _servers(self) -> list[redis.Redis]:
        return [self._client]

    def _disconnect(self) -> None:
        self._client.close()
