"""Write rules for other tools: duplicate-url-discarder, and the link extractors of Scrapy.

Patterns may excuse each other: each leaves a link that another one denies. So each is tried with those that were
accepted before it: by the links of the journal, a crawl must still reach all contents.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from crawldedup.advice.address import Address, name_of
from crawldedup.advice.evidence import UNTOLD, Page, Walk, walk
from crawldedup.advice.mining import LEAST_CONFIDENCE
from crawldedup.advice.rules import Rule
from crawldedup.printable import pluralize

_ORDER: Final = 100
# What means something in a pattern of url-matcher is left out.
_PLAIN: Final = re.compile(r"[^*|?#%+;\s]*")

Addresses = list[Address | None]
Written = tuple[Any, Callable[[Address], Address | None]]
"""A rule as a tool reads it, and what the tool makes of an address: that of another page, or None for a denied one."""
Writer = Callable[[Rule, Collection[str]], Written | None]
"""Writes a rule that leaves the pages at some paths alone; returns None if the tool cannot apply it."""


class Export(NamedTuple):
    """Rules as a tool reads them, how many pages of the crawl they save, and why others are left out, by name."""

    rules: list[Any]
    saved: int
    left_out: dict[str, str]


def export(rules: Iterable[Rule], pages: Sequence[Page], write: Writer) -> Export:
    """Return the rules that a tool can apply, and that cost none of the contents of these pages."""
    exported: list[Any] = []
    left_out: dict[str, str] = {}
    addresses: Addresses = [page.address for page in pages]
    before = now = walk(pages, (page.key for page in pages))
    is_linked = 2 * sum(page.referer == UNTOLD for page in pages) <= len(pages)
    for rule in rules:
        result = _lossless(rule, addresses, pages, write) if is_linked else "the journal does not tell what leads where"
        if isinstance(result, str):
            left_out[rule.name] = result
        else:
            plain, addresses, now = result
            exported.append(plain)
    return Export(exported, before.fetched - now.fetched, left_out)


def _lossless(
    rule: Rule, addresses: Addresses, pages: Sequence[Page], write: Writer
) -> tuple[Any, Addresses, Walk] | str:
    """Return a rule as the tool reads it, the addresses by it and a walk through them; or why it is left out."""
    left_alone, cost = set[str](), ""
    while (written := write(rule, left_alone)) is not None:
        plain, rewrite = written
        tried = [address and (address if address.path in left_alone else rewrite(address)) for address in addresses]
        would = walk(pages, (address and address.key() for address in tried))
        if not would.lost:
            return plain, tried, would
        (page, _), *_ = would.lost.values()
        cost = cost or f"it would cost {pluralize(len(would.lost), 'content')}, such as {page.address.url()}"
        paths = {behind.address.path for _, behind in would.lost.values()}
        changed = sum(one != other for one, other in zip(addresses, tried, strict=True))
        if left_alone or len(paths) > (1 - LEAST_CONFIDENCE) * changed:
            return cost
        # The few pages that alone lead to a content are left alone.
        left_alone = paths
    return "the tool can only remove parts of URLs"


# --- duplicate-url-discarder


def for_discarder(rule: Rule, left_alone: Collection[str] = ()) -> Written | None:
    """Return a rule as duplicate-url-discarder's files have it; None for one that does not only remove something."""
    # Its patterns are for all that is below a folder, so they name none whose numbers differ, and not the whole site.
    folders = sorted({re.sub(r"[^/]*0.*", "", folder) for folder in rule.folders} - {"/"})
    if not all(map(_PLAIN.fullmatch, (rule.site, rule.find, *folders, *left_alone))):
        return None
    exclude = [f"{rule.site}{path}|" for path in sorted(left_alone)]
    if rule.kind == "query" and folders:
        parts = rule.find.split("&")
        asked = "&".join(part if "=" in part else f"{part}=*" for part in parts)
        pattern = {"include": [f"{rule.site}{folder}?{asked}" for folder in folders]}
        if left_alone:
            pattern["exclude"] = exclude
        return _processed("queryRemoval", pattern, [name_of(part) for part in parts]), _below(rule, *folders)
    if rule.kind != "prefix":
        return None
    found, left = (text.split("/")[1:-1] for text in (rule.find, rule.replace))
    start = next((at for at, pair in enumerate(zip(found, left, strict=False)) if pair[0] != pair[1]), len(left))
    count = len(found) - len(left)
    if count <= 0 or found[:start] + found[start + count :] != left:
        return None
    # The folder itself is no page that the rule is about.
    pattern = {"include": [f"{rule.site}{rule.find}"], "exclude": [f"{rule.site}{rule.find}|", *exclude]}
    return _processed("subpathRemoval", pattern, list(range(start, start + count))), _below(rule, rule.find)


def _processed(processor: str, pattern: dict[str, Any], arguments: list[Any]) -> dict[str, Any]:
    return {"order": _ORDER, "processor": processor, "urlPattern": pattern, "args": arguments}


def _below(rule: Rule, *folders: str) -> Callable[[Address], Address]:
    """Return what a rule makes of addresses in all that is below folders."""
    everywhere = replace(rule, folders=frozenset(), exceptions=frozenset())
    return lambda address: (everywhere.rewritten(address) if address.path.startswith(folders) else None) or address


# --- Link extractors


def for_link_extractor(rule: Rule, left_alone: Collection[str] = ()) -> Written:
    """Return a regular expression for the `deny` of a LinkExtractor."""
    folders = "|".join(re.escape(folder).replace("0", r"\d+") for folder in sorted(rule.folders))
    begin, find = rf"^{re.escape(rule.site)}(?=(?:{folders})[^/?#]*/?(?:[?#]|$))", re.escape(rule.find)
    if left_alone:
        begin += rf"(?!(?:{'|'.join(map(re.escape, sorted(left_alone)))})(?:[?#]|$))"
    match rule.kind:
        case "query":
            pattern = begin + "".join(map(_asked, rule.find.split("&")))
        case "prefix":
            pattern = rf"{begin}{find}[^?#]"
        case "suffix":
            pattern = rf"{begin}[^?#]*{find}(?:[?#]|$)"
        case _:
            pattern = begin
    denied = re.compile(pattern)
    return pattern, lambda address: None if denied.search(address.url()) else address


def _asked(part: str) -> str:
    """Return a pattern for a parameter, with its value if that counts, at any place of a query, or of a path's end."""
    begin = r"[^?#]*" if part.startswith(";") else r"[^?#]*\?(?:[^#]*&)?"
    return rf"(?={begin}{re.escape(part)}(?:[{'' if '=' in part else '='};&?#]|$))"
