"""A report of a crawl, made of named queries: their rows are what a terminal, a page and JSON show.

Lists hold the most important rows only, so that a report stays small. What is an estimate is named so in the docs.
"""

import json
import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, TypeGuard

from crawldedup.advice.copies import names_a_view
from crawldedup.advice.mining import mine
from crawldedup.fingerprinting.fingerprint import VERIFY_BITS
from crawldedup.journal import Journal
from crawldedup.report.database import JUDGED, OUTCOMES, Database, Row, origin_of
from crawldedup.report.findings import findings_of
from crawldedup.search.model import MAX_SIMILARITY, estimate_deviation
from crawldedup.search.query import expected_recall

Report = dict[str, Any]
"""All that is shown of a crawl, ready for JSON."""

VERSION: Final = 1
EARLIER: Final = "_earlier"
"""The suffix of an earlier crawl's tables."""
NAMELESS: Final = "(no name)"
"""Stands for the empty name of a parameter where it is shown."""
CHANGES: Final = ("new", "changed", "same", "duplicated", "moved", "skipped", "gone")
"""What became of a page since an earlier crawl."""
NOT_MET: Final = ("gone", "moved", "skipped")
"""What became of pages that this crawl has not met."""

_IS_COPY: Final = "outcome IN ('near', 'exact')"
_EACH: Final = ", ".join(f"'{outcome}': count(*) FILTER (outcome = '{outcome}')" for outcome in OUTCOMES)
# Responses by outcome, and the shares of duplicates among the checked pages, and of new ones among the judged.
_COUNTS: Final = f"""{{{_EACH}}} AS counts, count(*) FILTER (outcome IN {OUTCOMES}) AS responses,
    count(*) FILTER (outcome IN {JUDGED}) AS judged, count(*) FILTER (outcome IN {(*JUDGED, "revisit")}) AS checked,
    count(*) FILTER ({_IS_COPY}) AS duplicates, duplicates / nullif(checked, 0) AS share,
    count(*) FILTER (outcome = 'new') / nullif(judged, 0) AS novelty"""
_BYTES: Final = "coalesce(sum(bytes), 0) AS bytes"
# A duplicate, where the crawl met it, and how it differs from its original.
_MEMBER: Final = """{'url': url, 'original': coalesce(original, ''), 'outcome': outcome, 'similarity': similarity,
    'action': coalesce(action, ''), 'referer': coalesce(referer, ''), 'difference': coalesce(difference, '')} AS member
"""


def make_report(database: Database, journals: Sequence[Journal], against: Sequence[Journal] = ()) -> Report:
    """Load the journals of a crawl, and of an earlier one to compare it with, and return the report.

    Raises ReportError where there is too little memory or disk.
    """
    left_out = database.load(journals) + (database.load(against, EARLIER) if against else 0)
    database.tell("counting", 0)
    database.rows(_MAKE_CLUSTERS)
    crawl = _crawl(database, journals, left_out)
    report = {
        "crawldedup_report": VERSION,
        "crawl": crawl,
        "totals": database.row(_TOTALS),
        "findings": [],
        "timeline": _timeline(database, crawl["seconds"]),
        **_places(database),
        "similarity": _similarity(database, crawl["settings"]),
        "below": database.rows(_BELOW),
        "variants": [row for row in database.rows(_VARIANTS) if not names_a_view(f"http://x/?{row['name']}=1")],
        "clusters": database.rows(_CLUSTERS),
        "reasons": database.rows(_REASONS),
        "walls": database.rows(_WALLS),
        "index": _index(database, journals),
        "times": _spreads(database, _TIMES),
        "stats": _stats(database),
        "comparison": _comparison(database, journals, against) if against else None,
        "advice": [] if crawl["is_scan"] else _advice(database),
        "savings": database.rows(_SAVINGS),
        "withdrawn": [row["rule"] for row in database.rows(_WITHDRAWN)],
        "volatile": [row["line"] for row in database.rows(_VOLATILE)],
    }
    report["findings"] = findings_of(report)
    return report


