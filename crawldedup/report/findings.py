"""What stands out in a report, in sentences: the most urgent first."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from crawldedup.printable import pluralize

_LEVELS: Final = ("bad", "warn", "info")
_MOST_NAMED: Final = 3
_SHARE_UNCHECKED: Final = 0.01
_SHARE_LARGEST: Final = 0.1
_LEAST_CLUSTER: Final = 50
_SHARE_NOVEL: Final = 0.1
_LAST_STEPS: Final = 5

_Finding = tuple[str, str, str]
"""How urgent it is, its sentence, and the section that shows more of it."""


def findings_of(report: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the findings of a report."""
    findings = [*_trouble(report), *_traps(report), *_advice(report)]
    findings.sort(key=lambda finding: _LEVELS.index(finding[0]))
    return [dict(zip(("level", "text", "section"), finding, strict=True)) for finding in findings]


def _trouble(report: Mapping[str, Any]) -> Iterator[_Finding]:
    totals, crawl = report["totals"], report["crawl"]
    if not totals["checked"]:
        yield "bad", "No page was checked.", "skipped"
    if unchecked := totals["counts"]["error"]:
        level = "bad" if unchecked > _SHARE_UNCHECKED * totals["responses"] else "warn"
        yield level, f"{pluralize(unchecked, 'page')} passed unchecked, because something failed.", "skipped"
    for wall in report["walls"][:_MOST_NAMED]:
        share = f"{100 * wall['share']:.0f} % of {wall['window']} pages in a row were copies of"
        yield "bad", f"A login wall, a ban or a soft 404 is likely: {share} {wall['url']}.", "skipped"
    if missing := sum(process["end"] is None for process in crawl["processes"]):
        count = len(crawl["processes"])
        what = "the crawl" if count == 1 else f"{missing} of {count} processes"
        yield "warn", f"No end of {what} is recorded: still running, killed, or no room to write it.", "about"
    if crawl["left_out"]:
        yield "warn", f"{pluralize(crawl['left_out'], 'line')} of the journals could not be read.", "about"


def _traps(report: Mapping[str, Any]) -> Iterator[_Finding]:
    traps = [group for group in report["stale"] if group["trap"]]
    for group in traps[:_MOST_NAMED]:
        copies = group["duplicates"] + group["counts"]["thin"]
        of_pages = f"{copies:,} of {pluralize(group['checked'], 'page')}"
        place = f"{group['site']}{group['name']}"
        yield "warn", f"A trap ({group['trap']}): {of_pages} at {place} are copies or nearly empty.", "stale"
    moments = report["timeline"]["moments"]
    last = moments[-_LAST_STEPS:]
    pages, new = sum(moment["checked"] for moment in last), sum(moment["counts"]["new"] for moment in last)
    own = new + sum(moment["counts"]["revisit"] for moment in last)
    if len(moments) > 2 * _LAST_STEPS and own < _SHARE_NOVEL * pages:
        yield "warn", f"At the end of the crawl, {100 * new / pages:.1f} % of the pages were new.", "time"


def _advice(report: Mapping[str, Any]) -> Iterator[_Finding]:
    totals, advice, withdrawn = report["totals"], report["advice"], report["withdrawn"]
    for largest in report["clusters"][:1]:
        if (copies := largest["copies"]) >= max(_LEAST_CLUSTER, _SHARE_LARGEST * totals["duplicates"]):
            yield "info", f"The largest cluster has {copies:,} copies of {largest['kept']}.", "clusters"
    if advice:
        saved = sum(rule["support"] for rule in advice)
        what = f"{pluralize(len(advice), 'URL rule')} would have saved copies of {saved:,} contents"
        how = "`crawldedup advise --output rules.json` writes them for CRAWLDEDUP_RULES"
        yield "info", f"{what}: {how}.", "advice"
    if withdrawn:
        text = f"{pluralize(len(withdrawn), 'URL rule')} proved wrong and was left out: {_named(withdrawn)}."
        yield "warn", f"{text} `crawldedup advise` writes rules without it.", "advice"
    if volatile := _named(report["volatile"]):
        yield "info", f"Left out as volatile, since their numbers change with every load: {volatile}.", "volatile"
    if views := sum(row["by_query"] for row in report["below"]):
        text = f"{pluralize(views, 'new page')} nearly match a page whose URL differs in its query alone."
        yield "info", f"{text} See what keeps them apart.", "below"
    variants = [f"{row['name']} at {row['site']}: {row['values']} values, same text" for row in report["variants"]]
    if variants:
        how = "If these show other pictures, CRAWLDEDUP_DISTINGUISH_PARAMS keeps them apart."
        yield "info", f"Parameter {_named(variants)}. {how}", "sites"
    if totals["across_sites"]:
        copies = pluralize(totals["across_sites"], "duplicate")
        yield "info", f"{copies} of a page on another site: mirrors or partners.", "sites"


def _named(texts: Sequence[str]) -> str:
    more = [f"and {len(texts) - _MOST_NAMED} more"] if len(texts) > _MOST_NAMED else []
    return "; ".join([*texts[:_MOST_NAMED], *more])
