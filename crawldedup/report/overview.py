"""What a crawl came to: its counts, costs, reasons, walls and last stats."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeGuard

from crawldedup.report.counts import OUTCOMES, Counts
from crawldedup.report.database import host_of
from crawldedup.report.model import Crawl, Index, Process, Reason, Saving, Spread, Totals, Wall
from crawldedup.search.query import expected_recall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawldedup.journal import Journal
    from crawldedup.report.database import Database

COUNTS: Final = ", ".join(f"count(*) FILTER (outcome = '{outcome}')" for outcome in OUTCOMES)
"""The columns of `Counts`, in its order."""

IS_COPY: Final = "outcome IN ('near', 'exact')"

_MOST_REASONS: Final = 40
_MOST_RULES: Final = 40
_MOST_WALLS: Final = 20
_MOST_STATS: Final = 1000
_LARGEST: Final = 1e18
_PARTS: Final = {
    "waited": "wait for the verdict",
    "read": "reading the page",
    "store": "asking the store",
    "latency": "download",
}
_WORK: Final = {"probes": "probes", "candidates": "candidates compared"}


def crawl_of(database: Database, journals: Sequence[Journal], left_out: int) -> Crawl:
    """Return what the journals say of themselves."""
    last = journals[-1]
    rows = database.rows("""SELECT process, max("end") FROM lines GROUP BY process""")
    ends: dict[int, str | None] = dict(rows)
    (seconds,) = database.row("SELECT max(moment) FROM lines")
    return Crawl(
        name=last.crawl,
        spider=last.spider,
        started=journals[0].started,
        seconds=seconds or 0.0,
        version=last.version,
        settings=last.settings,
        processes=tuple(
            Process(journal.host, journal.pid, journal.started, ends.get(number))
            for number, journal in enumerate(journals)
        ),
        left_out=left_out,
    )


def totals_of(database: Database, clusters: int) -> Totals:
    """Return the figures of the whole crawl."""
    row = database.row(
        f"""SELECT {COUNTS}, count(*) FILTER (replaces), count(*) FILTER (changed),
            count(*) FILTER (outcome = 'revisit' AND action IN ('dropped', 'items_dropped')),
            count(*) FILTER (abandoned), coalesce(sum(bytes), 0), coalesce(sum(bytes) FILTER ({IS_COPY}), 0),
            coalesce(sum(latency) FILTER ({IS_COPY}), 0)
        FROM pages"""
    )
    counts, (replaced, changed, unwanted, abandoned, size, copied, seconds) = row[:7], row[7:]
    (across,) = database.row(
        f"""SELECT count(*) FROM places
        JOIN sites AS others ON others.host = {host_of("original")}
        WHERE {IS_COPY} AND others.site <> places.site"""
    )
    actions = database.rows(
        "SELECT action, count(*) AS pages FROM pages WHERE action <> '' GROUP BY action ORDER BY pages DESC LIMIT 10"
    )
    return Totals(
        counts=Counts(*counts),
        clusters=clusters,
        across_sites=across,
        replaced=replaced,
        changed=changed,
        unwanted=unwanted,
        abandoned=abandoned,
        bytes=int(size),
        duplicate_bytes=int(copied),
        duplicate_seconds=seconds,
        actions=dict(actions),
    )


def reasons_of(database: Database) -> tuple[Reason, ...]:
    """Return why pages were skipped or passed unchecked, the most frequent reason first."""
    rows = database.rows(
        f"""SELECT outcome, coalesce(reason, ''), if(reason = 'status', status, NULL) AS answer, count(*) AS pages
        FROM pages WHERE outcome IN ('skipped', 'error') GROUP BY ALL ORDER BY pages DESC LIMIT {_MOST_REASONS}"""
    )
    return tuple(Reason(*row) for row in rows)


def walls_of(database: Database) -> tuple[Wall, ...]:
    """Return the walls that were suspected, in their order. A fleet meets each one several times."""
    rows = database.rows(
        f"""SELECT wall, max(share), arg_max("window", share), min(moment) AS since FROM lines WHERE wall IS NOT NULL
        GROUP BY wall ORDER BY since LIMIT {_MOST_WALLS}"""
    )
    return tuple(Wall(url, share or 0.0, window or 0, since) for url, share, window, since in rows)


def savings_of(database: Database) -> tuple[Saving, ...]:
    """Return how many downloads were saved by rules. What was downloaded after all, or anyway, is not saved."""
    rows = database.rows(
        f"""SELECT coalesce(rule, '') AS named, count(DISTINCT page) AS pages
        FROM (SELECT rule, hash(skipped) AS page FROM lines WHERE skipped IS NOT NULL)
        ANTI JOIN (SELECT hash(url) AS page FROM pages) USING (page)
        GROUP BY named ORDER BY pages DESC, named LIMIT {_MOST_REASONS}"""
    )
    return tuple(Saving(*row) for row in rows)


def withdrawn_of(database: Database) -> tuple[str, ...]:
    """Return the rules that proved wrong in this crawl."""
    rows = database.rows(
        f"SELECT DISTINCT rule FROM lines WHERE withdrawn IS NOT NULL AND rule <> '' ORDER BY rule LIMIT {_MOST_RULES}"
    )
    return tuple(rule for (rule,) in rows)


def times_of(database: Database) -> tuple[Spread, ...]:
    """Return the seconds that pages took, by part."""
    return _spreads(database, _PARTS)


def index_of(database: Database, journals: Sequence[Journal]) -> Index:
    """Return how full the index was, its work, and what it is expected to find."""
    before = [journal.known for journal in journals if journal.known is not None]
    after, size = database.row(
        """SELECT arg_max(known, moment) FILTER (known IS NOT NULL),
            arg_max(index_bytes, moment) FILTER (index_bytes IS NOT NULL) FROM lines"""
    )
    similarity, recall = (journals[-1].settings.get(name) for name in ("similarity", "recall"))
    expected = None
    if after is not None and _is_share(similarity) and _is_share(recall):
        expected = expected_recall(similarity=similarity, recall=recall, pages=after)
    return Index(min(before, default=None), after, size, expected, _spreads(database, _WORK))


def stats_of(database: Database) -> dict[str, float | str]:
    """Return the last stats of all processes: counts are added up, and of maxima the largest is taken."""
    merged: dict[str, float | str] = {}
    for (text,) in database.rows("SELECT stats FROM lines WHERE json_type(stats) = 'OBJECT' ORDER BY moment"):
        with suppress(ValueError, RecursionError):
            for name, value in islice(json.loads(text).items(), _MOST_STATS):
                former = merged.get(name)
                if isinstance(value, str) or (_is_number(value) and not _is_number(former)):
                    merged[name] = value
                elif _is_number(value) and _is_number(former):
                    is_maximum = "max" in name or "largest" in name
                    merged[name] = max(former, value) if is_maximum else former + value
    return dict(sorted(merged.items()))


def _is_share(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and 0 < value <= 1


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and abs(value) < _LARGEST


def _spreads(database: Database, columns: dict[str, str]) -> tuple[Spread, ...]:
    queries = (f"sum({column}), approx_quantile({column}, [0.5, 0.95]), max({column})" for column in columns)
    figures = iter(database.row(f"SELECT {', '.join(queries)} FROM pages"))
    return tuple(
        Spread(name, float(total), float(middle[0]), float(middle[1]), float(most))
        for name, total, middle, most in zip(columns.values(), figures, figures, figures, strict=True)
        if middle
    )
