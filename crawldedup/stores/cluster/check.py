"""Check a page of the global scope: look in several partitions, then count it in one of them or add it at its home.

1. One round looks in the partitions where near duplicates may be, but for the page's home, and asks the partition that
   its URL belongs to where that URL was kept before. Where it was nowhere, the home is noted there.
2. If a page was found, the copy is counted where it is; else the home checks and adds, in one atomic step.

Nothing is added before it is sure to stay, and a page is only a copy of one that is there when the copy is counted. So
of racing pages at least one is admitted, and exactly one of exact copies, for they have one home. Near duplicates of
different homes that look before the other was added are both admitted.

A URL that was kept at another home takes more rounds: if this is a revisit with new text, its page moves from there to
its new home.
"""

from __future__ import annotations

import contextlib
import struct
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from crawldedup.search.routing import partition_of
from crawldedup.stores.base import Answer, Retention, Status
from crawldedup.stores.cluster.nodes import script_call
from crawldedup.stores.redis.protocol import (
    answer_from,
    beside,
    body_of,
    bytes8,
    costs_unpacked,
    crawl,
    packed_record,
    packed_rule,
    question,
    unpacked,
)
from crawldedup.stores.redis.replies import LostPartError

if TYPE_CHECKING:
    from collections import defaultdict
    from collections.abc import Callable, Sequence

    from crawldedup.stores.base import CrawlSession, Entry, Layout, Query, Record
    from crawldedup.stores.cluster.nodes import Call

_CLAIM: Final = struct.Struct(">IIIB")
_VISIT: Final = struct.Struct(">IIBIB")
_TIMES: Final = 16
_UNCHANGED: Final = 2


def claim(page: Entry | Record, retention: Retention, now: int, *, forced: bool = False) -> bytes:
    """Return what a directory needs to tell the home of a URL, and to note this one (see `lua/directory.lua`)."""
    limits = (retention.ttl_seconds or 0, min(retention.max_pages or 0, 0xFFFF_FFFF))
    return _CLAIM.pack(now, *limits, forced) + bytes8(page.url_key) + bytes((page.home or 0,))


def check_call(prefix: str, asked: Sequence[bytes], query: Query, profile: str, session: CrawlSession) -> Call:
    """Make the call that checks a page where it belongs; `asked` is its question."""
    own, again = (crawl(query, session, again=again) for again in (False, True))
    return script_call("check", prefix, profile, *asked, b"", query.entry.packed_text, own, last_again=again)


