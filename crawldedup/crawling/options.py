"""The options of a crawl, in addition to those of an index."""

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from crawldedup import checks
from crawldedup.aside import check_path
from crawldedup.errors import ConfigurationError
from crawldedup.journal import check_journal
from crawldedup.options import Options, check_similarity, option
from crawldedup.patterns import Pattern, check_patterns
from crawldedup.scope import site_of


def check_item_fields(name: str, value: Any) -> tuple[str, ...]:
    """Check a setting that names fields of items, and return the names.

    Raises ConfigurationError.
    """
    fields = value.split(",") if isinstance(value, str) and "[" not in value else value
    # No sets, because the order of the fields is the order of the text.
    is_list = isinstance(fields, list | tuple) and bool(fields)
    if not is_list or not all(isinstance(field, str) and field.strip() for field in fields):
        raise checks.refused(
            name, value, "a list of names of fields; on a command line, names with commas between"
        )
    return tuple(field.strip() for field in fields)


def check_sites(name: str, value: Any) -> frozenset[str]:
    """Check a setting that names sites, and return their registered domains.

    The sites are given as a list or separated by commas. Raises ConfigurationError.
    """
    names = filter(str.strip, value.split(",")) if isinstance(value, str) else value
    try:
        sites = frozenset(site_of(each if "//" in each else f"//{each.strip()}") for each in names)
    except (TypeError, AttributeError):
        sites = frozenset([""])
    if any(not site or re.search(r"[\s@?#]", site) for site in sites):
        raise checks.refused(
            name, value, "a list of sites, such as example.com; an empty list trusts none"
        )
    return sites


OWN_TEXT: Final = "own"
"""The value of the option `text` that leaves out lines which a site repeats on its pages."""


_SMALLEST_BUDGET: Final = 10


def _check_text(name: str, value: object) -> bool | str:
    """Return the checked setting `text`: True, False or `OWN_TEXT`. Raises ConfigurationError."""
    if value == OWN_TEXT:
        return OWN_TEXT
    try:
        is_wanted: bool = checks.flag(name, value)
    except ConfigurationError:
        raise checks.refused(name, value, f"True, False or {OWN_TEXT!r}") from None
    return is_wanted


def _check_budget(name: str, value: object) -> int | None:
    """Return the checked setting `budget`: a number of pages, or None for 0.

    Raises ConfigurationError.
    """
    if value == 0 and not isinstance(value, bool):
        return None
    try:
        pages: int = checks.whole(_SMALLEST_BUDGET)(name, value)
    except ConfigurationError:
        allowed = f"a whole number, at least {_SMALLEST_BUDGET}, or 0, which turns it off"
        raise checks.refused(name, value, allowed) from None
    return pages


def _report(name: str, value: object) -> str:
    from crawldedup.report.render import check_path

    check_path(name, Path(checks.string(name, value)))
    return str(value)


_option: Final = partial(option, owner="crawl")


def _optional(check: checks.Check, help: str, kind: type = str, owner: str = "crawl") -> Any:
    return option(None, checks.optional(check), help, owner=owner, kind=kind)


def _or_off(check: checks.Check) -> checks.Check:
    """Turn the check of a file into one that also accepts "", which becomes None."""
    return lambda name, value: None if value == "" else check(name, value)


