"""Decide about a page, and free pages: the steps of a store in one turn at an index."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from crawldedup.stores.base import Answer, Status
from crawldedup.stores.retention import MAX_EVICTED, MAX_FREED, MAX_SWEPT
from crawldedup.stores.revisits import has_new_text
from crawldedup.stores.sqlite.statements import unsigned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawldedup.stores.base import CrawlSession, Query, Record, Retention
    from crawldedup.stores.sqlite.deliveries import Crew
    from crawldedup.stores.sqlite.index import Page, SqliteIndex


def decide(index: SqliteIndex, query: Query, session: CrawlSession, crew: Crew, now: int) -> Answer:
    """Decide about a page and remember it, by the rules in `base`."""
    entry, retention = query.entry, query.retention
    crew.deliver(query.delivered)
    own = index.page_with(entry.url_key, "" if query.is_own else entry.url)
    own_is_live = own is not None and own.is_live(retention, now)
    if own is not None and own_is_live and not crew.is_at_work(own.crawler):
        abandoned = crew.is_abandoned(own)
        if query.on_its_way:
            crew.set_out(entry.url_key)
        else:
            crew.arrive(entry.url_key)
        changed = has_new_text(query, own.signature, own.digest, abandoned=abandoned)
        record = index.revisit(own, entry, now, session.number, changed=changed)
        return Answer(Status.REVISIT, record, changed, index.pages, 0, abandoned)
    accepted, compared, expired = index.search(query, now)
    abandoned_pages = []
    while accepted and crew.is_abandoned(found := index.page(accepted[0])):
        abandoned_pages.append(found)
        del accepted[0]
    nearest = index.page(accepted[0]) if accepted else None
    replaces = nearest is not None and all(index.page(number).rank > entry.rank for number in accepted)
    if own is not None and not (own_is_live and nearest and not replaces):
        expired = [own, *(page for page in expired if page != own)]
    index.remove(expired[:MAX_FREED])
    status, copies = Status.NEW, 0
    if nearest is not None:
        status = Status.EXACT if nearest.digest == entry.digest else Status.NEAR
        if not replaces:
            return Answer(status, index.count_copy(nearest, now), False, index.pages, compared)
        copies = nearest.copies + 1
        abandoned_pages += [nearest] if nearest != own else []
    index.remove(abandoned_pages)
    for page in abandoned_pages:
        crew.arrive(unsigned(page.url_key))
    if query.on_its_way:
        crew.set_out(entry.url_key)
    else:
        crew.arrive(entry.url_key)
    index.add(entry, entry.keys, added_at=now, seen_at=now, copies=copies, crawler=session.number)
    if retention.ttl_seconds is not None:
        free_expired(index, index.next_to_sweep(MAX_SWEPT), retention, now)
    evict(index, retention, MAX_EVICTED)
    replaced = replace(nearest.record(), seen_at=now, copies=copies) if nearest else None
    return Answer(status, replaced, False, index.pages, compared, replaces=replaces)


def load(index: SqliteIndex, records: Sequence[Record]) -> int:
    """Add records as they are, but for known URL keys; return how many."""
    before = index.pages
    for record in records:
        if index.page_with(record.url_key) is None:
            keys = index.layout.keys(record.search, record.signature)
            times = {"added_at": record.added_at, "seen_at": record.seen_at, "copies": record.copies}
            # No crawler has the number 0, so the page is an earlier crawl's.
            index.add(record, keys, **times, crawler=0)
    return index.pages - before


def free_expired(index: SqliteIndex, pages: Sequence[Page], retention: Retention, now: int) -> int:
    """Free those of some pages that have expired; return how many."""
    expired = [page for page in pages if not page.is_live(retention, now)]
    index.remove(expired)
    return len(expired)


def evict(index: SqliteIndex, retention: Retention, most: int) -> int:
    """Free the oldest pages beyond the limit, at most so many; return how many."""
    excess = 0 if retention.max_pages is None else min(index.pages - retention.max_pages, most)
    if excess <= 0:
        return 0
    # Fewer than the head says, if that is damaged.
    oldest = index.pages_after(0, excess)
    index.remove(oldest)
    return len(oldest)