# --- The crawl as a whole

_TOTALS: Final = f"""
SELECT {_COUNTS}, (SELECT count(*) FROM clusters) AS clusters,
    (SELECT count(*) FROM places JOIN sites AS originals ON originals.origin = {origin_of("original")}
        WHERE {_IS_COPY} AND originals.site <> places.site) AS across_sites,
    count(*) FILTER (replaces) AS replaced, count(*) FILTER (changed) AS changed,
    count(*) FILTER (outcome = 'revisit' AND action IN ('dropped', 'items_dropped')) AS unwanted,
    count(*) FILTER (abandoned) AS abandoned, {_BYTES},
    coalesce(sum(bytes) FILTER ({_IS_COPY}), 0) AS duplicate_bytes,
    coalesce(sum(latency) FILTER ({_IS_COPY}), 0) AS duplicate_seconds,
    coalesce(histogram(action) FILTER (action <> ''), MAP {{}}) AS actions
FROM pages
"""
_REASONS: Final = """
SELECT outcome, coalesce(reason, '') AS reason, count(*) AS pages
FROM pages WHERE outcome IN ('skipped', 'error') GROUP BY ALL ORDER BY pages DESC LIMIT 40
"""
# A fleet meets each wall several times.
_WALLS: Final = """
SELECT wall AS url, coalesce(max(share), 0) AS share, coalesce(arg_max("window", share), 0) AS "window",
    min(moment) AS seconds
FROM lines WHERE wall IS NOT NULL GROUP BY wall ORDER BY seconds LIMIT 20
"""
# What was downloaded after all, or anyway, is not saved.
_SAVINGS: Final = """
SELECT coalesce(rule, '') AS rule, count(DISTINCT page) AS downloads
FROM (SELECT rule, hash(skipped) AS page FROM lines WHERE skipped IS NOT NULL)
ANTI JOIN (SELECT hash(url) AS page FROM pages) USING (page)
GROUP BY ALL ORDER BY downloads DESC, 1 LIMIT 40
"""
_WITHDRAWN: Final = """
SELECT DISTINCT rule FROM lines WHERE withdrawn IS NOT NULL AND rule <> '' ORDER BY rule LIMIT 40
"""
_VOLATILE: Final = "SELECT DISTINCT volatile AS line FROM lines WHERE volatile IS NOT NULL ORDER BY line LIMIT 40"
_TIMES: Final = {
    "waited": "wait for the verdict",
    "read": "reading the page",
    "store": "asking the store",
    "latency": "download",
}
_WORK: Final = {"probes": "probes", "candidates": "candidates compared"}
_LARGEST_STAT: Final = 1e18
_MOST_PAGES_FOR_ADVICE: Final = 100_000


def _crawl(database: Database, journals: Sequence[Journal], left_out: int) -> Row:
    """Return what the journals say of themselves. A process has no `end` while it runs, or after it was killed."""
    last = journals[-1]
    ended = database.rows('SELECT process, max("end") AS "end", max(moment) AS last FROM lines GROUP BY process')
    ends = {row["process"]: row["end"] for row in ended}
    processes = [
        {"host": journal.host, "pid": journal.pid, "started": journal.started, "end": ends.get(number)}
        for number, journal in enumerate(journals)
    ]
    return {
        "name": last.crawl,
        "spider": last.spider,
        "started": journals[0].started,
        "seconds": max((row["last"] for row in ended), default=0.0),
        "version": last.version,
        "settings": last.settings,
        "processes": processes,
        # A scan has no spider.
        "is_scan": not last.spider,
        "has_ended": all(process["end"] is not None for process in processes),
        "left_out": left_out,
    }


