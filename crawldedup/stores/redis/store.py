"""The shared store: one Redis (or Valkey) server, 6.2 or later, one script call a page, one round
trip a batch.

Everything that must be atomic is in the scripts under `lua/`; `lua/lib/layout.lua` describes the
keys. An index lies behind one prefix, in a cluster behind several, each in one hash slot. There all
pages of a site, or of a spider, lie behind one prefix, and so does an index of the scope global: a
check is one script call, with the promise of one server.
"""

import contextlib
import logging
import re
import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import count
from typing import Any, ClassVar, Final, NamedTuple, TypeVar, cast

import redis
from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot
from redis.sentinel import MasterNotFoundError

from crawldedup.errors import StoreError, StoreUnavailableError
from crawldedup.stores import contract, registry
from crawldedup.stores.contract import Answer, CrawlSession, Layout, PageName, Query, Record
from crawldedup.stores.process import has_exited, own_process
from crawldedup.stores.redis import client, protocol
from crawldedup.stores.redis.client import ANY_ERROR, Command
from crawldedup.verdict import Kind

# As measured in large indexes, without URLs, texts and paragraphs: see the page of benchmarks.
BYTES_A_PAGE, TABLE_BYTES_A_PAGE = 130, 38
PREFIXES: Final = 16  # of an index in a cluster
FAILOVER_SECONDS: Final = 5.0  # for a replica to take the place of a dead master
_PAUSE_SECONDS: Final = 0.1
_NUMBERS_AHEAD: Final = 1 << 24
_OF_AN_EPOCH: Final = re.compile(r"(crawldedup:\{[^}]*\}:)([0-9]+):")

_Name = TypeVar("_Name")
_log = logging.getLogger(__name__)


class Call(NamedTuple):
    """A command to the server of a prefix."""

    prefix: str
    command: Command
    is_check: bool = False

    def retried(self) -> "Call":
        """Return the call for another attempt, in which a check says that its answer may have been
        lost.
        """
        return self._replace(command=(*self.command[:-1], 1)) if self.is_check else self


class _ForeignError(Exception):
    """Raised for an index with another profile."""


