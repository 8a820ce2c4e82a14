"""The options of a crawl, beside those of an index."""

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
    """Return the names of the fields that a setting gives. Raises ConfigurationError."""
    fields = value.split(",") if isinstance(value, str) and "[" not in value else value
    # No sets: the order of the fields is the order of the text.
    is_list = isinstance(fields, list | tuple) and bool(fields)
    if not is_list or not all(isinstance(field, str) and field.strip() for field in fields):
        raise checks.refused(
            name, value, "a list of names of fields; on a command line, names with commas between"
        )
    return tuple(field.strip() for field in fields)


def check_sites(name: str, value: Any) -> frozenset[str]:
    """Check for sites in a list, or in a text with commas between them; return their registered
    domains.
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
"""The value of `text` that leaves out what a site repeats."""


def _check_text(name: str, value: object) -> bool | str:
    """Return whether texts are wanted, or `OWN_TEXT`. Raises ConfigurationError."""
    if value == OWN_TEXT:
        return OWN_TEXT
    try:
        is_wanted: bool = checks.flag(name, value)
    except ConfigurationError:
        raise checks.refused(name, value, f"True, False or {OWN_TEXT!r}") from None
    return is_wanted


def _report(name: str, value: object) -> str:
    from crawldedup.report.render import check_path

    check_path(name, Path(checks.string(name, value)))
    return str(value)


_option: Final = partial(option, owner="crawl")


def _optional(check: checks.Check, help: str, kind: type = str, owner: str = "crawl") -> Any:
    return option(None, checks.optional(check), help, owner=owner, kind=kind)


def _word(default: str, allowed: str, help: str, owner: str = "crawl") -> Any:
    return option(default, checks.one_of(*allowed.split()), help, owner=owner)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlOptions(Options):
    """The options of a crawl beside those of its index.

    Those of owner "request" stand in ``meta["crawldedup"]`` only.

    `namespace` is "default" and not the project's BOT_NAME: the library, the command line and
    Scrapy look at the same index, and renaming a project does not lose it.
    """

    reloads: int = _option(
        0,
        checks.whole(0, 5),
        "Load so many pages of each host twice, to learn which lines and marks change with every "
        "load.",
    )
    enabled: bool = _option(True, checks.flag, "Switch the plugin off with False.")
    action: str = _word(
        "drop-items",
        "drop drop-items mark",
        "What happens to a duplicate: drop its items and follow its links (drop-items), drop the "
        "page, or mark it.",
    )
    keep_per_cluster: int = _option(
        1, checks.whole(1), "Let this many pages of one content pass, the original too."
    )
    trusted_sites: frozenset[str] | None = _optional(
        check_sites,
        "Sites that may own a text: duplicates of other sites' pages pass. None trusts all.",
    )
    unchecked_urls: tuple[Pattern, ...] = _option(
        (),
        check_patterns,
        "Regular expressions of URLs whose pages are not checked: these are fetched after all "
        "others, and delivered even if they are copies.",
        kind=str,
    )
    prefer: tuple[Pattern, ...] | None = _optional(
        check_patterns,
        "Regular expressions of the URLs to keep of several copies, best first. A better copy "
        "takes the place of a worse one that was delivered, and is delivered, too. An empty list "
        "keeps the first copy.",
    )
    canonical: str = _word(
        "compare",
        "ignore compare",
        "With compare, a page's word on its canonical page counts: it is a duplicate of that page "
        "from a similarity on that is 0.1 lower. With ignore it does not count.",
        "request",
    )
    wall: str = _word(
        "warn",
        "warn close ignore",
        "At a wall, such as a login form: log it, or crawl no more of the site (close).",
    )
    revisit: str = _word(
        "keep",
        "keep drop",
        "With drop, a page that an earlier crawl saw with the same text is treated as a duplicate.",
    )
    revisit_similarity: float | None = _optional(
        check_similarity,
        "With revisit drop, a page counts as unchanged if it is at least so similar to the text "
        "that was delivered last. None asks for equal texts.",
        float,
    )
    text: bool | str = _option(
        False,
        _check_text,
        "Leave the main text of each checked page, and its name, for the callback: in the meta of "
        "its request, as crawldedup_text and crawldedup_name. With own, the text is without the "
        "lines that its site repeats on nearly all pages.",
    )
    set_aside: str | None = _optional(
        check_path,
        "Keep the items that are dropped in this file, from which `crawldedup restore` brings them "
        'back: "aside.jl.gz". It is appended to.',
    )
    remember: bool = _option(
        True, checks.flag, "With False, pages are looked up and nothing is added."
    )
    on_error: str = _word(
        "pass",
        "pass fail",
        "While the store or a worker fails: let pages pass unchecked, or end the crawl (fail).",
    )
    rules: str | None = _optional(
        checks.string,
        "A file of URL rules, which `crawldedup advise --output` writes. Requests that a rule "
        "calls copies are skipped once a copy of their page is confirmed, and one in twenty of "
        "them is fetched as a check.",
    )
    postpone: bool = _option(
        True,
        checks.flag,
        "Fetch first what promises new content: a URL waits behind others if the last pages of "
        "its pattern were copies. Nothing is skipped.",
    )
    budget: int | None = _optional(
        checks.whole(10),
        "A pattern of URLs ends once so many of its pages in a row brought nothing new: the others "
        "are skipped but for checks, and fetched after all if one of them brings something new. "
        "None ends no pattern.",
        int,
    )
    workers: int = _optional(
        checks.whole(1), "So many processes read pages. None chooses by extractor and cores.", int
    )
    page_seconds: int = _option(30, checks.whole(1), "Give up a page that takes longer to read.")
    journal: str | bool = _option(
        "crawldedup",
        check_journal,
        "The directory that the crawl writes its journal into, of which reports are made. A "
        "relative path is below the project's data directory. False writes none.",
    )
    crawl: str | None = _optional(
        checks.namespace,
        "The name that the processes of one crawl share. None takes the spider's name and the "
        "time.",
    )
    report: str | None = _optional(
        _report,
        "Write a report of the crawl into this file at its end: a page (.html), data (.json), or "
        "every verdict as a row (.csv, .jsonl, .parquet).",
    )
    item_fields: tuple[str, ...] | None = _optional(
        check_item_fields,
        "The fields whose text makes two items duplicates. Setting it adds the item pipeline.",
        owner="items",
    )
    item_action: str = _word(
        "drop",
        "drop mark",
        "What happens to a duplicate item: drop it, or write the verdict into its fields.",
        "items",
    )

    @property
    def similarity_of_revisits(self) -> float | None:
        """The least similarity of an unchanged revisit; None asks for equal texts, as where
        revisits are kept.
        """
        return self.revisit_similarity if self.revisit == "drop" else None