@dataclass
class GlobalCheck:
    """One check. `query` has the retention of one partition; `run` returns the validated answers of calls.

    `released` collects the entries of directories, by partition, that were noted in vain.
    """

    run: Callable[..., list[Any]]
    query: Query
    layout: Layout
    session: CrawlSession
    prefixes: Sequence[str]
    released: defaultdict[int, bytes]
    now: int

    def __post_init__(self) -> None:
        self._asked = question(self.query, self.layout, self.now)
        self._url_key = bytes8(self.query.entry.url_key)
        self._home = partition_of(self.query.entry.home or 0, len(self.prefixes))
        self._directory = self.query.entry.url_key % len(self.prefixes)

    def answer(self) -> Answer:
        """Decide, and return the answer; its `pages` are those of one partition."""
        noted, found, costs, compared = self._look()
        met = [part for _, part, record in found if record.url_key == self.query.entry.url_key]
        kept_at = met[0] if met else partition_of(noted[0], len(self.prefixes)) if noted else self._home
        is_elsewhere = kept_at != self._home
        own, is_revisit, abandoned, text = b"", 0, 0, b""
        # Where pages are forgotten, so are entries of directories: then a page may be at home that none tells of.
        if is_elsewhere or (found and (noted or self.query.retention != Retention())):
            limit, refresh = self.query.retention.ttl_seconds or 0, self.query.retention.refresh
            visit = _VISIT.pack(self.now, limit, refresh, self.session.number, self.query.on_its_way)
            asked = (self._url_key, visit, *self._text(is_elsewhere))
            _, own, is_revisit, abandoned, text = self._ask(kept_at, "own", *asked)
        if is_revisit == _UNCHANGED:
            return self._stay(own, is_noted=bool(noted))
        if is_revisit and is_elsewhere:
            return self._move(kept_at, own, text, is_abandoned=bool(abandoned))
        counted = None
        replaces = all(record.rank > self.query.entry.rank for *_, record in found)
        for _, partition, record in () if is_revisit else found:
            counted = counted or self._count(partition, record, compared, replaces=replaces)
        answer = counted if counted and not replaces else self._check_at_home(compared, costs)
        is_counted = answer is counted
        if counted and answer.status is Status.NEW:
            answer = replace(counted, pages=answer.pages, candidates=answer.candidates)
        is_copy = answer.status in (Status.NEAR, Status.EXACT) and not answer.replaces
        if is_elsewhere and not is_copy and answer.status is not Status.REVISIT:
            # What the URL held before has expired, or another crawler of this crawl delivered it with other text.
            self._leave(kept_at, is_there=bool(own))
        elif not own and is_copy and (is_counted or not noted):
            # The next call tells the directory that nothing of this URL is kept there.
            self.released[self._directory] += self._url_key + (noted or bytes((self.query.entry.home or 0,)))
        return answer

    def _look(self) -> tuple[bytes, list[tuple[int, int, Record]], list[int], int]:
        """Look in the other partitions where near duplicates may be.

        Return the home noted for the URL, sorted (cost, partition, record) of pages found, the costs of all that
        resemble the page, and how many were met.
        """
        route = self.query.route or (lambda _: ())
        others = [part for part in route(len(self.prefixes)) if part != self._home]
        claiming = claim(self.query.entry, self.query.retention, self.now) + self.released.pop(self._directory, b"")
        calls = [
            self._call(part, "scout", *self._asked, claiming if part == self._directory else b"") for part in others
        ]
        if self._directory not in others:
            calls.append(self._call(self._directory, "claim", claiming))
        replies = self.run(*calls)
        told = [(part, *reply[3:]) for part, reply in zip(others, replies, strict=False)]
        costs = [cost for _, _, packed, *_ in told for cost in costs_unpacked(packed)]
        limit = self._limit_beside(costs)
        found = [
            (cost, part, unpacked(record, self.layout)) for part, *_, cost, record in told if record and cost <= limit
        ]
        return (
            b"".join(reply[2] for reply in replies),
            sorted(found, key=itemgetter(0)),
            costs,
            sum(each[1] for each in told),
        )

    def _limit_beside(self, costs: Sequence[int]) -> int:
        """Return the cost up to which pages of other partitions are accepted, of which some have these costs.

        Those at home belong to the crowd, too, and the nearest of all is the original.
        """
        rule = self.query.rule
        if rule.crowd is None or not 0 < min(costs, default=0) <= rule.limit:
            return rule.limit
        *_, packed, nearest, record = self._ask(self._home, "scout", *self._asked, b"")
        limit = rule.bar([*costs, *costs_unpacked(packed)]).limit
        return limit if record is None else min(limit, nearest)

    def _count(self, partition: int, original: Record, compared: int, *, replaces: bool) -> Answer | None:
        """Count the page as a copy of one that was found, and return the answer; None if that has gone meanwhile.

        One that it replaces is removed.
        """
        named = (bytes8(original.url_key), original.digest.to_bytes(4, "big"), self._url_key, self.now)
        again = int(self.query.is_asked_again)
        reply = self._ask(partition, "count", *named, int(replaces), again, last_again=1)
        if reply[0] == b"gone":
            return None
        status = Status.EXACT if original.digest == self.query.entry.digest else Status.NEAR
        if replaces:
            noted = bytes8(original.url_key) + bytes((original.home or 0,))
            self.released[original.url_key % len(self.prefixes)] += noted
        return Answer(status, unpacked(reply[2], self.layout), False, 0, compared, replaces=replaces)

    def _check_at_home(self, compared: int, costs: Sequence[int] = ()) -> Answer:
        """Let the home check and add the page; `costs` are those of pages that resemble it elsewhere."""
        own = (self.query, self.layout.profile_of(self.query), self.session)
        reply = self.run(check_call(self.prefixes[self._home], beside(self._asked, costs), *own))[0]
        answer = answer_from(reply, self.layout)
        return replace(answer, candidates=compared + answer.candidates)

    def _text(self, is_elsewhere: bool) -> tuple[bytes, ...]:
        """Return by what a page of another home is told to be unchanged, where that takes more than an equal digest."""
        entry, rule = self.query.entry, self.query.revisit_rule
        if rule is None or not is_elsewhere:
            return ()
        return entry.digest.to_bytes(4, "big"), entry.signature, packed_rule(rule)

    def _stay(self, own: bytes, *, is_noted: bool) -> Answer:
        """Leave the URL's page at its home, where the visit was noted."""
        earlier = unpacked(own, self.layout)
        if not is_noted:
            packed = claim(earlier, self.query.retention, self.now, forced=True)
            self.run(self._call(self._directory, "claim", packed))
        return Answer(Status.REVISIT, earlier, False, 0, 0)

    def _move(self, kept_at: int, own: bytes, text: bytes, *, is_abandoned: bool) -> Answer:
        """Give the URL's page its new text at its new home, and remove it from the old one."""
        earlier = unpacked(own, self.layout, text)
        entry = replace(self.query.entry, url=earlier.url)
        moved = own[:_TIMES] + body_of(entry)
        packed = packed_record(moved, entry.keys, entry.packed_text)
        calls = [self._call(self._home, "load", len(self.layout.tables), packed)]
        if self.query.on_its_way:
            # A page that is moved must not seem delivered, not even for a moment.
            calls.insert(0, script_call("depart", self.prefixes[self._home], self._url_key, self.session.number))
        *_, loaded = self.run(*calls)
        self._leave(kept_at)
        if not loaded[1]:
            return self._check_at_home(0)
        changed = earlier.digest != entry.digest
        return Answer(Status.REVISIT, earlier, changed, 0, 0, is_abandoned)

    def _leave(self, kept_at: int, *, is_there: bool = True) -> None:
        """Forget what was kept of the URL at another home, and note the new one. What is decided stays decided."""
        packed = claim(self.query.entry, self.query.retention, self.now, forced=True)
        forgetting = [script_call("forget", self.prefixes[kept_at], self._url_key)] if is_there else []
        with contextlib.suppress(LostPartError):
            self.run(*forgetting, self._call(self._directory, "claim", packed))

    def _ask(self, *call: Any, last_again: Any = None) -> Any:
        return self.run(self._call(*call, last_again=last_again))[0]

    def _call(self, partition: int, script: str, *arguments: Any, last_again: Any = None) -> Call:
        profile = self.layout.profile_of(self.query)
        return script_call(script, self.prefixes[partition], profile, *arguments, last_again=last_again)
