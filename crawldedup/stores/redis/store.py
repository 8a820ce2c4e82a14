"""The shared store: one Redis (or Valkey) server, 6.2 or later.

A page takes one script call, and a batch of pages takes one round trip. Everything that must be
atomic is in the scripts under `lua/`; `lua/lib/layout.lua` describes the keys. All keys of an index
begin with one prefix, except in a cluster: see `cluster.py`.
"""

import contextlib
import re
import secrets
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from crawldedup.errors import StoreError
from crawldedup.passwords import shown_url
from crawldedup.stores import anchors, contract
from crawldedup.stores.contract import Answer, CrawlSession, Layout, PageName, Query, Record
from crawldedup.stores.process import has_exited, own_process
from crawldedup.stores.redis import protocol
from crawldedup.stores.redis.calls import (
    Call,
    CheckRequest,
    CommandRequest,
    ForeignIndexError,
    Request,
    ScriptRequest,
    is_lost,
    value_of,
)
from crawldedup.stores.redis.client import read_url
from crawldedup.stores.redis.connection import Connection
from crawldedup.stores.redis.errors import ANY_ERROR, BAD_REPLIES, store_errors
from crawldedup.stores.redis.protocol import AnchorsArguments, CheckArguments, JoinArguments
from crawldedup.verdict import Kind

# Measured with the marks of usual pages, without URLs, texts and paragraphs: see the page about
# benchmarks.
BYTES_A_PAGE: Final = 220
TABLE_BYTES_A_PAGE: Final = 90

_HEAD: Final = "m"  # these keys of an index are described in lua/lib/layout.lua
_CRAWLERS: Final = "c"
_PROCESSES: Final = "w"
_NOTES: Final = "notes"
_NUMBERS_AHEAD: Final = 1 << 24
_SCANNED_AT_ONCE: Final = 1000
_KEY_OF_AN_EPOCH: Final = re.compile(r"(?P<prefix>crawldedup:\{[^}]*\}:)(?P<epoch>[0-9]+):")


