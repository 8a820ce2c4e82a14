"""What the store on one server and the store on a cluster have in common."""

from __future__ import annotations

import contextlib
import logging
import secrets
import threading
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeVar

import redis
from redis.exceptions import RedisClusterException

from crawldedup.errors import StoreUnavailableError
from crawldedup.stores.base import LEASE_SECONDS, NO_SESSION, Answer, CrawlSession, StoreInfo
from crawldedup.stores.process import own_process
from crawldedup.stores.redis.anchors import SharedAnchors
from crawldedup.stores.redis.crawlers import end_leases, expire_dead_sessions, is_copy_of_itself, name_process
from crawldedup.stores.redis.errors import replies_read, store_errors
from crawldedup.stores.redis.health import layout_warnings
from crawldedup.stores.redis.protocol import (
    answer_from,
    bytes8,
    crawler_of,
    packed_order,
    unpacked,
    url_keys_of,
)
from crawldedup.stores.redis.replies import ForeignPartError, LostPartError, validate_reply
from crawldedup.stores.redis.upkeep import measure, measure_anchors, noted, prune, records, remove_epochs
from crawldedup.stores.shown import shown_url
from crawldedup.text.urls import are_same

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from crawldedup.stores.base import Layout, Pruned, Query, Record, Retention
    from crawldedup.text.keys import Key

    Argument = bytes | str | int | float

_NUMBERS_AHEAD: Final = 1 << 24
_Result = TypeVar("_Result")

_log = logging.getLogger(__name__)


