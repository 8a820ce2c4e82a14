"""Where duplicates come from: sites, patterns of paths, parameters, and where nothing new comes any more."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from crawldedup.report.counts import JUDGED, Counts
from crawldedup.report.model import NAMELESS, Group
from crawldedup.report.overview import COUNTS

if TYPE_CHECKING:
    from crawldedup.report.database import Database

MOST_GROUPS: Final = 200
_PARAMETERS_OF_URL: Final = 30
"""Of one URL so many parameters count, or the few URLs that have more would fill the table."""
_LAST_PAGES: Final = 100
_LEAST_STALE: Final = 50
"""Judged pages without a new one before a place is called stale."""
_LEAST_TRAP_SHARE: Final = 0.5
_PAGES_OF_ONE_NEW: Final = 20
_COPIES_OF_ONE: Final = 5
"""Copies of each original on average, in a trap."""

_CALENDAR: Final = re.compile(r"calend|\bevents?\b|agenda|\{date\}", re.IGNORECASE)
_SESSION: Final = re.compile(r";\*|\{id\}|^(.*sess.*|.*token.*|sid|s|cfid|zenid|oscsid)$", re.IGNORECASE)
_DATE_NAME: Final = re.compile(r"^(date|day|month|year|week|from|to|start|end|ical|tribe-bar-date)$", re.IGNORECASE)


class Places(NamedTuple):
    """The groups of a crawl, those with the most pages first; `stale` are those without new pages."""

    sites: tuple[Group, ...]
    patterns: tuple[Group, ...]
    parameters: tuple[Group, ...]
    stale: tuple[Group, ...]


def places_of(database: Database) -> Places:
    """Return the pages by site, pattern and parameter."""
    sites = _groups(database, "site, '' AS name")
    patterns = tuple(
        replace(group, trap=_trap(group, group.name)) for group in _groups(database, "site, pattern AS name")
    )
    parameters = _parameters(database)
    stale = [group for group in patterns if group.since_new >= _LEAST_STALE]
    stale += [replace(group, name=f"?{group.name or NAMELESS}=") for group in parameters if group.trap]
    stale.sort(key=lambda group: (not group.trap, -group.since_new, -group.counts.pages))
    return Places(sites, patterns, parameters, tuple(stale[:MOST_GROUPS]))


def _groups(database: Database, keys: str) -> tuple[Group, ...]:
    judged = f"outcome IN {JUDGED}"
    database.connection.execute(
        f"""CREATE OR REPLACE TEMP TABLE biggest AS SELECT {keys}, {COUNTS}, coalesce(sum(bytes), 0) AS size,
            count(*) AS pages, max(moment) FILTER (outcome IN ('new', 'revisit')) AS last_own
        FROM places GROUP BY ALL ORDER BY pages DESC, site, name LIMIT {MOST_GROUPS}"""
    )
    rows = database.rows(
        f"""WITH named AS (SELECT {keys}, outcome, moment, original FROM places WHERE {judged}), lately AS (
            SELECT site, name, list_avg(max_by((outcome = 'new')::INTEGER, moment, {_LAST_PAGES})) AS recent,
                count(*) FILTER (moment > coalesce(last_own, -1)) AS since_new,
                approx_count_distinct(original) AS originals
            FROM named JOIN biggest USING (site, name) GROUP BY ALL
        )
        SELECT biggest.* EXCLUDE (pages, last_own), recent, coalesce(since_new, 0), coalesce(originals, 0)
        FROM biggest LEFT JOIN lately USING (site, name) ORDER BY pages DESC, site, name"""
    )
    return tuple(_group(*row) for row in rows)


def _group(site: str, name: str, *figures: Any) -> Group:
    *counts, size, recent, since_new, originals = figures
    return Group(site, name, Counts(*counts), int(size), recent, since_new, originals)


def _parameters(database: Database) -> tuple[Group, ...]:
    rows = database.rows(
        f"""WITH given AS (
            SELECT site, outcome, bytes,
                unnest(string_split(regexp_extract(url, '\\?([^#]*)', 1), '&')[:{_PARAMETERS_OF_URL}]) AS pair
            FROM places WHERE contains(url, '?')
        ), named AS (
            SELECT site, outcome, bytes, left(split_part(pair, '=', 1), 60) AS name, split_part(pair, '=', 2) AS value
            FROM given WHERE pair <> ''
        )
        SELECT site, name, {COUNTS}, coalesce(sum(bytes), 0), approx_count_distinct(value) AS different,
            avg(regexp_full_match(value, '\\d{{4}}-?\\d{{1,2}}(-?\\d{{1,2}})?')::INTEGER) AS dates,
            avg(regexp_full_match(value, '[0-9a-fA-F-]{{16,}}')::INTEGER) AS ids
        FROM named GROUP BY ALL ORDER BY count(*) DESC, site, name LIMIT {MOST_GROUPS}"""
    )
    groups = []
    for site, name, *figures in rows:
        *counts, size, values, dates, ids = figures
        kind = "{date}" if dates > _LEAST_TRAP_SHARE or _DATE_NAME.match(name) else name
        group = Group(site, name, Counts(*counts), int(size), values=values)
        # One value for some pages is a filter or a view; a value for each page is a trap.
        if values > max(_LEAST_STALE, group.counts.judged // 2) or kind == "{date}":
            group = replace(group, trap=_trap(group, "{id}" if ids > _LEAST_TRAP_SHARE else kind))
        groups.append(group)
    return tuple(groups)


def _trap(group: Group, kind: str) -> str:
    """Return the name of a trap: many pages of one kind, most of them copies, and nothing new at their end.

    Mirrors and print views are none: they have an end, for they repeat a page each. A revisit is no copy: the place has
    a text of its own there, as it had when the page was new.
    """
    counts = group.counts
    copies = counts.duplicates + counts.thin
    # When the last of them came is not known of parameters.
    own = counts.new + counts.revisit
    since_new = group.since_new if group.recent is not None else counts.judged - _PAGES_OF_ONE_NEW * own
    if since_new < _LEAST_STALE or copies < _LEAST_TRAP_SHARE * counts.checked:
        return ""
    if _SESSION.search(kind):
        return "session ids"
    if group.recent is not None and group.originals * _COPIES_OF_ONE > copies:
        return ""
    return "calendar" if _CALENDAR.search(kind) else "many URLs, few texts"