class RedisStore:
    """An index on a Redis server. Safe to use from several threads, processes and machines.

    `contract.Store` describes the methods. Without a `clock`, the time is that of the server, which
    all machines of a fleet share.
    """

    schemes: ClassVar[tuple[str, ...]] = ("redis", "rediss", "unix", "redis+sentinel")
    is_persistent: ClassVar = True

    def __init__(
        self, url: str, layout: Layout, *, clock: Callable[[], float] | None = None
    ) -> None:
        self.layout = layout
        self.session = contract.NO_SESSION
        self._connection = self._make_connection(url)
        self._url = shown_url(url)
        self._clock = clock
        self._joining = threading.Lock()

    def _make_connection(self, url: str) -> Connection:
        """Return a connection, which is not open yet.

        Raises ConfigurationError if the URL is wrong.
        """
        return Connection(
            read_url(url), shown_url(url), (f"crawldedup:{{{self.layout.namespace}}}:",)
        )

    def _prefix(self, shard_key: int | None) -> str:
        """Return the prefix of the keys for all pages with a shard key."""
        prefixes = self._connection.prefixes
        return prefixes[(shard_key or 0) % len(prefixes)]

    def _share(self, limit: int | None, shard_key: int | None) -> int | None:
        """Return how much of a limit for the whole index applies to the part that holds a shard."""
        if limit is None or shard_key is None:
            return limit
        return -(-limit // len(self._connection.prefixes))

    def _now(self) -> int:
        """Return the time in seconds since 1970, or 0 to use the server's clock."""
        return 0 if self._clock is None else int(self._clock())

    def _now_argument(self) -> int | str:
        """Return the time in seconds since 1970, or "" to use the server's clock."""
        return self._now() or ""

    # Four ways to send requests: several, each of which may fail; several, where any failure is
    # raised; a single one; and one that goes to every part of the index.

    def _try(self, calls: Sequence[Call]) -> list[Any]:
        """Send calls, and return the replies in the same order.

        A call that fails has its error instead. If the server has lost the index, a new one is
        started, and the calls that found it missing are sent again.
        """
        replies = self._connection.send(calls)
        lost = [place for place, reply in enumerate(replies) if is_lost(reply)]
        if not lost:
            return replies
        again: list[Any]
        try:
            self.open()
            again = self._connection.send([calls[place] for place in lost])
        except StoreError as error:
            again = [error] * len(lost)
        for place, reply in zip(lost, again, strict=True):
            replies[place] = reply
        return replies

    def _ask_all(self, calls: Sequence[Call]) -> list[Any]:
        """Send calls, and return the replies in the same order. Raises the first error."""
        return [value_of(reply) for reply in self._try(calls)]

    def _ask(self, prefix: str, request: Request) -> Any:
        """Send one request, and return the reply, or raise the error that comes instead."""
        return self._ask_all([Call(prefix, request)])[0]

    def _ask_everywhere(self, request: Request, *, anew: bool = False) -> dict[str, Any]:
        """Send a request to every part of the index, and return the replies by prefix.

        Parts that can't be reached are left out. Raises the first error. See
        `Connection.send_everywhere`.
        """
        replies = self._connection.send_everywhere(request, anew=anew)
        return {prefix: value_of(reply) for prefix, reply in replies.items()}

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn errors of redis-py, and an index with another profile, into errors of crawldedup.

        Such an index raises ProfileMismatchError, or KeyMismatchError if only its key is different.
        """
        with store_errors(
            self._url,
            lambda: self.session.number > 0,
            self.layout.namespace,
            self._connection.passwords,
        ):
            try:
                yield
            except ForeignIndexError:
                self._look()
                raise contract.key_changed(self._url) from None

    # Joining and leaving a crawl

    def open(self, session: CrawlSession | None = None) -> int:
        with self._joining, self._errors():
            wanted = session or self.session
            self._look()
            self._end_dead_leases()
            try:
                return self._join(wanted)
            except ForeignIndexError:
                # In the meantime, somebody else has started the index with another key.
                self._look()
                return self._join(wanted)

    def open_read_only(self) -> int:
        with self._errors():
            return self._look()

    def _look(self) -> int:
        """Adopt the key of the index if it exists, and return its number of pages, without joining.

        Raises ProfileMismatchError if it was made with other options.
        """
        pages = 0
        for head in self._ask_everywhere(CommandRequest("HGETALL", _HEAD), anew=True).values():
            if profile := head.get(b"profile"):
                self.layout = self.layout.check_profile(
                    profile.decode("utf-8", "replace"), head.get(b"key", b""), self._url
                )
                pages += int(head.get(b"pages", 0))
        return pages

    def _join(self, wanted: CrawlSession) -> int:
        """Join the crawl as the crawler of a session, and return the number of pages.

        If the number of the session is 0, the index chooses one.
        """
        arguments = JoinArguments(
            profile=self.layout.profile,
            order=protocol.pack_order(self.layout.tables),
            secret=self.layout.key.secret,
            now=self._now_argument(),
            process=wanted.process or own_process(),
            number=wanted.number,
        )
        if not arguments.number:
            choosing = arguments._replace(number=-secrets.randbelow(_NUMBERS_AHEAD))
            request = ScriptRequest("join", *choosing)
            number, _ = self._ask(self._connection.reachable[0], request)
            arguments = arguments._replace(number=int(number))
        replies = self._ask_everywhere(ScriptRequest("join", *arguments))
        self.session = CrawlSession(arguments.number, arguments.process)
        return sum(pages for _, pages in replies.values())

    def heartbeat(self) -> None:
        request = ScriptRequest(
            "heartbeat", self._now_argument(), self.session.process, self.session.number
        )
        with self._errors():
            self._ask_everywhere(request, anew=True)
            self._end_dead_leases()

    def close(self, *, leave: bool = True) -> None:
        with self._joining, contextlib.suppress(*ANY_ERROR, *BAD_REPLIES):
            number = self.session.number
            self.session = contract.NO_SESSION
            try:
                if number and leave:
                    self._end_leases([number])
            finally:
                self._connection.close()

    def _end_dead_leases(self) -> set[int]:
        """Find crawlers on this machine whose process has exited, and end their leases.

        Returns the numbers of the crawlers that keep their leases.
        """
        leases: set[tuple[bytes, bytes]] = set()
        for processes in self._ask_everywhere(CommandRequest("HGETALL", _PROCESSES)).values():
            leases.update(processes.items())
        dead = {
            int(number)
            for number, process in leases
            if has_exited(process.decode("utf-8", "replace"))
        }
        if dead:
            self._end_leases(dead)
        return {int(number) for number, _ in leases} - dead

    def _end_leases(self, numbers: Collection[int]) -> None:
        self._ask_everywhere(CommandRequest("ZREM", _CRAWLERS, *numbers))
        self._ask_everywhere(CommandRequest("HDEL", _PROCESSES, *numbers))

    # Pages

    def check(self, queries: Sequence[Query]) -> contract.Answers:
        deliveries = self._deliveries(name for query in queries for name in query.delivered)
        checks = self._checks(queries)
        replies = self._try([*deliveries, *checks])[len(deliveries) :]
        answers = [
            self._answer(query, reply) for query, reply in zip(queries, replies, strict=True)
        ]
        own_copies = [
            place
            for place, query in enumerate(queries)
            if _is_copy_of_itself(query, answers[place])
        ]
        if not own_copies:
            return answers
        # A page can't be a copy of itself, so another crawler that seemed to be running has it.
        # Check again if that crawler has died.
        try:
            with self._errors():
                at_work = self._end_dead_leases()
        except StoreError as error:
            for place in own_copies:
                answers[place] = error
            return answers
        of_the_dead = [
            place for place in own_copies if protocol.crawler_of(replies[place]) not in at_work
        ]
        again = self._try([checks[place].retried() for place in of_the_dead])
        for place, reply in zip(of_the_dead, again, strict=True):
            answers[place] = self._answer(queries[place], reply)
        return answers

    def _checks(self, queries: Sequence[Query]) -> list[Call]:
        """Return one call of the script `check` per query."""
        questions = protocol.pack_questions(queries, self.layout, self._now())
        batch = secrets.token_hex(4).encode() if len(queries) > 1 else b""
        earlier: set[int] = set()
        calls: list[Call] = []
        for place, (query, question) in enumerate(zip(queries, questions, strict=True)):
            arguments = CheckArguments(
                profile=self.layout.profile,
                question=question,
                packed_text=query.record.packed_text,
                max_pages=self._share(query.retention.max_pages, query.shard_key) or 0,
                crawler=self.session.number,
                is_pending=int(query.is_pending),
                revisit_rule=protocol.pack_rule(query.revisit_rule),
                batch=batch,
                place=place,
                is_retry=0,
            )
            url_key = query.record.url_key
            request = CheckRequest(arguments, is_first=url_key not in earlier)
            calls.append(Call(self._prefix(query.shard_key), request))
            earlier.add(url_key)
        return calls

    def _answer(self, query: Query, reply: Any) -> Answer | StoreError:
        """Unpack the reply to a check: an answer, or the error that came instead."""
        try:
            self._check_key(query)
            return protocol.unpack_answer(value_of(reply), self.layout)
        except Exception as error:
            problem = error
        # Only errors get here, because entering `_errors` takes as long as unpacking an answer.
        try:
            with self._errors():
                raise problem
        except StoreError as error:
            return error

    def _check_key(self, query: Query | anchors.AnchorQuery) -> None:
        """Raise KeyMismatchError if a query was hashed with a key that isn't that of the index."""
        if query.key_id != self.layout.key.id:
            raise contract.key_changed(self._url)

    def find(self, queries: Sequence[Query]) -> list[list[Record]]:
        with self._errors():
            for query in queries:
                self._check_key(query)
            questions = protocol.pack_questions(queries, self.layout, self._now())
            calls: list[Call] = []
            for query, question in zip(queries, questions, strict=True):
                request = ScriptRequest("find", self.layout.profile, *question)
                calls.append(Call(self._prefix(query.shard_key), request))
            return [
                [protocol.unpack_record(record, self.layout) for record in records]
                for records in self._ask_all(calls)
            ]

    def deliver(self, names: Sequence[PageName]) -> None:
        with self._errors():
            self._ask_all(self._deliveries(names))

    def _deliveries(self, names: Iterable[PageName]) -> list[Call]:
        """Return the calls that mark pages as delivered, one for each prefix."""
        by_prefix: defaultdict[str, list[PageName]] = defaultdict(list)
        for name in names:
            by_prefix[self._prefix(name.shard_key)].append(name)
        crawler = self.session.number
        return [
            Call(prefix, ScriptRequest("deliver", protocol.pack_names(behind), crawler))
            for prefix, behind in by_prefix.items()
        ]

    def remembered(
        self, names: Sequence[PageName], retention: contract.Retention
    ) -> list[Record | None]:
        calls: list[Call] = []
        for name in names:
            request = ScriptRequest(
                "remembered",
                protocol.pack_names([name]),
                self._now_argument(),
                retention.ttl_seconds or 0,
                int(retention.refresh),
            )
            calls.append(Call(self._prefix(name.shard_key), request))
        records: list[Record | None] = []
        with self._errors():
            for reply in self._ask_all(calls):
                if reply:
                    record, text = reply
                    records.append(protocol.unpack_record(record, self.layout, text))
                else:
                    records.append(None)
        return records

    def forget(self, name: PageName, *, anchors_alone: bool = False) -> bool:
        request = ScriptRequest(
            "forget",
            protocol.pack_names([name]),
            int(anchors_alone),
            self.layout.signature_bytes,
        )
        with self._errors():
            return int(self._ask(self._prefix(name.shard_key), request)) > 0

    def anchors(self, query: anchors.AnchorQuery, *, add: bool = True) -> anchors.Holders:
        shard_key = query.name.shard_key
        with self._errors():
            self._check_key(query)
            arguments = AnchorsArguments(
                profile=self.layout.profile,
                adds_page=int(add),
                now=self._now_argument(),
                ttl_seconds=query.ttl_seconds or 0,
                most_anchors=self._share(query.most_anchors, shard_key) or 0,
                page=protocol.pack_page(query.name),
                url=query.url.encode("utf-8", "replace"),
                anchors=protocol.pack_anchors(query.anchors),
            )
            request = ScriptRequest("anchors", *arguments)
            return protocol.unpack_holders(self._ask(self._prefix(shard_key), request))

    # The whole index

    def clear(self) -> None:
        prefixes = self._connection.prefixes
        with self._errors():
            epochs = self._ask_all([Call(prefix, ScriptRequest("clear")) for prefix in prefixes])
            self._remove_epochs(dict(zip(prefixes, epochs, strict=True)))
        if self.session.number:
            self.open()

    def _remove_epochs(self, epochs: Mapping[str, int]) -> None:
        """Remove the keys of an index that was cleared: for each prefix, up to the given epoch.

        An index starts a new epoch whenever it is cleared. Other crawlers may already have started
        later epochs, whose keys stay.
        """
        pattern = f"crawldedup:{{{self.layout.namespace}[/}}]*"
        for server in self._connection.servers():
            pipeline = server.pipeline(transaction=False)
            for key in server.scan_iter(pattern, count=_SCANNED_AT_ONCE):
                match = _KEY_OF_AN_EPOCH.match(key.decode("utf-8", "replace"))
                if match and int(match["epoch"]) <= epochs.get(match["prefix"], -1):
                    pipeline.unlink(key)
                if len(pipeline) >= _SCANNED_AT_ONCE:
                    pipeline.execute()
            pipeline.execute()

    def note(self, name: str, text: str | None = None) -> str:
        prefix = self._connection.prefixes[0]
        with self._errors():
            if text is not None:
                self._ask(prefix, CommandRequest("HSET", _NOTES, name, text))
            noted = self._ask(prefix, CommandRequest("HGET", _NOTES, name)) or b""
            return str(noted.decode("utf-8", "replace"))

    def info(self) -> contract.StoreInfo:
        with self._errors():
            pages = self._look()
        parts = len(self._connection.prefixes)
        silent = parts - len(self._connection.reachable)
        warnings: tuple[str, ...] = ()
        if silent:
            warnings = (f"{silent} of {parts} parts do not answer, so their pages are not counted",)
        return contract.StoreInfo(
            pages=pages,
            bytes=pages * BYTES_A_PAGE,
            table_bytes=pages * TABLE_BYTES_A_PAGE,
            tables=len(self.layout.tables),
            profile=self.layout.profile,
            namespace=self.layout.namespace,
            store=self._url,
            warnings=warnings,
        )


def _is_copy_of_itself(query: Query, answer: Answer | StoreError) -> bool:
    """Return whether a page was taken for a copy of the page with its own URL."""
    return (
        isinstance(answer, Answer)
        and answer.kind in (Kind.NEAR_DUPLICATE, Kind.EXACT_DUPLICATE)
        and answer.record is not None
        and answer.record.url_key == query.record.url_key
    )
