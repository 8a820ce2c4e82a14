"""Check a page of the global scope: look in several partitions, then count it in one of them or add it at its home.

1. One round looks in the partitions where near duplicates may be, but for the page's home, and asks the partition that
   its URL belongs to where that URL was kept before. Where it was nowhere, the home is noted there.
2. If a page was found, the copy is counted where it is; else the home checks and adds, in one atomic step.

Nothing is added before it is sure to stay, and a page is only a copy of one that is there when the copy is counted. So
of racing pages at least one is admitted, and exactly one of exact copies, for they have one home. Near duplicates of
different homes that look before the other was added are both admitted.

A URL that was kept at another home takes more rounds: if this is a revisit, its page moves from there to its new home.
"""

from __future__ import annotations

import contextlib
import struct
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from crawldedup.search.routing import partition_of
from crawldedup.stores.base import Answer, Retention, Status
from crawldedup.stores.cluster.nodes import script_call
from crawldedup.stores.redis.protocol import body_of, bytes8, crawl, packed_record, question, unpacked
from crawldedup.stores.redis.replies import LostPartError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crawldedup.stores.base import CrawlSession, Layout, Query
    from crawldedup.stores.cluster.nodes import Call

    Run = Callable[..., list[Any]]

_CLAIM: Final = struct.Struct(">IIIB")
_VISIT: Final = struct.Struct(">IIBI")
_TIMES: Final = 16


def claim(url_key: int, home: int, retention: Retention, now: int, *, forced: bool = False) -> bytes:
    """Return what a directory needs to tell the home of a URL, and to note this one (see `lua/directory.lua`)."""
    limits = (retention.ttl_seconds or 0, min(retention.max_pages or 0, 0xFFFF_FFFF))
    return _CLAIM.pack(now, *limits, forced) + entry(url_key, home)


def entry(url_key: int, home: int) -> bytes:
    """Return a directory's entry."""
    return bytes8(url_key) + bytes((home,))