class SharedStore(SharedAnchors):
    """The methods of `Store` that are made of calls of scripts and of single commands.

    `prefixes` are those of the parts of the index, each behind its own; the leading one names the crawlers. Without a
    `clock` the server's clock counts, which the machines of a fleet share.
    """

    is_persistent: ClassVar = True

    def __init__(self, url: str, layout: Layout, prefixes: Sequence[str], clock: Callable[[], float] | None) -> None:
        self._layout = layout
        self._prefixes = prefixes
        self._leading = prefixes[0]
        self._clock = clock
        self._order = packed_order(layout.tables)
        self._session = NO_SESSION
        self._joining = threading.Lock()
        self._url = shown_url(url)
        self._has_warned = False

    def _ask_each(self, prefixes: Sequence[str], script: str, *arguments: Argument) -> list[Any]:
        """Return the answers to a script that may be run twice, from the parts with these prefixes, validated."""
        raise NotImplementedError

    def _send(self, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the answers to commands that may be repeated, and whose first argument is a key."""
        raise NotImplementedError

    def _servers(self) -> Iterable[redis.Redis]:
        """Return a client of each server that is written to."""
        raise NotImplementedError

    def _wanted_partitions(self) -> tuple[int, ...]:
        """Return in how many partitions an index is to be begun, if in partitions."""
        return ()

    def _begin(self, pages: int, partitions: int) -> int:  # noqa: ARG002
        """Begin what there is beside the part that was joined; return the number of pages in the index."""
        return pages

    def _answering(self) -> Sequence[str]:
        """Return the prefixes of the parts whose servers answer."""
        return self._prefixes

    def _disconnect(self) -> None:
        raise NotImplementedError

    @classmethod
    def from_url(cls, url: str, layout: Layout) -> Self:
        """See `Store`."""
        return cls(url, layout)  # type: ignore[call-arg]

    @property
    def partitions(self) -> int:
        """See `Store`."""
        return len(self._prefixes)

    @property
    def layout(self) -> Layout:
        """See `Store`."""
        return self._layout

    def use_key(self, key: Key) -> None:
        """See `Store`."""
        self._layout = self._layout.with_key(key)

    @property
    def session(self) -> CrawlSession | None:
        """See `Store`."""
        return self._session if self._session.number else None

    def open(self, session: CrawlSession | None = None) -> int:
        """See `Store`."""
        with self._joining, self._errors():
            expire_dead_sessions(self._send, self._leading, self._answering)
            given = session or self._session
            own = (self._now() or "", LEASE_SECONDS, given.number or -secrets.randbelow(_NUMBERS_AHEAD))
            try:
                _, number, pages, partitions = self._join(*own)
            except ForeignPartError:
                # Somebody else has begun the index in between, with another key.
                _, number, pages, partitions = self._join(*own)
            self._session = CrawlSession(number, given.process or own_process())
            pages = self._begin(pages, partitions)
            name_process(self._send, self._leading, self._session)
            if not self._has_warned:
                self._has_warned = True
                with contextlib.suppress(redis.ConnectionError, redis.TimeoutError):
                    for warning in layout_warnings(self._servers()):
                        _log.warning("%s: %s", self._url, warning)
            return pages

    def _join(self, *own: Argument) -> Any:
        self._learn_key()
        layout = self._layout
        asked = (layout.profile, self._order, *own, layout.key.secret, *self._wanted_partitions())
        return self._ask(self._leading, "join", *asked)

    def _learn_key(self) -> None:
        """Take the key that the index has, if it is there. Raises ProfileMismatchError."""
        with replies_read():
            ((profile, secret),) = self._send([("HMGET", f"{self._leading}m", "profile", "key")])
            self._fit(profile, secret)

    def _fit(self, profile: bytes | None, secret: bytes | None) -> None:
        if profile:
            self._layout = self._layout.fitted(profile.decode("utf-8", "replace"), secret or b"", self._url)

    def check_and_add(self, query: Query) -> Answer:
        """See `Store`."""
        return next(self.check_many((query,)))

    def check_many(self, queries: Sequence[Query]) -> Iterator[Answer]:
        """See `Store`."""
        raise NotImplementedError

    def _check_one(self, query: Query) -> Any:
        """Return the validated reply of the script `check`."""
        raise NotImplementedError

    def _answer(self, query: Query, reply: Any) -> Answer:
        """Return what the script `check` replied, or raise its error; check again if the index was lost."""
        with self._errors():
            if isinstance(reply, Exception):
                raise reply
            try:
                reply = validate_reply("check", reply)
            except LostPartError:
                reply = self._begun_again(lambda: self._check_one(query))
            status, record = reply[0], reply[4]
            if status == b"other":
                same = are_same(query.entry.url, unpacked(record, self._layout).url if record else "")
                return self._answer(replace(query, is_own=same), self._check_one(replace(query, is_own=same)))
            answer = answer_from(reply, self._layout)
            if is_copy_of_itself(query, answer) and not self._is_at_work(crawler_of(record)):
                again = replace(query, is_asked_again=True)
                return self._answer(again, self._check_one(again))
            return answer

    def _is_at_work(self, number: int) -> bool:
        """Return True if a crawler has a lease still; the answer to another page, or to another process, may end it."""
        return expire_dead_sessions(self._send, self._leading, self._answering, number)

    def _begun_again(self, call: Callable[[], _Result]) -> _Result:
        """Return the result of a call; if the index was lost in mid-crawl, begin it again with this crawler first."""
        try:
            return call()
        except LostPartError:
            self.open()
        try:
            return call()
        except LostPartError:
            raise StoreUnavailableError(f"{self._url} loses the index as soon as it is begun") from None

    def deliver(self, url_keys: Sequence[int]) -> None:
        """See `Store`."""
        if url_keys:
            with self._errors():
                self._ask_each(self._prefixes, "deliver", url_keys_of(url_keys), self._session.number)

    def text_of(self, url_key: int, retention: Retention) -> bytes:
        """See `Store`."""
        limits = (self._now() or "", retention.ttl_seconds or 0, int(retention.refresh))
        with self._errors():
            texts: list[bytes] = self._ask_each(self._prefixes, "text", bytes8(url_key), *limits)
            return next(filter(None, texts), b"")

    def forget(self, url_key: int) -> bool:
        """See `Store`."""
        with self._errors():
            return any(self._ask_each(self._prefixes, "forget", bytes8(url_key)))

    def clear(self) -> None:
        """See `Store`. Works on an index of a foreign profile too: clearing it is the way out."""
        with self._errors():
            over = dict(zip(self._prefixes, self._ask_each(self._prefixes, "clear"), strict=True))
            remove_epochs(self._send, self._servers(), f"crawldedup:{{{self._layout.namespace}[/}}]*", over)
        if self._session.number:
            self.open()

    def prune(self, retention: Retention) -> Iterator[Pruned]:
        """See `Store`."""
        with self._errors(), contextlib.suppress(LostPartError):
            steps = [partial(self._ask, prefix, "prune") for prefix in self._prefixes]
            yield from prune(steps, retention, self._now())

    def records(self) -> Iterator[list[Record]]:
        """See `Store`. In the order of adding within each part."""
        with self._errors():
            yield from records(self._send, self._layout, self._prefixes)

    def note(self, name: str, text: str | None = None) -> str:
        """See `Store`."""
        with self._errors():
            return noted(self._send, self._leading, name, text)

    def info(self) -> StoreInfo:
        """See `Store`. Sizes are projected from a sample of the index's keys."""
        return self._info_of(self._prefixes)

    def _info_of(self, prefixes: Sequence[str], warning: str | None = None) -> StoreInfo:
        """Return figures of parts, with a warning if the others do not answer."""
        with self._errors():
            pages, size, table_bytes = measure(self._send, prefixes, len(self._layout.tables))
            return StoreInfo.of(
                self._layout,
                *(pages, size + measure_anchors(self._send, prefixes), table_bytes),
                store=self._url,
                partitions=len(self._prefixes) if self._wanted_partitions() else None,
                warnings=(warning,) if warning else layout_warnings(self._servers()),
            )

    def heartbeat(self) -> None:
        """See `Store`."""
        with self._errors():
            asked = (self._now() or "", LEASE_SECONDS, self._session.number)
            self._ask_each(self._answering(), "heartbeat", *asked)
            # The index may have been lost, and begun again by another crawler.
            name_process(self._send, self._leading, self._session)
            expire_dead_sessions(self._send, self._leading, self._answering)

    def close(self, *, leave: bool = True) -> None:
        """See `Store`."""
        with self._joining, contextlib.suppress(redis.RedisError, RedisClusterException, OSError):
            number, self._session = self._session.number, NO_SESSION
            try:
                if number and leave:
                    end_leases(self._send, self._leading, self._answering(), number)
            finally:
                self._disconnect()

    def _ask(self, prefix: str, script: str, *arguments: Argument) -> Any:
        return self._ask_each((prefix,), script, *arguments)[0]

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        with store_errors(self._url, lambda: self._session.number > 0, self._layout.namespace):
            try:
                yield
            except LostPartError:
                raise StoreUnavailableError(f"the index in {self._url} was lost") from None
            except ForeignPartError as error:
                self._learn_key()
                raise self._layout.mismatch(error.profile, self._url) from None

    def _now(self) -> int:
        """Return seconds since 1970; 0 for the servers' clocks."""
        return 0 if self._clock is None else int(self._clock())
