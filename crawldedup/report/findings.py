"""What stands out in a report, in sentences: the most urgent first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from crawldedup.printable import pluralize
from crawldedup.report.model import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawldedup.report.model import Report

_LEVELS: Final = ("bad", "warn", "info")
_MOST_TRAPS: Final = 3
_SHARE_UNCHECKED: Final = 0.01
_SHARE_LARGEST: Final = 0.1
_LEAST_CLUSTER: Final = 50
_SHARE_NOVEL: Final = 0.1
_LAST_STEPS: Final = 5


def findings_of(report: Report) -> Report:
    """Return the report with its findings."""
    found = [*_trouble(report), *_traps(report), *_advice(report)]
    return replace(report, findings=tuple(sorted(found, key=lambda finding: _LEVELS.index(finding.level))))


def _trouble(report: Report) -> Iterator[Finding]:
    counts, crawl = report.totals.counts, report.crawl
    if not counts.checked:
        yield Finding("bad", "No page was checked.", "skipped")
    unchecked = counts.error
    if unchecked:
        level = "bad" if unchecked > _SHARE_UNCHECKED * counts.pages else "warn"
        yield Finding(level, f"{pluralize(unchecked, 'page')} passed unchecked, because something failed.", "skipped")
    for wall in report.walls[:_MOST_TRAPS]:
        share = f"{100 * wall.share:.0f} % of {wall.window} pages in a row were copies of"
        yield Finding("bad", f"A login wall, a ban or a soft 404 is likely: {share} {wall.url}.", "skipped")
    if not crawl.has_ended:
        missing = sum(process.end is None for process in crawl.processes)
        what = "the crawl" if len(crawl.processes) == 1 else f"{missing} of {len(crawl.processes)} processes"
        why = "still running, killed, or no room to write it"
        yield Finding("warn", f"No end of {what} is recorded: {why}.", "about")
    if crawl.left_out:
        yield Finding("warn", f"{pluralize(crawl.left_out, 'line')} of the journals could not be read.", "about")


def _traps(report: Report) -> Iterator[Finding]:
    traps = [group for group in report.stale if group.trap]
    for group in traps[:_MOST_TRAPS]:
        copies = group.counts.duplicates + group.counts.thin
        of_pages = f"{copies:,} of {pluralize(group.counts.checked, 'page')}"
        text = f"A trap ({group.trap}): {of_pages} at {group.site}{group.name} are copies or nearly empty."
        yield Finding("warn", text, "stale")
    moments = [moment.counts for moment in report.timeline.moments[-_LAST_STEPS:]]
    checked, new = sum(counts.checked for counts in moments), sum(counts.new for counts in moments)
    if len(report.timeline.moments) > 2 * _LAST_STEPS and checked:
        own = new + sum(counts.revisit for counts in moments)
        if own < _SHARE_NOVEL * checked:
            yield Finding(
                "warn", f"At the end of the crawl, {100 * new / checked:.1f} % of the pages were new.", "time"
            )


def _advice(report: Report) -> Iterator[Finding]:
    counts = report.totals.counts
    if report.clusters:
        largest = report.clusters[0]
        if largest.size >= max(_LEAST_CLUSTER, _SHARE_LARGEST * counts.duplicates):
            yield Finding("info", f"The largest cluster has {largest.size:,} copies of {largest.kept}.", "clusters")
    if report.advice:
        saved = sum(rule.support for rule in report.advice)
        rules = pluralize(len(report.advice), "URL rule")
        yield Finding(
            "info",
            f"{rules} would have saved copies of {saved:,} contents: `crawldedup advise --output rules.json` writes "
            "them for CRAWLDEDUP_RULES.",
            "advice",
        )
    if report.withdrawn:
        named = "; ".join(report.withdrawn[:_MOST_TRAPS])
        text = f"{pluralize(len(report.withdrawn), 'URL rule')} proved wrong and was left out, such as {named}."
        yield Finding("warn", f"{text} `crawldedup advise` writes rules without it.", "advice")
    if report.totals.across_sites:
        text = f"{pluralize(report.totals.across_sites, 'duplicate')} of a page on another site: mirrors or partners."
        yield Finding("info", text, "sites")