class GlobalCheck:
    """One check. `query` has the retention of one partition; `run` returns the validated answers of calls.

    `released` collects the entries of directories, by partition, that were noted in vain.
    """

    def __init__(
        self,
        run: Run,
        query: Query,
        layout: Layout,
        session: CrawlSession,
        prefixes: Sequence[str],
        released: dict[int, bytes],
        now: int,
    ) -> None:
        self._run = run
        self._query, self._layout, self._session, self._now = query, layout, session, now
        self._prefixes, self._released = prefixes, released
        self._asked = question(query, layout, now)
        self._url_key = bytes8(query.entry.url_key)
        self._home_byte = query.entry.home or 0
        self._home = partition_of(self._home_byte, len(prefixes))
        self._directory = query.entry.url_key % len(prefixes)
        self._compared = 0

    def answer(self) -> Answer:
        """Decide, and return the answer; its `pages` are those of one partition."""
        former, found = self._look()
        kept_at = self._kept_at(former, found)
        is_elsewhere = kept_at != self._home
        own, is_revisit, abandoned = b"", 0, 0
        # Where pages are forgotten, so are entries of directories: then a page may be at home that none tells of.
        if is_elsewhere or (found and (former or self._query.retention != Retention())):
            _, own, is_revisit, abandoned = self._ask(kept_at, "own", self._url_key, self._visit())
        if is_revisit and is_elsewhere:
            return self._move(kept_at, own, is_abandoned=bool(abandoned))
        if not is_revisit:
            for _, partition, record in found:
                copy = self._count(partition, record)
                if copy is not None:
                    self._release(former, own)
                    return copy
        answer = self._check_at_home()
        if answer.status is Status.NEW and is_elsewhere:
            # What the URL held before has expired, or another crawler of this crawl delivered it with other text.
            self._leave(kept_at, is_there=bool(own))
        elif answer.status in (Status.NEAR, Status.EXACT) and not former:
            self._release(former, own)
        return answer

    def _kept_at(self, former: bytes, found: list[tuple[int, int, bytes]]) -> int:
        """Return the partition where an earlier page of the URL was met, or where it may be."""
        for _, partition, record in found:
            if unpacked(record, self._layout).url_key == self._query.entry.url_key:
                return partition
        return partition_of(former[0], len(self._prefixes)) if former else self._home

    def _look(self) -> tuple[bytes, list[tuple[int, int, bytes]]]:
        """Return the home that was noted for the URL, and (cost, partition, record) of pages found, nearest first."""
        route = self._query.route
        others = [] if route is None else [part for part in route(len(self._prefixes)) if part != self._home]
        retention, released = self._query.retention, self._released.pop(self._directory, b"")
        claiming = claim(self._query.entry.url_key, self._home_byte, retention, self._now) + released
        calls = [
            self._call(part, "scout", *self._asked, claiming if part == self._directory else b"") for part in others
        ]
        if self._directory not in others:
            calls.append(self._call(self._directory, "claim", claiming))
        replies = self._run(*calls)
        former = b"".join(reply[2] for reply in replies)
        found = []
        for part, (_, _, _, compared, cost, record) in zip(others, replies, strict=False):
            self._compared += compared
            if record is not None:
                found.append((cost, part, record))
        return former, sorted(found, key=itemgetter(0))

    def _count(self, partition: int, record: bytes) -> Answer | None:
        """Count the page as a copy of one that was found, and return the answer; None if that has gone meanwhile."""
        original = unpacked(record, self._layout)
        named = (bytes8(original.url_key), original.digest.to_bytes(4, "big"), self._url_key, self._now)
        reply = self._ask(partition, "count", *named, 0, last_again=1)
        if reply[0] == b"gone":
            return None
        is_exact = original.digest == self._query.entry.digest
        return self._answer(Status.EXACT if is_exact else Status.NEAR, reply[2], self._compared)

    def _check_at_home(self) -> Answer:
        own, again = (crawl(self._query, self._session, again=again) for again in (False, True))
        reply = self._ask(self._home, "check", *self._asked, b"", own, last_again=again)
        status, changed, _, compared, record, abandoned = reply
        answer = self._answer(Status(status.decode()), record, self._compared + compared, changed=bool(changed))
        return replace(answer, abandoned=bool(abandoned))

    def _move(self, kept_at: int, own: bytes, *, is_abandoned: bool) -> Answer:
        """Give the URL's page its new text at its new home, and remove it from the old one."""
        earlier = unpacked(own, self._layout)
        changed = replace(self._query.entry, url=earlier.url)
        moved = own[:_TIMES] + body_of(changed)
        tables = len(self._layout.tables)
        calls = [self._call(self._home, "load", tables, packed_record(moved, changed.keys))]
        if self._query.on_its_way:
            # A page that is moved must not seem delivered, not even for a moment.
            calls.insert(0, script_call("depart", self._prefixes[self._home], self._url_key, self._session.number))
        *_, loaded = self._run(*calls)
        self._leave(kept_at)
        if not loaded[1]:
            return self._check_at_home()
        answer = self._answer(Status.REVISIT, moved, 0, changed=earlier.digest != changed.digest)
        return replace(answer, abandoned=is_abandoned)

    def _release(self, former: bytes, own: bytes) -> None:
        """Note for the next call that nothing of this URL is kept where the directory says."""
        if not own:
            noted = entry(self._query.entry.url_key, former[0] if former else self._home_byte)
            self._released[self._directory] = self._released.get(self._directory, b"") + noted

    def _leave(self, kept_at: int, *, is_there: bool = True) -> None:
        """Forget what was kept of the URL at another home, and note the new one. What is decided stays decided."""
        retention, url_key = self._query.retention, self._query.entry.url_key
        packed = claim(url_key, self._home_byte, retention, self._now, forced=True)
        forgetting = [script_call("forget", self._prefixes[kept_at], self._url_key)] if is_there else []
        with contextlib.suppress(LostPartError):
            self._run(*forgetting, self._call(self._directory, "claim", packed))

    def _visit(self) -> bytes:
        retention = self._query.retention
        return _VISIT.pack(self._now, retention.ttl_seconds or 0, retention.refresh, self._session.number)

    def _answer(self, status: Status, record: bytes | None, compared: int, *, changed: bool = False) -> Answer:
        return Answer(status, unpacked(record, self._layout) if record else None, changed, 0, compared)

    def _ask(self, partition: int, script: str, *arguments: Any, last_again: Any = None) -> Any:
        return self._run(self._call(partition, script, *arguments, last_again=last_again))[0]

    def _call(self, partition: int, script: str, *arguments: Any, last_again: Any = None) -> Call:
        profile = self._layout.profile
        return script_call(script, self._prefixes[partition], profile, *arguments, last_again=last_again)