def _word(default: str, allowed: str, help: str, owner: str = "crawl") -> Any:
    return option(default, checks.one_of(*allowed.split()), help, owner=owner)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlOptions(Options):
    """The options of a crawl, in addition to those of its index.

    Options whose owner is "request" can only be set in ``meta["crawldedup"]``.

    `namespace` is "default", not the project's BOT_NAME, so the library, the command line and
    Scrapy use the same index, and renaming a project doesn't lose it.
    """

    reloads: int = _option(
        0,
        checks.whole(0, 5),
        "The number of pages of each host that are loaded twice, so that the crawl can learn "
        "which lines and marks change with every load.",
    )
    enabled: bool = _option(True, checks.flag, "With False, crawldedup is turned off.")
    action: str = _word(
        "drop-items",
        "drop drop-items mark",
        "What happens to a duplicate: its items are dropped and its links are followed "
        "(drop-items), the whole page is dropped (drop), or it is only marked (mark).",
    )
    keep_per_cluster: int = _option(
        1,
        checks.whole(1),
        "The number of pages with the same content that are delivered, including the original.",
    )
    trusted_sites: frozenset[str] | None = _optional(
        check_sites,
        "The sites whose pages may cause others to be dropped. Duplicates of pages on any other "
        "site are delivered. With None, all sites are trusted.",
    )
    unchecked_urls: tuple[Pattern, ...] = _option(
        (),
        check_patterns,
        "Regular expressions for the URLs of pages that are not checked. Such pages are fetched "
        "after all others, and delivered even if they are copies.",
        kind=str,
    )
    prefer: tuple[Pattern, ...] | None = _optional(
        check_patterns,
        "Regular expressions for the URLs to prefer among several copies, best first. A better "
        "copy is delivered as well, and replaces the worse one in the index. With an empty list, "
        "the first copy is kept.",
    )
    canonical: str = _word(
        "compare",
        "ignore compare",
        "With compare, a page counts as a duplicate of the canonical page that it names even if "
        "the similarity is up to 0.1 too low. With ignore, the canonical page has no effect.",
        "request",
    )
    wall: str = _word(
        "warn",
        "warn close ignore",
        "What happens at a wall, such as a login form in place of pages: the crawl logs it "
        "(warn), stops crawling the site (close), or does nothing (ignore).",
    )
    revisit: str = _word(
        "keep",
        "keep drop",
        "With keep, a known page is delivered again. With drop, it is treated like a duplicate if "
        "it has not changed since an earlier crawl.",
    )
    revisit_similarity: float | None = _optional(
        check_similarity,
        "If revisit is drop, a page counts as unchanged if its text is at least this similar to "
        "the one that was delivered last. With None, the texts must be equal.",
        float,
    )
    text: bool | str = _option(
        False,
        _check_text,
        "Pass the main text and the name of each checked page to the callback, as crawldedup_text "
        "and crawldedup_name in the meta of the request. With own, lines that the site repeats on "
        "nearly all pages are left out of the text.",
    )
    set_aside: str | None = _optional(
        _or_off(check_path),
        "A file in which dropped items are saved, so that `crawldedup restore` can bring them "
        'back: "aside.jl.gz". Later crawls append to it. With "", items are not saved.',
    )
    remember: bool = _option(
        True, checks.flag, "With False, pages are looked up, but nothing is added to the index."
    )
    on_error: str = _word(
        "pass",
        "pass fail",
        "What happens while the store or a worker fails: pages pass unchecked (pass), or the "
        "crawl ends (fail).",
    )
    rules: str | None = _optional(
        checks.string,
        "A file with URL rules, which `crawldedup advise --output` writes. If a rule says that a "
        "URL leads to a copy, its request is skipped once a copy of that page is confirmed. One "
        "in twenty of these requests is sent as a check.",
    )
    postpone: bool = _option(
        True,
        checks.flag,
        "Fetch URLs that promise new content first: a URL waits behind others if the most recent "
        "pages of its pattern were copies. Nothing is skipped.",
    )
    budget: int | None = _optional(
        _check_budget,
        "The number of pages in a row without anything new after which a pattern of URLs ends. "
        "The rest of the pages of that pattern are skipped, except for samples. If a sample "
        "brings something new, the skipped pages are fetched after all. With None or 0, no "
        "pattern ends.",
        int,
    )
    workers: int = _optional(
        checks.whole(1),
        "The number of processes that read pages. With None, this number depends on the extractor "
        "and the number of cores.",
        int,
    )
    page_seconds: int = _option(
        30, checks.whole(1), "The number of seconds after which crawldedup gives up reading a page."
    )
    journal: str | bool = _option(
        "crawldedup",
        check_journal,
        "The directory for the journal of the crawl, from which reports are made. A relative path "
        "starts at the data directory of the project. With False, no journal is written.",
    )
    crawl: str | None = _optional(
        checks.namespace,
        "The name that all processes of one crawl share. With None, it consists of the name of "
        "the spider and the time.",
    )
    report: str | None = _optional(
        _or_off(_report),
        "A file to which a report is written when the crawl ends: a page (.html), data (.json), "
        'or a row for every verdict (.csv, .jsonl, .parquet). With "", no report is written.',
    )
    item_fields: tuple[str, ...] | None = _optional(
        check_item_fields,
        "The fields whose text decides whether two items are duplicates. This setting enables the "
        "item pipeline.",
        owner="items",
    )
    item_action: str = _word(
        "drop",
        "drop mark",
        "What happens to a duplicate item: it is dropped (drop), or its verdict is written into "
        "its fields (mark).",
        "items",
    )

    @property
    def similarity_of_revisits(self) -> float | None:
        """The minimum similarity at which a revisited page counts as unchanged.

        With None, texts have to be equal. This is always so if revisits are kept.
        """
        return self.revisit_similarity if self.revisit == "drop" else None