def _index(database: Database, journals: Sequence[Journal]) -> Row:
    """Return how full the index was, its work, and the share of pages just as alike as asked for that it finds."""
    before = [journal.known for journal in journals if journal.known is not None]
    after = database.row(
        "SELECT arg_max(known, moment) AS known_after, arg_max(index_bytes, moment) AS bytes FROM lines"
    )
    similarity, recall = (journals[-1].settings.get(name) for name in ("similarity", "recall"))
    expected = None
    if after["known_after"] is not None and _is_share(similarity) and _is_share(recall):
        expected = expected_recall(similarity=similarity, recall=recall, pages=after["known_after"])
    work = _spreads(database, _WORK)
    return {"known_before": min(before, default=None), **after, "recall": expected, "work": work}


def _spreads(database: Database, columns: dict[str, str]) -> list[Row]:
    """Return how figures are spread over the pages, by what they are called; quantiles are estimates."""
    figures = ", ".join(
        f"""{{'name': '{name}', 'total': sum({column})::DOUBLE, 'median': approx_quantile({column}, 0.5)::DOUBLE,
            'p95': approx_quantile({column}, 0.95)::DOUBLE, 'most': max({column})::DOUBLE}}"""
        for column, name in columns.items()
    )
    return [row for row in database.row(f"SELECT [{figures}] AS rows FROM pages")["rows"] if row["most"] is not None]


def _stats(database: Database) -> dict[str, float | str]:
    """Return the last stats of all processes: counts are added up, and of maxima the largest is taken."""
    merged: dict[str, float | str] = {}
    for row in database.rows("SELECT stats FROM lines WHERE json_type(stats) = 'OBJECT' ORDER BY moment"):
        with suppress(ValueError, RecursionError):
            for name, value in json.loads(row["stats"]).items():
                former = merged.get(name)
                if _is_number(value) and _is_number(former):
                    is_maximum = "max" in name or "largest" in name
                    merged[name] = max(former, value) if is_maximum else former + value
                elif _is_number(value) or isinstance(value, str):
                    merged[name] = value
    return dict(sorted(merged.items()))


def _advice(database: Database) -> list[Row]:
    """Return rules about URLs that would have saved downloads. So many pages, the first ones, are looked at."""
    names = ("kind", "site", "what", "support", "confidence", "examples")
    return [{name: getattr(rule, name) for name in names} for rule in mine(*database.evidence(_MOST_PAGES_FOR_ADVICE))]


def _is_share(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and 0 < value <= 1


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and abs(value) < _LARGEST_STAT


# --- Over time

_MOST_STEPS: Final = 60
_STEPS: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)
_MOMENTS: Final = f"""
SELECT slot * $step AS seconds, {_COUNTS}, arg_max(known, moment) AS known
FROM (SELECT unnest(range($last + 1)) AS slot) LEFT JOIN (
    SELECT floor(moment / $step)::INTEGER AS slot, if(url IS NULL, NULL, outcome) AS outcome, known, moment FROM lines
) USING (slot) GROUP BY slot ORDER BY slot
"""


