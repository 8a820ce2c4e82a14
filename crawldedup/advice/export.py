"""Convert rules for use in other tools: duplicate-url-discarder, and the link extractors of Scrapy.

Patterns can depend on each other, because one may leave a link that another one denies. So each
pattern is tried together with those accepted before it: with the links in the journal, a crawl
still has to reach all content.
"""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from crawldedup.advice.evidence import UNTOLD, Page, saved, walk
from crawldedup.advice.rules import (
    ADDRESS_IN_QUERY,
    FRAME,
    LEAST_CONFIDENCE,
    Address,
    Rule,
    name_of,
)
from crawldedup.text import pluralize

# Characters with a special meaning in patterns of url-matcher are left out.
_PLAIN: Final = re.compile(r"[^*|?#%+;\s]*")

Addresses = list[Address | None]
Written = tuple[Any, Callable[[Address], Address | None]]
"""A rule in the format of a tool, with a function that rewrites an address as the tool does.

The function returns None if the tool denies the address.
"""
Writer = Callable[[Rule, Collection[str]], Written | str]
"""Writes a rule that doesn't affect the pages at some paths.

Returns the reason if the tool can't apply the rule.
"""


class Export(NamedTuple):
    """Rules in the format of another tool, and the number of downloads that they would have saved.

    The rules that are left out come by name, with the reasons.
    """

    rules: list[Any]
    saved: int
    left_out: dict[str, str]


def export(rules: Iterable[Rule], pages: Sequence[Page], write: Writer) -> Export:
    """Convert the rules that another tool can apply without losing any content of these pages."""
    exported = list[Any]()
    left_out = dict[str, str]()
    addresses: Addresses = [page.address for page in pages]
    is_linked = 2 * sum(page.referer == UNTOLD for page in pages) <= len(pages)
    for rule in rules:
        result = (
            _lossless(rule, addresses, pages, write)
            if is_linked
            else "the journal does not say which pages link to which"
        )
        if isinstance(result, str):
            left_out[rule.name] = result
        else:
            plain, addresses = result
            exported.append(plain)
    saves = saved(pages, (address and address.key() for address in addresses))
    return Export(exported, saves, left_out)


def _lossless(
    rule: Rule, addresses: Addresses, pages: Sequence[Page], write: Writer
) -> tuple[Any, Addresses] | str:
    """Convert a rule, and check that a crawl with it still reaches all content.

    Returns:
        The rule in the format of the tool, and the addresses as the rule rewrites them. Otherwise,
        the reason why it is left out.
    """
    left_alone = set[str]()
    cost = ""
    while True:
        written = write(rule, left_alone)
        if isinstance(written, str):
            return cost or written
        plain, rewrite = written
        tried = [
            address and (address if address.path in left_alone else rewrite(address))
            for address in addresses
        ]
        changed = sum(one != other for one, other in zip(addresses, tried, strict=True))
        if left_alone and not changed:
            return cost
        lost = walk(pages, (address and address.key() for address in tried))
        if not lost:
            return plain, tried
        (page, _), *_ = lost.values()
        cost = (
            cost
            or f"it would lose {pluralize(len(lost), 'piece')} of content, such as "
            f"{page.address.url()}"
        )
        paths = {behind.address.path for _, behind in lost.values()}
        if left_alone or len(paths) > (1 - LEAST_CONFIDENCE) * changed:
            return cost
        # The few pages that are the only way to some content aren't affected.
        left_alone = paths


