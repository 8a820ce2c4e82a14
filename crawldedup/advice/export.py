"""Write rules for other tools: duplicate-url-discarder, and the link extractors of Scrapy.

Patterns may excuse each other: each leaves a link that another one denies. So each is tried with those that were
accepted before it: by the links of the journal, a crawl must still reach all contents.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from crawldedup.advice.address import Address, name_of
from crawldedup.advice.evidence import UNTOLD, Page, walk
from crawldedup.advice.rules import Rule
from crawldedup.printable import pluralize

_ORDER: Final = 100
# What means something in a pattern of url-matcher is left out.
_PLAIN: Final = re.compile(r"[^*|?#%+\s]*")

Written = tuple[Any, Callable[[Address], Address | None]]
"""A rule as a tool reads it, and what the tool makes of an address: that of another page, or None for a denied one."""


@dataclass
class Export:
    """Rules as a tool reads them, how many pages of the crawl they `save`, and why others are left out, by name."""

    rules: list[Any] = field(default_factory=list)
    saved: int = 0
    left_out: dict[str, str] = field(default_factory=dict)


def export(rules: Iterable[Rule], pages: Sequence[Page], written: Callable[[Rule], Written | None]) -> Export:
    """Return the rules that can be written for a tool, and that cost none of the contents of these pages."""
    exported = Export()
    addresses: list[Address | None] = [page.address for page in pages]
    fetched = walk(pages, (page.key for page in pages)).fetched
    is_linked = 2 * sum(page.referer == UNTOLD for page in pages) <= len(pages)
    for rule in rules:
        if (pair := written(rule)) is None:
            exported.left_out[rule.name] = "the tool can only remove parts of URLs"
        elif not is_linked:
            exported.left_out[rule.name] = "the journal does not tell which links lead to its pages"
        else:
            plain, rewrite = pair
            tried = [address and rewrite(address) for address in addresses]
            would = walk(pages, (address and address.key() for address in tried))
            if would.lost:
                (page, _), *_ = would.lost.values()
                cost = f"it would cost {pluralize(len(would.lost), 'content')}, such as {page.address.url()}"
                exported.left_out[rule.name] = cost
            else:
                exported.rules.append(plain)
                exported.saved += fetched - would.fetched
                addresses, fetched = tried, would.fetched
    return exported


# --- duplicate-url-discarder


def for_discarder(rule: Rule) -> Written | None:
    """Return a rule as duplicate-url-discarder's files have it; None for one that does not only remove something."""
    # Its patterns are for all that is below a folder, so they name none whose numbers differ, and not the whole site.
    folders = sorted({re.sub(r"[^/]*0.*", "", folder) for folder in rule.folders} - {"/"})
    if not all(map(_PLAIN.fullmatch, (rule.site, rule.find, *folders))):
        return None
    if rule.kind == "query" and folders:
        parts = rule.find.split("&")
        asked = "&".join(part if "=" in part else f"{part}=*" for part in parts)
        pattern = {"include": [f"{rule.site}{folder}?{asked}" for folder in folders]}
        return _processed("queryRemoval", pattern, [name_of(part) for part in parts]), _below(rule, *folders)
    if rule.kind != "prefix":
        return None
    found, left = (text.split("/")[1:-1] for text in (rule.find, rule.replace))
    start = next((at for at, pair in enumerate(zip(found, left, strict=False)) if pair[0] != pair[1]), len(left))
    count = len(found) - len(left)
    if count <= 0 or found[:start] + found[start + count :] != left:
        return None
    # The folder itself is no page that the rule is about.
    pattern = {"include": [f"{rule.site}{rule.find}"], "exclude": [f"{rule.site}{rule.find}|"]}
    return _processed("subpathRemoval", pattern, list(range(start, start + count))), _below(rule, rule.find)


def _processed(processor: str, pattern: dict[str, Any], arguments: list[Any]) -> dict[str, Any]:
    return {"order": _ORDER, "processor": processor, "urlPattern": pattern, "args": arguments}


def _below(rule: Rule, *folders: str) -> Callable[[Address], Address]:
    """Return what a rule makes of addresses in all that is below folders."""
    everywhere = replace(rule, folders=frozenset(), exceptions=frozenset())
    return lambda address: (everywhere.rewritten(address) if address.path.startswith(folders) else None) or address


# --- Link extractors


def for_link_extractor(rule: Rule) -> Written:
    """Return a regular expression for the `deny` of a LinkExtractor."""
    folders = "|".join(re.escape(folder).replace("0", r"\d+") for folder in sorted(rule.folders))
    begin, find = rf"^{re.escape(rule.site)}(?=(?:{folders})[^/?#]*/?(?:[?#]|$))", re.escape(rule.find)
    match rule.kind:
        case "query":
            pattern = rf"{begin}[^?#]*\?" + "".join(map(_asked, rule.find.split("&")))
        case "prefix":
            pattern = rf"{begin}{find}[^?#]"
        case "suffix":
            pattern = rf"{begin}[^?#]*{find}(?:[?#]|$)"
        case "session":
            pattern = rf"{begin}[^?#]*(?i:{find})="
        case _:
            pattern = begin
    denied = re.compile(pattern)
    return pattern, lambda address: None if denied.search(address.url()) else address


def _asked(part: str) -> str:
    """Return a pattern for a parameter, with its value if that counts, at any place of a query."""
    end = r"(?:[&#]|$)" if "=" in part else r"(?:[=&#]|$)"
    return rf"(?=(?:[^#]*&)?{re.escape(part)}{end})"