def _timeline(database: Database, seconds: float) -> Row:
    """Return the crawl in at most 60 steps of a round length; one in which nothing came is there, too."""
    step: float = next((step for step in _STEPS if seconds / step < _MOST_STEPS), 0) or seconds / (_MOST_STEPS - 1)
    last = int(seconds // step)
    return {"step": step, "last_step": seconds - last * step, "moments": database.rows(_MOMENTS, step=step, last=last)}


# --- Places: sites, patterns of paths, parameters, and where nothing new comes any more

_MOST_PLACES: Final = 200
_MOST_VARIANTS: Final = 20
_PARAMETERS_OF_URL: Final = 30
"""Of one URL so many parameters count, or the few URLs that have more would fill the table."""
_LEAST_STALE: Final = 50
"""Judged pages without a new one before a place is called stale."""


def _trap(kind: str, since_new: str, is_mirror: str) -> str:
    """Return the SQL for the name of a trap: most pages of one kind are copies, and nothing new came at their end.

    Mirrors and print views are none: they have an end, for they repeat a page each. A revisit is no copy: the place has
    a text of its own there, as it had when the page was new.
    """
    return rf"""CASE WHEN {since_new} < {_LEAST_STALE} OR duplicates + counts.thin < 0.5 * checked THEN ''
    WHEN regexp_matches({kind}, '(?i);\*|\{{id\}}|^(.*sess.*|.*token.*|sid|s|cfid|zenid|oscsid)$') THEN 'session ids'
    WHEN {is_mirror} THEN ''
    WHEN regexp_matches({kind}, '(?i)calend|\bevents?\b|agenda|\{{date\}}') THEN 'calendar'
    ELSE 'many URLs, few texts' END"""


# `recent` is the share of new pages among the last judged ones, `since_new` counts the judged pages after the last one
# with a text of its own, and `originals` the pages that the copies repeat: five copies each on average, in a trap.
_GROUPS: Final = f"""
WITH named AS (SELECT *, $name = 'pattern' AS by_pattern FROM places), biggest AS MATERIALIZED (
    SELECT site, if(by_pattern, pattern, '') AS name, {_COUNTS}, {_BYTES},
        max(moment) FILTER (outcome IN ('new', 'revisit')) AS last_own
    FROM named GROUP BY ALL ORDER BY responses DESC, site, name LIMIT {_MOST_PLACES}
), lately AS (
    SELECT site, name, list_avg(max_by((outcome = 'new')::INTEGER, moment, 100)) AS recent,
        count(*) FILTER (moment > coalesce(last_own, -1)) AS since_new, approx_count_distinct(original) AS originals
    FROM (SELECT site, if(by_pattern, pattern, '') AS name, outcome, moment, original FROM named
        WHERE outcome IN {JUDGED}) JOIN biggest USING (site, name) GROUP BY ALL
), complete AS (
    SELECT biggest.* EXCLUDE (last_own), recent, coalesce(since_new, 0) AS since_new,
        coalesce(originals, 0) AS originals, 0 AS "values" FROM biggest LEFT JOIN lately USING (site, name)
)
SELECT *, if(name = '', '', {_trap("name", "since_new", "originals * 5 > duplicates + counts.thin")}) AS trap
FROM complete ORDER BY responses DESC, site, name
"""
_LISTED: Final = f"string_split(regexp_extract({{}}, '\\?([^#]*)', 1), '&')[:{_PARAMETERS_OF_URL}]"
# One value for some pages is a filter or a view; a value for each page is a trap. When the last page with a text of its
# own came is not known of a parameter: it may have one in twenty.
_PARAMETERS: Final = f"""
WITH pairs AS (
    SELECT site, outcome, bytes, unnest({_LISTED.format("url")}) AS pair FROM places WHERE contains(url, '?')
), named AS (
    SELECT site, outcome, bytes, left(split_part(pair, '=', 1), 60) AS name, split_part(pair, '=', 2) AS value
    FROM pairs WHERE pair <> ''
), biggest AS (
    SELECT site, name, {_COUNTS}, {_BYTES}, NULL AS recent, 0 AS since_new, 0 AS originals,
        approx_count_distinct(value) AS "values",
        avg(regexp_full_match(value, '\\d{{4}}-?\\d{{1,2}}(-?\\d{{1,2}})?')::INTEGER) > 0.5 OR regexp_full_match(
            lower(name), 'date|day|month|year|week|from|to|start|end|ical|tribe-bar-date') AS is_date,
        avg(regexp_full_match(value, '[0-9a-fA-F-]{{16,}}')::INTEGER) > 0.5 AS is_id
    FROM named GROUP BY site, name ORDER BY count(*) DESC, site, name LIMIT {_MOST_PLACES}
), kinds AS (SELECT *, if(is_id, '{{id}}', if(is_date, '{{date}}', name)) AS kind FROM biggest)
SELECT * EXCLUDE (is_date, is_id, kind), if("values" > greatest({_LEAST_STALE}, judged // 2) OR is_date,
    {_trap("kind", "judged - 20 * (counts.new + counts.revisit)", "false")}, '') AS trap
FROM kinds ORDER BY responses DESC, site, name
"""


def _places(database: Database) -> dict[str, list[Row]]:
    """Return the pages by site, pattern and parameter; `stale` are places without new pages, traps first."""
    sites, patterns = (database.rows(_GROUPS, name=name) for name in ("site", "pattern"))
    parameters = database.rows(_PARAMETERS)
    stale = [group for group in patterns if group["since_new"] >= _LEAST_STALE]
    stale += [{**group, "name": f"?{group['name'] or NAMELESS}="} for group in parameters if group["trap"]]
    stale.sort(key=lambda group: (not group["trap"], -group["since_new"], -group["responses"]))
    return {"stale": stale[:_MOST_PLACES], "sites": sites, "patterns": patterns, "parameters": parameters}


# --- Clusters: kept pages and their duplicates

# A page that replaces the kept one takes its duplicates over, with those of pages that this one had replaced. In the
# view it is the original then, and the former one its duplicate.
_MAKE_CLUSTERS: Final = f"""
CREATE TABLE renamed AS WITH RECURSIVE replaced AS (
    SELECT original AS former, arg_max(url, moment) AS kept FROM pages
    WHERE replaces AND original IS NOT NULL AND original <> url GROUP BY original
), chains AS (
    SELECT former, kept, 1 AS step FROM replaced UNION ALL SELECT chains.former, replaced.kept, step + 1
    FROM chains JOIN replaced ON replaced.former = chains.kept WHERE replaced.kept <> chains.former AND step < 20
) SELECT former, arg_max(kept, step) AS kept FROM chains GROUP BY former;
CREATE VIEW copies AS SELECT * FROM (
    SELECT pages.* REPLACE (
        if(replaces, original, url) AS url, if(replaces, url, original) AS original,
        if(replaces, 'replaced', action) AS action, if(replaces, NULL, referer) AS referer
    ), coalesce(renamed.kept, pages.original) AS kept
    FROM pages LEFT JOIN renamed ON former = pages.original WHERE {_IS_COPY} AND pages.original IS NOT NULL
) WHERE url <> kept OR original = kept;
CREATE TABLE clusters AS SELECT kept, count(*) FILTER (outcome = 'near') AS near,
    count(*) FILTER (outcome = 'exact') AS exact, min(similarity) AS lowest, {_BYTES}
FROM copies GROUP BY kept
"""
# The largest, with their least alike members: a wrong one is among those.
_CLUSTERS: Final = f"""
WITH biggest AS (SELECT * FROM clusters ORDER BY near + exact DESC, kept LIMIT 50), chosen AS (
    SELECT unnest(min_by(number, coalesce(similarity, 1), 20)) AS number, copies.kept
    FROM copies JOIN biggest USING (kept) GROUP BY copies.kept
), members AS (SELECT kept, {_MEMBER} FROM copies JOIN chosen USING (number, kept))
SELECT biggest.*, members FROM biggest JOIN (
    SELECT kept, list(member ORDER BY member.similarity, member.url) AS members FROM members GROUP BY kept
) USING (kept) ORDER BY near + exact DESC, kept
"""


# --- How alike near duplicates are, and what another similarity would change

_BIN: Final = 0.01
_NEAR: Final = "outcome = 'near' AND similarity IS NOT NULL"
_BINS: Final = f"""
SELECT floor(greatest(0.5, least(similarity, 0.9999)) / {_BIN} + 1e-9)::INTEGER AS slot, count(*) AS pages
FROM pages WHERE {_NEAR} GROUP BY slot
"""
_LEAST_ALIKE: Final = f"SELECT {_MEMBER} FROM pages WHERE {_NEAR} ORDER BY similarity, number LIMIT 20"
# What a stricter limit would keep, and how many pages that a looser one would drop came nearest to another.
_WHAT_IF: Final = """
SELECT if($is_looser, NULL, count(*) FILTER (outcome = 'near' AND similarity < $limit)) AS kept,
    if($is_looser AND count(rejected_by) > 0, count(*) FILTER (rejected_by = 'similarity'
        AND rejected_similarity >= $limit), NULL) AS dropped
FROM pages
"""
# New pages just below the limit: first where the URLs differ in their queries alone.
_BELOW: Final = f"""
WITH rejected AS (
    SELECT site, pattern AS name, rejected_similarity AS similarity, coalesce(rejected_by, '') AS cause,
        split_part(url, '?', 1) = split_part(rejected_url, '?', 1) AS by_query,
        {{'url': url, 'nearest': rejected_url, 'difference': coalesce(difference, '')}} AS example
    FROM places WHERE outcome = 'new' AND rejected_url <> '' AND rejected_similarity IS NOT NULL
)
SELECT site, name, count(*) AS pages, count(*) FILTER (by_query) AS by_query, max(similarity) AS highest,
    mode(cause) AS cause, arg_max(example, by_query::INTEGER + similarity) AS example
FROM rejected GROUP BY site, name ORDER BY max(by_query) DESC, pages DESC, site, name LIMIT {_MOST_PLACES}
"""
# Parameters of which several values have the same text: they may show another picture.
_VARIANTS: Final = f"""
WITH copies AS (
    SELECT site, original, {_LISTED.format("url")} AS own, {_LISTED.format("original")} AS others
    FROM places WHERE outcome = 'exact' AND split_part(url, '?', 1) = split_part(original, '?', 1)
), changes AS (
    SELECT site, original, [each for each in own if NOT list_contains(others, each)]
        || [each for each in others if NOT list_contains(own, each)] AS changed FROM copies
), named AS (
    SELECT site, original, split_part(changed[1], '=', 1) AS name, unnest(changed) AS value FROM changes
    WHERE len(changed) IN (1, 2) AND split_part(changed[1], '=', 1) = split_part(changed[-1], '=', 1)
)
SELECT site, name, count(DISTINCT value) AS "values", count(DISTINCT original) AS pages FROM named GROUP BY ALL
HAVING "values" BETWEEN 2 AND {_MOST_VARIANTS} AND pages > 1 ORDER BY pages DESC, site, name LIMIT {_MOST_PLACES}
"""
_TRIED: Final = (0.8, 0.85, 0.9, 0.95)


def _similarity(database: Database, settings: Row) -> Row:
    """Return near duplicates by estimated similarity; `limit` is the least one that was accepted in this crawl."""
    wanted, limit = (
        float(value) if _is_share(value) else None for value in map(settings.get, ("similarity", "threshold"))
    )
    pages: dict[int, int] = {row["slot"]: row["pages"] for row in database.rows(_BINS)}
    # One bin below the limit, so that the limit does not look like the axis.
    first = min([*pages, math.floor((limit or 1) / _BIN) - 1]) if pages else round(1 / _BIN)
    what_if = []
    if wanted is not None and limit is not None:
        for similarity in _TRIED:
            tried = limit_at(similarity, wanted=wanted, limit=limit)
            (counts,) = database.rows(_WHAT_IF, limit=tried, is_looser=similarity < wanted)
            what_if.append({"similarity": similarity, "limit": tried, **counts})
    return {
        "wanted": wanted,
        "limit": limit,
        "bins": [
            {"low": round(slot * _BIN, 2), "high": round((slot + 1) * _BIN, 2), "pages": pages.get(slot, 0)}
            for slot in range(first, round(1 / _BIN))
        ],
        "what_if": what_if,
        "least": [row["member"] for row in database.rows(_LEAST_ALIKE)],
    }


def limit_at(similarity: float, *, wanted: float, limit: float) -> float:
    """Return the limit of the estimate at another similarity than the wanted one, whose limit is given.

    The recall is the same, so that the limit lies as many standard deviations below: see `accept_threshold`.
    """
    margin = (wanted - limit) / estimate_deviation(min(wanted, MAX_SIMILARITY), VERIFY_BITS)
    return similarity - margin * estimate_deviation(similarity, VERIFY_BITS)


# --- What changed since an earlier crawl

# A page that was met again is as it was met last. URLs are long: 64 bits tell them apart.
_MAKE_VISITED: Final = f"""
CREATE TABLE visited{{suffix}} AS SELECT page, number, {_IS_COPY} AS is_copy, {{digest}} AS digest, site,
    coalesce(changed, false) AS has_changed
FROM (SELECT hash(url) AS page, arg_max(number, moment) AS number FROM pages{{suffix}}
    WHERE outcome NOT IN ('skipped', 'error') GROUP BY page) JOIN places{{suffix}} USING (number)
"""
# Of each `page`, `number` is the last line now, or `earlier` that of then.
_MAKE_CHANGES: Final = f"""
CREATE TABLE changes AS SELECT page, now.number AS number, earlier.number AS earlier,
    coalesce(now.site, earlier.site) AS site,
    CASE WHEN now.page IS NULL AND earlier.page IN (SELECT hash(skipped) FROM lines WHERE skipped IS NOT NULL)
        THEN 'skipped'
    WHEN now.page IS NULL THEN
        if(earlier.digest IN (SELECT digest FROM visited WHERE digest IS NOT NULL), 'moved', 'gone')
    WHEN now.is_copy AND NOT coalesce(earlier.is_copy, false) THEN 'duplicated'
    WHEN earlier.page IS NULL THEN 'new'
    WHEN now.has_changed OR now.digest <> earlier.digest THEN 'changed' ELSE 'same' END AS change
FROM visited AS now FULL JOIN visited{EARLIER} AS earlier USING (page)
"""
_CHANGED: Final = ", ".join(f"count(*) FILTER (change = '{change}') AS {change}" for change in CHANGES)
_CHANGED_SITES: Final = f"""
SELECT site, {_CHANGED} FROM changes GROUP BY site ORDER BY count(*) DESC, site LIMIT {_MOST_PLACES}
"""
_CHANGED_PAGES: Final = f"""
WITH chosen AS (
    SELECT change, unnest(min(coalesce(number, earlier), 20)) AS line
    FROM changes WHERE change <> 'same' GROUP BY change
)
SELECT change, url FROM chosen JOIN pages ON number = line WHERE change NOT IN {NOT_MET}
UNION ALL SELECT change, url FROM chosen JOIN pages{EARLIER} ON number = line WHERE change IN {NOT_MET}
ORDER BY change, url
"""


def _comparison(database: Database, journals: Sequence[Journal], earlier: Sequence[Journal]) -> Row:
    """Return what became of pages since an earlier crawl, in all and by site.

    Pages are compared by text, too, where both crawls had one index: each index has digests of its own.
    """
    indexes = {(str(each.settings.get("store")), str(each.settings.get("namespace"))) for each in (*journals, *earlier)}
    by_text = len(indexes) == 1 and not any(store.startswith("memory:") for store, _ in indexes)
    for suffix in ("", EARLIER):
        database.rows(_MAKE_VISITED.format(suffix=suffix, digest="digest" if by_text else "NULL"))
    database.rows(_MAKE_CHANGES)
    return {
        "name": earlier[-1].crawl,
        "started": earlier[0].started,
        "by_text": by_text,
        "total": database.row(f"SELECT '' AS site, {_CHANGED} FROM changes"),
        "sites": database.rows(_CHANGED_SITES),
        "examples": database.rows(_CHANGED_PAGES),
    }