def for_discarder(rule: Rule, left_alone: Collection[str] = ()) -> Written | str:
    """Convert a rule for duplicate-url-discarder, or return the reason why that is impossible."""
    # Its patterns apply to everything below a folder, so they must not name folders with
    # different numbers, or the whole site.
    folders = sorted({re.sub(r"[^/]*0.*", "", folder) for folder in rule.folders} - {"/"})
    targets = _paths_of(rule)
    if not all(map(_PLAIN.fullmatch, (rule.site, rule.find, *folders, *targets, *left_alone))):
        return "its URLs have characters that mean something else in the patterns of the tool"
    exclude = [f"{rule.site}{path}|" for path in sorted(left_alone)]
    if rule.find == FRAME:
        return "it is for queries of any name"
    if rule.kind == "query":
        if not folders and not targets:
            return "the tool would apply it to everything below /, which is the whole site"
        parts = rule.find.split("&")
        asked = "&".join(part if "=" in part else f"{part}=*" for part in parts)
        places = [f"{path}|" for path in targets] or folders
        include = [f"{rule.site}{place}?{asked}" for place in places]
        processor = "queryRemoval"
        arguments = list[Any](map(name_of, parts))
    elif rule.kind == "prefix" and (
        removed := _removed(rule.find.split("/"), rule.replace.split("/"))
    ):
        # The rule doesn't apply to the page of the folder itself.
        include = [f"{rule.site}{rule.find}"]
        exclude = [f"{rule.site}{rule.find}|", *exclude]
        folders = [rule.find]
        processor = "subpathRemoval"
        arguments = list[Any](removed)
    else:
        return "the tool can only remove parts of URLs"
    pattern = {"include": include, **({"exclude": exclude} if exclude else {})}
    plain = {"order": 100, "processor": processor, "urlPattern": pattern, "args": arguments}
    everywhere = replace(rule, folders=frozenset(), exceptions=frozenset(), targets=frozenset())

    def rewrite(address: Address) -> Address:
        is_meant = address.path in targets if targets else address.path.startswith(tuple(folders))
        rewritten = everywhere.rewritten(address) if is_meant else None
        return rewritten or address

    return plain, rewrite


def _paths_of(rule: Rule) -> list[str]:
    """Return the paths of the only pages that a rule applies to, or [] for whole folders."""
    targets = [Address.of(url) for url in sorted(rule.targets)]
    return sorted({target.path for target in targets if target is not None})


def _removed(folders: list[str], left: list[str]) -> list[int]:
    """Return the positions of consecutive folders whose removal turns one path into the other.

    The list is empty if there are no such folders.
    """
    count = len(folders) - len(left)
    starts = (
        start for start in range(1, len(left)) if folders[:start] + folders[start + count :] == left
    )
    return next(([*range(start - 1, start - 1 + count)] for start in starts if count > 0), [])


def for_link_extractor(rule: Rule, left_alone: Collection[str] = ()) -> Written:
    """Convert a rule into a regular expression for the `deny` argument of a LinkExtractor."""
    folders = "|".join(re.escape(folder).replace("0", r"\d+") for folder in sorted(rule.folders))
    find = re.escape(rule.find)
    # An ending may contain folders, which come after those of the rule.
    end = find if rule.kind == "suffix" else "/?"
    pages = rf"(?:{folders})[^/?#]*{end}"
    if targets := _paths_of(rule):
        pages = rf"(?:{'|'.join(map(re.escape, targets))})"
    begin = rf"^{re.escape(rule.site)}(?={pages}(?:[?#]|$))"
    if left_alone:
        begin += rf"(?!(?:{'|'.join(map(re.escape, sorted(left_alone)))})(?:[?#]|$))"
    match rule.kind:
        case "query" if rule.find == FRAME:
            pattern = rf"{begin}[^?#]*\?(?:{ADDRESS_IN_QUERY})(?:#|$)"
        case "query":
            pattern = begin + "".join(map(_asked, rule.find.split("&")))
        case "prefix":
            pattern = rf"{begin}{find}[^?#]"
        case _:
            pattern = begin
    denied = re.compile(pattern)
    return pattern, lambda address: None if denied.search(address.url()) else address


def _asked(part: str) -> str:
    """Return a regular expression that matches URLs with a certain parameter.

    "print" matches any value of the parameter, and "view=print" only this one. A parameter that
    begins with ";" is at the end of the path, and all others are in the query.
    """
    begin = r"[^?#]*" if part.startswith(";") else r"[^?#]*\?(?:[^#]*&)?"
    return rf"(?={begin}{re.escape(part)}(?:[{'' if '=' in part else '='};&?#]|$))"
