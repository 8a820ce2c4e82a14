"""Write rules for other tools: duplicate-url-discarder, and the link extractors of Scrapy."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final

from crawldedup.advice.address import name_of
from crawldedup.advice.evidence import Page
from crawldedup.advice.rules import Rule

_ORDER: Final = 100
# What means something in a pattern of url-matcher is left out.
_PLAIN: Final = re.compile(r"[^*|?#%+\s]*")


def discarder_rules(rules: Iterable[Rule]) -> list[dict[str, Any]]:
    """Return the rules that duplicate-url-discarder can apply, as its files have them: those that only remove."""
    return [made for rule in rules if (made := _discarder_rule(rule)) is not None]


def _discarder_rule(rule: Rule) -> dict[str, Any] | None:
    # Its patterns are for all that is below a folder, so they name none whose numbers differ, and not the whole site.
    folders = sorted({re.sub(r"[^/]*0.*", "", folder) for folder in rule.folders} - {"/"})
    if rule.exceptions or not all(map(_PLAIN.fullmatch, (rule.site, rule.find, *folders))):
        return None
    if rule.kind == "query" and folders:
        parts = rule.find.split("&")
        asked = "&".join(part if "=" in part else f"{part}=*" for part in parts)
        pattern = {"include": [f"{rule.site}{folder}?{asked}" for folder in folders]}
        return _processed("queryRemoval", pattern, [name_of(part) for part in parts])
    if rule.kind != "prefix":
        return None
    found, left = (text.split("/")[1:-1] for text in (rule.find, rule.replace))
    start = next((at for at, pair in enumerate(zip(found, left, strict=False)) if pair[0] != pair[1]), len(left))
    count = len(found) - len(left)
    if count <= 0 or found[:start] + found[start + count :] != left:
        return None
    # The folder itself is no page that the rule is about.
    pattern = {"include": [f"{rule.site}{rule.find}"], "exclude": [f"{rule.site}{rule.find}|"]}
    return _processed("subpathRemoval", pattern, list(range(start, start + count)))


def _processed(processor: str, pattern: dict[str, Any], arguments: list[Any]) -> dict[str, Any]:
    return {"order": _ORDER, "processor": processor, "urlPattern": pattern, "args": arguments}


def deny_patterns(rules: Iterable[Rule], pages: Sequence[Page]) -> list[str]:
    """Return regular expressions for the `deny` of a LinkExtractor, which cost none of the contents of these pages.

    Rules may excuse each other: each leaves a link that the other one denies. So each pattern is tried with those that
    were accepted before: by the links of the crawl, all contents must still be reached from its first pages.
    """
    patterns: list[str] = []
    denied: set[int] = set()
    contents = _reached(pages, denied)
    for rule in rules:
        pattern = _pattern(rule)
        tried = denied | {page.key for page in pages if re.search(pattern, page.address.url())}
        if not rule.exceptions and _reached(pages, tried) >= contents:
            patterns.append(pattern)
            denied = tried
    return patterns


def _reached(pages: Iterable[Page], denied: set[int]) -> set[int]:
    """Return the contents that a crawl reaches which does not follow links to the pages with these keys."""
    led_to: defaultdict[int, list[Page]] = defaultdict(list)
    keys = {page.key for page in pages}
    for page in pages:
        # What led there may be no page that was judged.
        is_known = page.referer in keys and page.referer != page.key
        led_to[page.referer if is_known else 0].append(page)
    contents: set[int] = set()
    waiting = [0]
    while waiting:
        for page in led_to.pop(waiting.pop(), ()):
            if page.key not in denied or not page.referer:
                contents.add(page.content)
                waiting.append(page.key)
    return contents


def _pattern(rule: Rule) -> str:
    folders = "|".join(re.escape(folder).replace("0", r"\d+") for folder in sorted(rule.folders))
    begin, find = rf"^{re.escape(rule.site)}(?=(?:{folders})[^/?#]*/?(?:[?#]|$))", re.escape(rule.find)
    match rule.kind:
        case "query":
            return rf"{begin}[^?#]*\?" + "".join(map(_asked, rule.find.split("&")))
        case "prefix":
            return rf"{begin}{find}[^?#]"
        case "suffix":
            return rf"{begin}[^?#]*{find}(?:[?#]|$)"
        case "session":
            return rf"{begin}[^?#]*(?i:{find})="
        case _:
            return begin


def _asked(part: str) -> str:
    """Return a pattern for a parameter, with its value if that counts, at any place of a query."""
    end = r"(?:[&#]|$)" if "=" in part else r"(?:[=&#]|$)"
    return rf"(?=(?:[^#]*&)?{re.escape(part)}{end})"
