"""A crawl beside an earlier one, page by page."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Final

from crawldedup.report.changes import Change, Changes, Comparison
from crawldedup.report.overview import IS_COPY

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from crawldedup.journal import Journal
    from crawldedup.report.database import Database

EARLIER: Final = "_earlier"
"""The suffix of the earlier crawl's tables."""

NOT_MET: Final = ("gone", "moved", "skipped")
"""What became of pages that this crawl has not met."""

_KINDS: Final = tuple(field.name for field in fields(Changes))[1:]
_MOST_SITES: Final = 200
_EXAMPLES: Final = 20


def have_one_index(journals: Iterable[Journal]) -> bool:
    """Return True for crawls whose pages were remembered in one index, so that their digests can be compared."""
    indexes = {(str(journal.settings.get("store")), str(journal.settings.get("namespace"))) for journal in journals}
    return len(indexes) == 1 and not any(store.startswith("memory:") for store, _ in indexes)


def make_changes(database: Database, *, by_text: bool) -> None:
    """Make a table of what became of each `page`: `number` is its last line now, or `earlier` that of then."""
    digest = "digest" if by_text else "NULL"
    execute = database.connection.execute
    for suffix in ("", EARLIER):
        # A page that was met again is as it was met last. URLs are long: 64 bits tell them apart.
        execute(
            f"""CREATE TABLE visits{suffix} AS SELECT hash(url) AS page, arg_max(number, moment) AS number
            FROM pages{suffix} WHERE outcome NOT IN ('skipped', 'error') GROUP BY page"""
        )
        execute(
            f"""CREATE TABLE visited{suffix} AS SELECT page, number, {IS_COPY} AS is_copy, {digest} AS digest, site,
                coalesce(changed, false) AS has_changed
            FROM visits{suffix} JOIN places{suffix} USING (number)"""
        )
    execute(
        f"""CREATE TABLE changes AS SELECT page, now.number AS number, earlier.number AS earlier,
            coalesce(now.site, earlier.site) AS site,
            CASE WHEN now.page IS NULL AND earlier.page IN (SELECT hash(skipped) FROM lines WHERE skipped IS NOT NULL)
                THEN 'skipped'
            WHEN now.page IS NULL THEN
                if(earlier.digest IN (SELECT digest FROM visited WHERE digest IS NOT NULL), 'moved', 'gone')
            WHEN now.is_copy AND NOT coalesce(earlier.is_copy, false) THEN 'duplicated'
            WHEN earlier.page IS NULL THEN 'new'
            WHEN now.has_changed OR now.digest <> earlier.digest THEN 'changed' ELSE 'same' END AS change
        FROM visited AS now FULL JOIN visited{EARLIER} AS earlier USING (page)"""
    )


def comparison_of(database: Database, journals: Sequence[Journal], *, by_text: bool) -> Comparison:
    """Return what changed since the crawl of these journals, in all and by site."""
    counted = ", ".join(f"count(*) FILTER (change = '{kind}')" for kind in _KINDS)
    sites = database.rows(
        f"SELECT site, {counted} FROM changes GROUP BY site ORDER BY count(*) DESC, site LIMIT {_MOST_SITES}"
    )
    examples = database.rows(
        f"""WITH chosen AS (
            SELECT change, unnest(min(coalesce(number, earlier), {_EXAMPLES})) AS line FROM changes
            WHERE change <> 'same' GROUP BY change
        )
        SELECT change, url FROM chosen JOIN pages ON number = line WHERE change NOT IN {NOT_MET}
        UNION ALL SELECT change, url FROM chosen JOIN pages{EARLIER} ON number = line WHERE change IN {NOT_MET}
        ORDER BY change, url"""
    )
    return Comparison(
        name=journals[-1].crawl,
        started=journals[0].started,
        by_text=by_text,
        total=Changes("", *database.row(f"SELECT {counted} FROM changes")),
        sites=tuple(Changes(*row) for row in sites),
        examples=tuple(Change(*row) for row in examples),
    )
