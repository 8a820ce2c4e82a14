"""Find out what a report shows that needs attention, and put the most urgent first."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from crawldedup.text import pluralize

_LEVELS: Final = ("bad", "warn", "info")
_MOST_NAMED: Final = 3
_LAST_STEPS: Final = 5
_MANY_ALIKE: Final = 50
_LONGEST_PLACE: Final = 60
_ENOUGH_PAGES: Final = 20
# An error status is reported if it came this often, or if it came less often, but with this share
# of the responses.
_MANY_REFUSALS: Final = 1000
_LEAST_REFUSALS: Final = 20
_SHARE_REFUSED: Final = 0.2
_GONE: Final = (404, 410)
# Sites also send these statuses to visitors that they take for robots.
_REFUSED: Final = (401, 403, 407, 429, 503)
_MOST_OF_THEM: Final = 0.8
_TRAPS_WITH_CAUSE: Final = ("calendar", "session ids")
"""Kinds of traps with a known cause. For others, only many URLs with few texts were seen."""


class Finding(NamedTuple):
    """Something in a report that a user should look at."""

    level: str  #: How urgent it is: "bad", "warn" or "info".
    text: str  #: A sentence or two.
    section: str  #: The section of the page with the details.


def findings_of(report: Mapping[str, Any]) -> list[Finding]:
    """Return everything in a report that a user should look at, most urgent first."""
    found = [
        *_trouble(report),
        *_refusals(report),
        *_one_page(report),
        *_doubtful(report),
        *_traps(report),
        *_siblings(report),
        *_savings(report),
        *_hints(report),
    ]
    return sorted(found, key=lambda finding: _LEVELS.index(finding.level))


def _trouble(report: Mapping[str, Any]) -> Iterator[Finding]:
    """Report what went wrong: pages that passed unchecked, walls, and gaps in the journals."""
    totals = report["totals"]
    crawl = report["crawl"]
    if not totals["checked"]:
        yield Finding("bad", "No page was checked.", "skipped")
    for site in report["shells"][:_MOST_NAMED]:
        yield Finding(
            "warn",
            f"{pluralize(site['pages'], 'page')} at {site['site']}, such as {site['url']}, passed "
            "unchecked, because a script has yet to fill them: the crawl needs a browser.",
            "skipped",
        )
    if unchecked := totals["counts"]["error"]:
        level = "bad" if unchecked > 0.01 * totals["responses"] else "warn"
        yield Finding(
            level,
            f"{pluralize(unchecked, 'page')} passed unchecked, because something failed.",
            "skipped",
        )
    walls = [wall for wall in report["walls"] if not _is_trap(wall, report)]
    for wall in walls[:_MOST_NAMED]:
        share = f"{100 * wall['share']:.0f}% of {wall['window']} pages in a row read like"
        yield Finding(
            "bad",
            f"A login wall, a ban or a soft 404 is likely: {share} {wall['url']}.",
            "walls",
        )
    if missing := sum(process["end"] is None for process in crawl["processes"]):
        count = len(crawl["processes"])
        what = "the crawl" if count == 1 else f"{missing} of {count} processes"
        yield Finding(
            "warn",
            f"No end of {what} is recorded: still running, killed, or no space left to write it.",
            "about",
        )
    if crawl["left_out"]:
        yield Finding(
            "warn",
            f"{pluralize(crawl['left_out'], 'line')} of the journals could not be read.",
            "about",
        )


def _is_trap(wall: Mapping[str, Any], report: Mapping[str, Any]) -> bool:
    """Return whether a suspected wall is explained by a trap that is reported anyway.

    A wall also brings many copies at once, so this only applies to traps whose addresses show their
    cause: dates, sessions, or paths that grow.
    """
    traps = [group for group in report["stale"] if group["trap"]][:_MOST_NAMED]
    return any(
        wall["place"] == f"{group['site']}{group['name']}"
        and (group["trap"] in _TRAPS_WITH_CAUSE or group["name"].endswith("…"))
        for group in traps
    )


def _refusals(report: Mapping[str, Any]) -> Iterator[Finding]:
    """Report the error statuses that servers often sent instead of pages."""
    responses = report["totals"]["responses"]
    for row in report["refusals"][:_MOST_NAMED]:
        pages = row["pages"]
        is_large_share = pages >= max(_LEAST_REFUSALS, _SHARE_REFUSED * responses)
        if pages < _MANY_REFUSALS and not is_large_share:
            continue
        linked = f", which {row['referer']} links to" if row["referer"] else ""
        place = row["place"][:_LONGEST_PLACE]
        text = (
            f"{pages:,} of {pluralize(responses, 'response')} had the status {row['status']}, "
            f"{row['there']:,} of them at {place}: see {row['url']}{linked}."
        )
        if row["status"] in _GONE:
            text += " Each dead link costs a download."
        elif row["status"] in _REFUSED:
            text += " Likely causes are a ban, a login, or a crawl that is too fast."
        yield Finding("warn", text, "skipped")


def _doubtful(report: Mapping[str, Any]) -> Iterator[Finding]:
    """Report clusters whose pages may only share a template, so their duplicates may be false."""
    for cluster in report["doubtful"][:_MOST_NAMED]:
        yield Finding(
            "warn",
            f"{pluralize(cluster['copies'], 'page')} count as copies of {cluster['kept']}, though "
            f"none has the same text and half of them have at most {cluster['words']} words. They "
            "may have different content: `crawldedup compare` shows how "
            f"{cluster['example']} differs.",
            "clusters",
        )


def _one_page(report: Mapping[str, Any]) -> Iterator[Finding]:
    """Report a page that nearly all others are copies of, unless another finding explains it."""
    if not _is_one_page(report):
        return
    cluster = report["clusters"][0]
    checked = report["totals"]["checked"]
    kept = cluster["kept"]
    copies = cluster["copies"]
    urls = [url for member in cluster["members"] for url in (member["url"], member["original"])]
    others = [url for url in urls if url and url != kept]
    pair = ""
    if others:
        pair = f" `crawldedup compare` shows what it has in common with {others[0]}."
    yield Finding(
        "bad",
        f"{copies:,} of {pluralize(checked, 'checked page')} are copies of one page, {kept}. "
        "Likely causes are a shell that a script fills, a wall, an error page sent with status "
        f"200, or pictures that are not told apart.{pair}",
        "clusters",
    )


def _is_one_page(report: Mapping[str, Any]) -> bool:
    """Return whether nearly all pages are copies of one page, and no wall or trap explains it."""
    checked = report["totals"]["checked"]
    if checked < _ENOUGH_PAGES or not report["clusters"]:
        return False
    largest = report["clusters"][0]
    if largest["copies"] < _MOST_OF_THEM * checked:
        return False
    is_wall = largest["kept"] in {wall["url"] for wall in report["walls"]}
    is_trap = any(
        group["trap"] in _TRAPS_WITH_CAUSE and _has_copies_of(largest, group)
        for group in report["stale"]
    )
    return not (is_wall or is_trap)


def _has_copies_of(cluster: Mapping[str, Any], group: Mapping[str, Any]) -> bool:
    """Return whether a group probably contains most of the copies of a cluster.

    It does if it has more than half as many duplicates as the cluster has copies.
    """
    return bool(2 * group["duplicates"] > cluster["copies"])


def _traps(report: Mapping[str, Any]) -> Iterator[Finding]:
    """Report traps, and whether hardly anything was new at the end of the crawl."""
    traps = _different_traps([group for group in report["stale"] if group["trap"]])
    if _is_one_page(report):
        traps = [group for group in traps if not _has_copies_of(report["clusters"][0], group)]
    for group in traps[:_MOST_NAMED]:
        yield Finding("warn", _text_of_trap(group), "stale")
    if more := traps[_MOST_NAMED:]:
        pages = pluralize(sum(group["checked"] for group in more), "page")
        text = f"{pluralize(len(more), 'more trap')} with {pages}: the report as a page lists them."
        yield Finding("warn", text, "stale")
    moments = report["timeline"]["moments"]
    last = moments[-_LAST_STEPS:]
    pages = sum(moment["checked"] for moment in last)
    hardly = sum(moment["hardly_apart"] for moment in last)
    new = sum(moment["counts"]["new"] for moment in last) - hardly
    own = new + sum(moment["counts"]["revisit"] for moment in last)
    if len(moments) > 2 * _LAST_STEPS and own < 0.1 * pages:
        besides = f", not counting {hardly:,} that hardly differ from others" if hardly else ""
        share = f"{100 * new / pages:.1f}% of the pages were" if new else "none of the pages was"
        yield Finding("warn", f"At the end of the crawl, {share} new{besides}.", "time")


def _different_traps(groups: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the traps, but no two with the same pages, as a pattern and a parameter may have.

    Of these, the one that names a cause stays, or else the first one.
    """
    traps: list[Mapping[str, Any]] = []
    for group in sorted(groups, key=lambda group: group["trap"] not in _TRAPS_WITH_CAUSE):
        if not any(_are_same_pages(group, trap) for trap in traps):
            traps.append(group)
    return [group for group in groups if group in traps]


