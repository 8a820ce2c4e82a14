"""Clusters: kept pages and their duplicates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from crawldedup.report.model import Cluster, Member
from crawldedup.report.overview import IS_COPY

if TYPE_CHECKING:
    from crawldedup.report.database import Database, Row

MEMBER: Final = """url, coalesce(original, ''), outcome, similarity, coalesce(action, ''), coalesce(referer, ''),
    coalesce(difference, '')"""
"""The columns of `Member`."""

_MOST_CLUSTERS: Final = 50
_MOST_MEMBERS: Final = 20
_LONGEST_CHAIN: Final = 10


def make_clusters(database: Database) -> int:
    """Make a table of clusters, and return how many there are.

    A page that replaces the kept one takes its duplicates over, with those of pages that this one had replaced. In
    the view `copies` it is the original then, and the former one its duplicate.
    """
    execute = database.connection.execute
    execute(
        """CREATE TABLE renamed AS SELECT original AS former, arg_max(url, moment) AS kept FROM pages
        WHERE replaces AND original IS NOT NULL AND original <> url GROUP BY original"""
    )
    for _ in range(_LONGEST_CHAIN):
        moved = execute(
            """UPDATE renamed SET kept = further.kept FROM renamed AS further
            WHERE renamed.kept = further.former AND further.kept <> renamed.former RETURNING 1"""
        ).fetchall()
        if not moved:
            break
    execute(
        f"""CREATE VIEW copies AS SELECT * FROM (
            SELECT pages.* REPLACE (
                if(replaces, original, url) AS url, if(replaces, url, original) AS original,
                if(replaces, 'replaced', action) AS action, if(replaces, NULL, referer) AS referer
            ), coalesce(renamed.kept, pages.original) AS kept
            FROM pages LEFT JOIN renamed ON former = pages.original WHERE {IS_COPY} AND pages.original IS NOT NULL
        ) WHERE url <> kept OR original = kept"""
    )
    execute(
        """CREATE TABLE clusters AS SELECT kept, count(*) FILTER (outcome = 'near') AS near,
            count(*) FILTER (outcome = 'exact') AS exact, min(similarity) AS lowest, coalesce(sum(bytes), 0) AS size
        FROM copies GROUP BY kept"""
    )
    (clusters,) = database.row("SELECT count(*) FROM clusters")
    return int(clusters)


def clusters_of(database: Database) -> tuple[Cluster, ...]:
    """Return the largest clusters, with their least alike members: a wrong one is among those."""
    biggest = f"SELECT * FROM clusters ORDER BY near + exact DESC, kept LIMIT {_MOST_CLUSTERS}"
    members: dict[str, list[Member]] = {}
    rows = database.rows(
        f"""WITH biggest AS ({biggest}), chosen AS (
            SELECT unnest(min_by(number, coalesce(similarity, 1), {_MOST_MEMBERS})) AS number, copies.kept
            FROM copies JOIN biggest USING (kept) GROUP BY copies.kept
        )
        SELECT kept, {MEMBER} FROM copies JOIN chosen USING (number, kept) ORDER BY similarity, url"""
    )
    for kept, *member in rows:
        members.setdefault(kept, []).append(member_of(tuple(member)))
    return tuple(
        Cluster(kept, near, exact, lowest, int(size), tuple(members.get(kept, ())))
        for kept, near, exact, lowest, size in database.rows(biggest)
    )


def member_of(row: Row) -> Member:
    """Return a member of the columns `MEMBER`."""
    return Member(*row)
