"""The crawlers at work on an index: each part has their leases, and the leading one names their processes."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import redis

from crawldedup.stores.base import Status
from crawldedup.stores.process import has_exited
from crawldedup.stores.redis.errors import replies_read

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crawldedup.stores.base import Answer, CrawlSession, Query
    from crawldedup.stores.redis.upkeep import Send


def name_process(send: Send, leading: str, session: CrawlSession) -> None:
    """Note the process of a crawler, by which others on its machine can tell whether it is at work."""
    with contextlib.suppress(redis.OutOfMemoryError):
        send([("HSET", f"{leading}w", session.number, session.process)])


@replies_read()
def expire_dead_sessions(send: Send, leading: str, parts: Callable[[], Sequence[str]], asked: int = 0) -> bool:
    """End the leases of crawlers whose process on this machine has exited. `parts` returns prefixes.

    Return True if the crawler of the number `asked` has a lease after that.
    """
    told, lease = send([("HGETALL", f"{leading}w"), ("ZSCORE", f"{leading}c", asked)])
    processes = told if isinstance(told, dict) else dict(zip(told[::2], told[1::2], strict=True))
    dead = [number for number, process in processes.items() if has_exited(process.decode("utf-8", "replace"))]
    if dead:
        end_leases(send, leading, parts(), *dead)
    return lease is not None and b"%d" % asked not in dead


def end_leases(send: Send, leading: str, parts: Sequence[str], *numbers: int | bytes) -> None:
    """End the leases of crawlers with these numbers."""
    send([*(("ZREM", f"{prefix}c", *numbers) for prefix in parts), ("HDEL", f"{leading}w", *numbers)])


def is_copy_of_itself(query: Query, answer: Answer) -> bool:
    """Return True, once, if another crawler has the page's URL: one that is at work, or has just died."""
    same = answer.record is not None and answer.record.url_key == query.entry.url_key
    return same and answer.status is not Status.REVISIT and not query.is_asked_again