def _are_same_pages(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether a URL pattern and a parameter of the same site cover the same pages.

    They count as the same if their numbers of pages and of duplicates differ by at most 2%. They
    may differ a little, because a pattern also covers URLs without a query. Two patterns, or two
    parameters, never count as the same.
    """
    is_parameter, is_other = (group["name"].startswith("?") for group in (one, other))
    if one["site"] != other["site"] or is_parameter == is_other:
        return False
    few = 0.02 * one["checked"]
    return all(abs(one[name] - other[name]) <= few for name in ("checked", "duplicates"))


def _text_of_trap(group: Mapping[str, Any]) -> str:
    """Describe a trap in a sentence or two.

    Pages that were kept apart only by their texts or links may have different content, so they are
    counted separately.
    """
    hardly = group["hardly_apart"]
    copies = group["duplicates"] + group["counts"]["thin"]
    place = f"{group['site']}{group['name']}"
    pages = pluralize(group["checked"], "page")
    rest = group["checked"] - copies - hardly
    if not hardly and not rest:
        return f"A trap ({group['trap']}): all {pages} at {place} are copies or nearly empty."
    if not hardly:
        text = f"{copies:,} of {pages} at {place} are copies or nearly empty"
        return f"A trap ({group['trap']}): {text}; {rest:,} {'is' if rest == 1 else 'are'} not."
    text = f"{hardly:,} of {pages} at {place} hardly differ from others and were kept"
    return (
        f"A trap ({group['trap']}), or content that shares most of its text: {text}, "
        f"{copies:,} are copies or nearly empty, and {rest:,} are neither."
    )


def _siblings(report: Mapping[str, Any]) -> Iterator[Finding]:
    """Report pages that were often kept apart by little, or by a mark that may change."""
    walls = {wall["url"] for wall in report["walls"]}
    for first in report["alike"][:1]:
        is_large = first["pages"] >= max(_MANY_ALIKE, 0.1 * report["totals"]["checked"])
        if is_large and first["url"] not in walls:
            text = f"{first['pages']:,} pages differ from {first['url']} or from each other only"
            yield Finding("info", f"{text} in their texts or links, and were kept.", "apart")
    # Several folders of a host may need the same setting.
    by_setting: dict[str, list[Mapping[str, Any]]] = {}
    for each in report["ignorable"]:
        by_setting.setdefault(each["setting"], []).append(each)
    for setting, alike in [*by_setting.items()][:_MOST_NAMED]:
        pages = pluralize(sum(each["same_text"] for each in alike), "page")
        places = [f"{each['site']}{each['name']}"[:_LONGEST_PLACE] for each in alike]
        what = f"but {alike[0]['what']}. If they are copies, {setting} drops them"
        yield Finding(
            "info",
            f"{pages} at {_named(places)} have the text of another page, {what}: look at a pair "
            "first.",
            "apart",
        )


def _savings(report: Mapping[str, Any]) -> Iterator[Finding]:
    """Report rules and budgets that save downloads, and rules that proved wrong."""
    advice = report["advice"]
    withdrawn = report["withdrawn"]
    if advice:
        downloads = pluralize(report["advice_saves"], "download")
        what = f"{pluralize(len(advice), 'URL rule')} would have saved {downloads}"
        how = "`crawldedup advise --output rules.json` writes them for CRAWLDEDUP_RULES"
        yield Finding("info", f"{what}: {how}.", "advice")
    if ended := report["ended"]:
        patterns = _named([row["pattern"] for row in ended])
        all_of_them = " The report as a page lists them all." if len(ended) > _MOST_NAMED else ""
        yield Finding(
            "info",
            f"{pluralize(len(ended), 'URL pattern')} ended because the last pages brought "
            f"nothing new (CRAWLDEDUP_BUDGET): {patterns}.{all_of_them}",
            "advice",
        )
    if withdrawn:
        is_one = len(withdrawn) == 1
        text = (
            f"{pluralize(len(withdrawn), 'URL rule')} proved wrong and "
            f"{'was' if is_one else 'were'} left out: {_named(withdrawn)}. `crawldedup advise` "
            f"writes rules without {'it' if is_one else 'them'}."
        )
        yield Finding("warn", text, "advice")


def _hints(report: Mapping[str, Any]) -> Iterator[Finding]:
    """Report what may be worth a look: large clusters, volatile numbers, views and parameters."""
    totals = report["totals"]
    for largest in report["clusters"][:1]:
        if _is_one_page(report):
            continue
        if (copies := largest["copies"]) >= max(50, 0.1 * totals["duplicates"]):
            yield Finding(
                "info",
                f"The largest cluster has {copies:,} copies of {largest['kept']}.",
                "clusters",
            )
    if volatile := _named(report["volatile"]):
        yield Finding(
            "info",
            f"Some numbers change with every load, so they are not compared: {volatile}",
            "volatile",
        )
    if views := sum(row["by_query"] for row in report["below"]):
        text = (
            f"{pluralize(views, 'new page')} nearly {'matches' if views == 1 else 'match'} a page "
            "whose URL differs only in its query."
        )
        yield Finding("info", f"{text} See what keeps them apart.", "below")
    variants = [
        f"{row['name']} at {row['site']}: {row['values']} values, same text"
        for row in report["variants"]
    ]
    if variants:
        how = "If these show different pictures, CRAWLDEDUP_DISTINGUISH_PARAMS keeps them apart."
        yield Finding("info", f"Parameter {_named(variants)}. {how}", "sites")
    if totals["across_sites"]:
        copies = pluralize(totals["across_sites"], "duplicate")
        yield Finding("info", f"{copies} of a page on another site: mirrors or partners.", "sites")


def _named(texts: Sequence[str]) -> str:
    more = [f"and {len(texts) - _MOST_NAMED} more"] if len(texts) > _MOST_NAMED else []
    return "; ".join([*texts[:_MOST_NAMED], *more])
