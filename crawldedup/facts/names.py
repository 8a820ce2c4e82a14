"""Find the name of the product among the titles and the lines of its page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from crawldedup.facts import limits
from crawldedup.facts.lines import spelled, words_of
from crawldedup.facts.numerals import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lxml.html import HtmlElement

    from crawldedup.facts.lines import Line
    from crawldedup.facts.schema_org import Product
    from crawldedup.facts.structured_data import StructuredData

# The name is among the first lines.
_NAMED_LINES: Final = 300
_SEPARATOR: Final = re.compile(r"\s[-–—|·•»›:]+\s|[|｜»]|::|:\s")
_OPEN_GRAPH: Final = "(.//meta[@property='og:title'])[1] | (.//meta[@property='og:site_name'])[1]"


def titles_of(tree: HtmlElement) -> list[str]:
    """Return og:title and title, if they are given, without the site's name if og:site_name tells it."""
    meta = {element.get("property"): element.get("content") or "" for element in tree.xpath(_OPEN_GRAPH)}
    title = tree.find(".//title")
    texts = (meta.get("og:title", ""), "" if title is None else title.text or "")
    site = " ".join(meta.get("og:site_name", "").split())
    titles = (" ".join(text[: 2 * limits.VALUE].split())[: limits.VALUE] for text in texts)
    return [text for title in titles if (text := _without_site(title, site))]


def find_name(lines: Sequence[Line], titles: Sequence[str]) -> tuple[int, list[str]]:
    """Return the number of the line behind the name, and the name: the lines that repeat a part of a title.

    One of them may be the site's, so all of them above the first price are taken, but not headings that are links.
    Without any, the name is the first part of the title, or else the first heading.
    """
    found = _naming_lines(lines, [part for title in titles for part in _parts_of(title)])
    if found:
        first_price = next((number for number, line in enumerate(lines) if line.prices), len(lines))
        taken = [number for number in found if number < first_price] or found[:1]
        return taken[-1] + 1, [lines[number].text for number in taken]
    start = next((number for number, line in enumerate(lines, 1) if line.is_heading), 0)
    return start, _parts_of(titles[0])[:1] if titles else [line.text for line in lines[:start][-1:]]


def product_named(
    data: StructuredData, names: Sequence[str], headings: Iterable[str], *, for_sale: bool
) -> Product | None:
    """Return the product of structured data whose name is the page's, or the only one of a page that sells it."""
    title = set(words_of(plain(" ".join(names))))
    known = {spelled(plain(heading[: limits.VALUE])) for heading in headings}
    for product in data.all_products:
        words = set(words_of(plain(product.name)))
        if spelled(plain(product.name)) in known or 2 * len(words & title) >= len(words) > 0:
            return product
    only = data.all_products[0] if len(data.all_products) == 1 else None
    return only if only is not None and (for_sale or not only.name) else None


def _parts_of(title: str) -> list[str]:
    """Return the parts of a title, which sites put their own name into; the whole of it last."""
    parts = [part.strip() for part in _SEPARATOR.split(title) if part.strip()]
    return [*parts, title] if len(parts) > 1 else [title]


def _without_site(title: str, site: str) -> str:
    parts = _SEPARATOR.split(title)
    return title if not site or site not in parts else " - ".join(part for part in parts if part != site)


def _naming_lines(lines: Sequence[Line], parts: Sequence[str]) -> list[int]:
    """Return the numbers of the lines that say a part of the title, in order; the best one for each text."""
    wanted = [words_of(plain(part)) for part in parts]
    found: dict[tuple[str, ...], tuple[bool, bool, int]] = {}
    for number, line in enumerate(lines[:_NAMED_LINES]):
        if len(line.text) <= limits.VALUE and any(_is_most_of(line.words, part) for part in wanted):
            rank = (line.is_linked, not line.is_heading, number)
            found[tuple(line.words)] = min(rank, found.get(tuple(line.words), rank))
    own = [rank for rank in found.values() if not rank[0]] or list(found.values())
    headings = [rank for rank in own if not rank[1]]
    return sorted(number for _, _, number in headings or own)


def _is_most_of(own: Sequence[str], part: Sequence[str]) -> bool:
    return bool(own) and set(own) <= set(part) and 2 * len(own) >= len(part)