class RedisStore:
    """One namespace of a Redis server. Safe to use from several threads, processes and machines.

    Without a `clock` the server's clock counts, which the machines of a fleet share.
    """

    schemes: ClassVar[tuple[str, ...]] = ("redis", "rediss", "unix", "redis+sentinel")
    is_persistent: ClassVar = True

    def __init__(
        self, url: str, layout: Layout, *, clock: Callable[[], float] | None = None
    ) -> None:
        self._target = client.read_url(url)
        self._url, self._clock, self.layout = registry.shown_url(url), clock, layout
        self.session = contract.NO_SESSION
        self._joining = threading.Lock()
        self._prefixes: tuple[str, ...] = (f"crawldedup:{{{layout.namespace}}}:",)
        self._answering: tuple[str, ...] = self._prefixes

    @cached_property
    def _client(self) -> Any:
        return client.connect(self._target)

    def _server(self, prefix: str) -> redis.Redis:  # noqa: ARG002
        return cast(redis.Redis, self._client)

    def _attempts(self) -> Iterable[None]:
        """Return something for each attempt to get answers: a connection may break after a long
        rest, but once.
        """
        return (None, None)

    def _is_repeated(self, answer: object) -> bool:
        # Sentinels that name no master have used up the time.
        return isinstance(answer, redis.ConnectionError) and not isinstance(
            answer, MasterNotFoundError
        )

    def _prefix(self, shard_key: int | None) -> str:
        return self._prefixes[(shard_key or 0) % len(self._prefixes)]

    def _share(self, most: int | None, shard_key: int | None) -> int | None:
        """Return what of a limit is for the pages behind the prefix of a shard."""
        return most if most is None or shard_key is None else -(-most // len(self._prefixes))

    def _run(self, calls: Mapping[_Name, Call]) -> dict[_Name, Any]:
        """Return the answers, or the errors in place of them.

        Calls to one server run in their order.
        """
        answers: dict[_Name, Any] = {}
        waiting = dict(calls)
        for _ in self._attempts():
            asked: defaultdict[redis.Redis, dict[_Name, Command]] = defaultdict(dict)
            for name, call in waiting.items():
                try:
                    asked[self._server(call.prefix)][name] = call.command
                except ANY_ERROR as error:
                    answers[name] = error
            replies = client.exchange(
                [(server, list(commands.values())) for server, commands in asked.items()]
            )
            for commands, own in zip(asked.values(), replies, strict=True):
                answers.update(zip(commands, own, strict=True))
            waiting = {
                name: call.retried()
                for name, call in waiting.items()
                if self._is_repeated(answers[name])
            }
            if not waiting:
                break
        return {name: answers[name] for name in calls}

    def _replies(self, calls: Mapping[_Name, Call]) -> dict[_Name, Any]:
        """Return the same; an index that was lost in mid-crawl is begun again."""
        replies = self._run(calls)
        if lost := {name: calls[name] for name, reply in replies.items() if reply == [b"lost"]}:
            try:
                self.open()
                replies |= self._run(lost)
            except StoreError as error:
                replies |= dict.fromkeys(lost, error)
        return replies

    def _results(self, calls: Sequence[Call]) -> list[Any]:
        return [_checked(answer) for answer in self._replies(dict(enumerate(calls))).values()]

    def _ask(self, prefix: str, name: str, *arguments: Any) -> Any:
        return self._results([_call(prefix, name, *arguments)])[0]

    def _every(self, name: str, *arguments: Any, anew: bool = False) -> dict[str, Any]:
        """Return the answers to a command behind every prefix, of the servers that can be reached;
        at least of one.
        """
        # Those that could not be reached are not asked before a call `anew`.
        asked = self._prefixes if anew else self._answering
        answers = self._run({prefix: _call(prefix, name, *arguments) for prefix in asked})
        reached = {
            prefix: answer for prefix, answer in answers.items() if not self._is_repeated(answer)
        } or answers
        self._answering = tuple(reached)
        return {prefix: _checked(answer) for prefix, answer in reached.items()}

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        with client.store_errors(self._url, lambda: self.session.number > 0, self.layout.namespace):
            try:
                yield
            except _ForeignError:
                self._look()
                raise contract.key_changed(self._url) from None

    def _now(self) -> int:
        """Return seconds since 1970; 0 for the server's clock."""
        return 0 if self._clock is None else int(self._clock())

    def open(self, session: CrawlSession | None = None) -> int:
        with self._joining, self._errors():
            wanted = session or self.session
            self._look()
            self._end_dead_leases()
            try:
                return self._join(wanted)
            except _ForeignError:
                # Somebody else has begun the index in between, with another key.
                self._look()
                return self._join(wanted)

    def _look(self) -> int:
        """Adopt the key of the index, if there is one; return its number of pages.

        Raises ProfileMismatchError.
        """
        pages = 0
        for head in self._every("HGETALL", "m", anew=True).values():
            if profile := head.get(b"profile"):
                secret = head.get(b"key", b"")
                self.layout = self.layout.check_profile(
                    profile.decode("utf-8", "replace"), secret, self._url
                )
                pages += int(head.get(b"pages", 0))
        return pages

    def _join(self, wanted: CrawlSession) -> int:
        """Join the crawl as this session, which the number 0 leaves to the index; return how many
        pages there are.
        """
        layout, number, process = self.layout, wanted.number, wanted.process or own_process()
        own = (
            layout.profile,
            protocol.pack_order(layout.tables),
            layout.key.secret,
            self._now() or "",
            process,
        )
        if not number:
            number, _ = self._ask(
                self._answering[0], "join", *own, -secrets.randbelow(_NUMBERS_AHEAD)
            )
        replies = self._every("join", *own, number)
        self.session = CrawlSession(number, process)
        return sum(pages for _, pages in replies.values())

    def open_read_only(self) -> int:
        with self._errors():
            return self._look()

    def heartbeat(self) -> None:
        with self._errors():
            self._every(
                "heartbeat", self._now() or "", self.session.process, self.session.number, anew=True
            )
            self._end_dead_leases()

    def close(self, *, leave: bool = True) -> None:
        with self._joining, contextlib.suppress(*ANY_ERROR):
            number, self.session = self.session.number, contract.NO_SESSION
            try:
                if number and leave:
                    self._end_leases([number])
            finally:
                if servers := vars(self).pop("_client", None):
                    servers.close()

    def _end_dead_leases(self) -> set[int]:
        """End the leases of crawlers whose process on this machine has exited; return the others."""
        processes = {
            pair for answer in self._every("HGETALL", "w").values() for pair in answer.items()
        }
        dead = {
            int(number)
            for number, process in processes
            if has_exited(process.decode("utf-8", "replace"))
        }
        if dead:
            self._end_leases(dead)
        return {int(number) for number, _ in processes} - dead

    def _end_leases(self, numbers: Collection[int]) -> None:
        self._every("ZREM", "c", *numbers)
        self._every("HDEL", "w", *numbers)

    def check(self, queries: Sequence[Query]) -> contract.Answers:
        deliveries = self._deliveries(name for query in queries for name in query.delivered)
        checks = self._checks(queries)
        replies = self._replies(
            {call.prefix: call for call in deliveries} | dict(enumerate(checks))
        )
        answers = [self._answer(query, replies[place]) for place, query in enumerate(queries)]
        # No page is a copy of itself: if another crawler that seemed to be at work has it, and has
        # died, ask again.
        own = [
            place
            for place, (query, answer) in enumerate(zip(queries, answers, strict=True))
            if isinstance(answer, Answer)
            and answer.kind in (Kind.NEAR_DUPLICATE, Kind.EXACT_DUPLICATE)
            if answer.record and answer.record.url_key == query.record.url_key
        ]
        if own:
            try:
                with self._errors():
                    at_work = self._end_dead_leases()
                own = [place for place in own if protocol.crawler_of(replies[place]) not in at_work]
                repeated = self._replies({place: checks[place].retried() for place in own})
            except StoreError as error:
                repeated = dict.fromkeys(own, error)
            for place, reply in repeated.items():
                answers[place] = self._answer(queries[place], reply)
        return answers

    def _checks(self, queries: Sequence[Query]) -> list[Call]:
        batch = secrets.token_hex(4).encode() if len(queries) > 1 else b""
        asked: set[int] = set()
        calls: list[Call] = []
        for place, question in enumerate(
            protocol.pack_questions(queries, self.layout, self._now())
        ):
            query = queries[place]
            url_key, most = (
                query.record.url_key,
                self._share(query.retention.max_pages, query.shard_key),
            )
            own = (
                most or 0,
                self.session.number,
                int(query.is_pending),
                protocol.pack_rule(query.revisit_rule),
            )
            arguments = (
                self.layout.profile,
                *question,
                query.record.packed_text,
                *own,
                batch,
                place,
                0,
            )
            # What comes twice in a batch is a revisit the second time, whether or not an answer was
            # lost.
            calls.append(
                _call(
                    self._prefix(query.shard_key),
                    "check",
                    *arguments,
                    is_check=url_key not in asked,
                )
            )
            asked.add(url_key)
        return calls

    def _answer(self, query: Query, reply: Any) -> Answer | StoreError:
        try:
            with self._errors():
                self._check_keys([query])
                return protocol.unpack_answer(_checked(reply), self.layout)
        except StoreError as error:
            return error

    def _check_keys(self, queries: Iterable[Query | contract.AnchorQuery]) -> None:
        if any(query.key_id != self.layout.key.id for query in queries):
            raise contract.key_changed(self._url)

    def find(self, queries: Sequence[Query]) -> list[list[Record]]:
        with self._errors():
            self._check_keys(queries)
            questions = zip(
                queries, protocol.pack_questions(queries, self.layout, self._now()), strict=True
            )
            profile = self.layout.profile
            calls = [
                _call(self._prefix(query.shard_key), "find", profile, *own)
                for query, own in questions
            ]
            return [
                [protocol.unpack_record(record, self.layout) for record in some]
                for some in self._results(calls)
            ]

    def deliver(self, names: Sequence[PageName]) -> None:
        with self._errors():
            self._results(self._deliveries(names))

    def _deliveries(self, names: Iterable[PageName]) -> list[Call]:
        behind: defaultdict[str, list[PageName]] = defaultdict(list)
        for name in names:
            behind[self._prefix(name.shard_key)].append(name)
        number = self.session.number
        return [
            _call(prefix, "deliver", protocol.pack_names(some), number)
            for prefix, some in behind.items()
        ]

    def remembered(
        self, names: Sequence[PageName], retention: contract.Retention
    ) -> list[Record | None]:
        limits = (self._now() or "", retention.ttl_seconds or 0, int(retention.refresh))
        calls = [
            _call(self._prefix(own.shard_key), "remembered", protocol.pack_names([own]), *limits)
            for own in names
        ]
        with self._errors():
            pages = self._results(calls)
            return [
                protocol.unpack_record(page[0], self.layout, page[1]) if page else None
                for page in pages
            ]

    def forget(self, name: PageName, *, anchors_alone: bool = False) -> bool:
        with self._errors():
            prefix = self._prefix(name.shard_key)
            return (
                int(self._ask(prefix, "forget", protocol.pack_names([name]), int(anchors_alone)))
                > 0
            )

    def anchors(self, query: contract.AnchorQuery, *, add: bool = True) -> contract.Holders:
        prefix, shard_key = self._prefix(query.name.shard_key), query.name.shard_key
        with self._errors():
            self._check_keys([query])
            limits = (
                self._now() or "",
                query.ttl_seconds or 0,
                self._share(query.most_anchors, shard_key),
            )
            asked = (self.layout.profile, int(add), *limits, *protocol.pack_anchors(query))
            return protocol.unpack_holders(self._ask(prefix, "anchors", *asked))

    def clear(self) -> None:
        with self._errors():
            over = self._results([_call(prefix, "clear") for prefix in self._prefixes])
            self._remove_epochs(dict(zip(self._prefixes, over, strict=True)))
        if self.session.number:
            self.open()

    def _remove_epochs(self, over: Mapping[str, int]) -> None:
        """Remove the keys behind each prefix that are of its epoch or earlier: others may have
        begun later ones.
        """
        for server in set(map(self._server, self._prefixes)):
            pipeline = server.pipeline(transaction=False)
            for key in server.scan_iter(f"crawldedup:{{{self.layout.namespace}[/}}]*", count=1000):
                match = _OF_AN_EPOCH.match(key.decode("utf-8", "replace"))
                if match and int(match[2]) <= over.get(match[1], -1):
                    pipeline.unlink(key)
                if len(pipeline) >= 1000:
                    pipeline.execute()
            pipeline.execute()

    def note(self, name: str, text: str | None = None) -> str:
        with self._errors():
            if text is not None:
                self._ask(self._prefixes[0], "HSET", "notes", name, text)
            return (self._ask(self._prefixes[0], "HGET", "notes", name) or b"").decode(
                "utf-8", "replace"
            )

    def info(self) -> contract.StoreInfo:
        with self._errors():
            pages = self._look()
        silent = len(self._prefixes) - len(self._answering)
        warning = (
            f"of {len(self._prefixes)} parts, {silent} do not answer, and their pages are not "
            "counted"
        )
        size, tables, layout = pages * BYTES_A_PAGE, pages * TABLE_BYTES_A_PAGE, self.layout
        named = (layout.profile, layout.namespace, self._url, (warning,) if silent else ())
        return contract.StoreInfo(pages, size, tables, len(layout.tables), *named)


class RedisClusterStore(RedisStore):
    """One namespace of a Redis Cluster.

    While a replica takes the place of a dead master, or a slot moves, calls are repeated for some
    seconds.
    """

    schemes: ClassVar[tuple[str, ...]] = ("redis+cluster",)
    _has_warned = False

    def __init__(
        self, url: str, layout: Layout, *, clock: Callable[[], float] | None = None
    ) -> None:
        super().__init__(url, layout, clock=clock)
        self._prefixes = self._answering = prefixes(layout.namespace)

    @cached_property
    def _client(self) -> Any:
        return client.connect_cluster(self._target)

    def _server(self, prefix: str) -> redis.Redis:
        # No key has the bare prefix as its name, but all have its slot.
        return cast(
            redis.Redis, self._client.get_redis_connection(self._client.get_node_from_key(prefix))
        )

    def _prefix(self, shard_key: int | None) -> str:
        if shard_key is None and not self._has_warned:
            self._has_warned = True
            _log.warning(
                "%s: an index of the scope global lies on one server; site and spider spread it",
                self._url,
            )
        return super()._prefix(shard_key)

    def _attempts(self) -> Iterator[None]:
        """Yield before each attempt.

        The last one begins early enough to end within FAILOVER_SECONDS.
        """
        last_start = time.monotonic() + FAILOVER_SECONDS - client.TIMEOUT_SECONDS
        yield
        # The connection may just have been idle for too long.
        pause = 0.0
        while time.monotonic() + pause <= last_start:
            time.sleep(pause)
            with contextlib.suppress(*ANY_ERROR):
                self._client.nodes_manager.initialize()
            yield
            pause = _PAUSE_SECONDS

    def _is_repeated(self, answer: object) -> bool:
        return (
            isinstance(answer, Exception)
            and client.our_error(answer, self._url)[0] is StoreUnavailableError
        )


@cache
def prefixes(namespace: str) -> tuple[str, ...]:
    """Return a prefix in each 16th of the slots.

    The braces hold what Redis derives the slot from.
    """
    of_slots: dict[int, str] = {}
    numbers = count()
    while len(of_slots) < PREFIXES:
        prefix = f"crawldedup:{{{namespace}/{next(numbers)}}}:"
        of_slots.setdefault(
            key_slot(prefix.encode()) * PREFIXES // REDIS_CLUSTER_HASH_SLOTS, prefix
        )
    return tuple(prefix for _, prefix in sorted(of_slots.items()))


def _call(prefix: str, name: str, *arguments: Any, is_check: bool = False) -> Call:
    """Return the call of a script, or of a command in capitals, whose first argument is a key
    behind the prefix.
    """
    if name.isupper():
        return Call(prefix, (name, f"{prefix}{arguments[0]}", *arguments[1:]))
    return Call(prefix, ("EVALSHA", client.script_sha(name), 1, prefix, *arguments), is_check)


def _checked(reply: Any) -> Any:
    match reply:
        case Exception():
            raise reply
        case [b"lost"]:
            raise redis.ConnectionError("the index is lost as soon as it is begun")
        case [b"profile", bytes()]:
            raise _ForeignError
    return reply
