"""Make the report of a crawl from its journals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawldedup.report import clusters, overview
from crawldedup.report.comparison import EARLIER, comparison_of, have_one_index, make_changes
from crawldedup.report.findings import findings_of
from crawldedup.report.model import Report
from crawldedup.report.places import places_of
from crawldedup.report.similarity import similarity_of
from crawldedup.report.timeline import timeline_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawldedup.journal import Journal
    from crawldedup.report.database import Database
    from crawldedup.report.model import Advice


def make_report(
    database: Database,
    journals: Sequence[Journal],
    against: Sequence[Journal] = (),
    advice: Sequence[Advice] = (),
) -> Report:
    """Load the journals of a crawl, and of an earlier one to compare it with, and return the report.

    Raises ReportError where there is too little memory or disk.
    """
    left_out = database.load(journals)
    comparison = None
    if against:
        left_out += database.load(against, EARLIER)
        with database.doing("comparing the crawls"):
            by_text = have_one_index((*journals, *against))
            make_changes(database, by_text=by_text)
            comparison = comparison_of(database, against, by_text=by_text)
    with database.doing("counting"):
        crawl = overview.crawl_of(database, journals, left_out)
        timeline = timeline_of(database, crawl.seconds)
    with database.doing("finding clusters"):
        totals = overview.totals_of(database, clusters.make_clusters(database))
        largest = clusters.clusters_of(database)
    with database.doing("grouping pages"):
        places = places_of(database)
    with database.doing("measuring"):
        report = Report(
            crawl=crawl,
            totals=totals,
            findings=(),
            timeline=timeline,
            stale=places.stale,
            sites=places.sites,
            patterns=places.patterns,
            parameters=places.parameters,
            similarity=similarity_of(database, crawl),
            clusters=largest,
            reasons=overview.reasons_of(database),
            walls=overview.walls_of(database),
            index=overview.index_of(database, journals),
            times=overview.times_of(database),
            stats=overview.stats_of(database),
            comparison=comparison,
            advice=tuple(advice),
            savings=overview.savings_of(database),
            withdrawn=overview.withdrawn_of(database),
        )
    return findings_of(report)
