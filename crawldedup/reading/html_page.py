"""Decode a page, bound what it costs, and parse it once for all that is read of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

from crawldedup.reading import limits
from crawldedup.reading.blocks import Blocks, blocks_of, parse
from crawldedup.reading.decode import decode
from crawldedup.reading.lxml_tree import parse as parse_with_lxml
from crawldedup.reading.lxml_tree import suits_extractors, to_html

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser


@dataclass(frozen=True)
class HtmlPage:
    """A decoded page. Its tags are balanced if the original's may nest deep."""

    html: str

    @classmethod
    def read(cls, body: bytes | str, encoding: str | None) -> Self:
        """Decode a page and check what it costs. Raises PageError."""
        limits.check_size(body)
        html = decode(body, encoding)
        limits.check_tags(html)
        html = limits.without_piles(limits.shorten_tags(html))
        return cls(to_html(parse_with_lxml(html)) if limits.may_nest_deep(html) else html)

    @cached_property
    def tree(self) -> LexborHTMLParser:
        """The parsed page, which nobody may change."""
        return parse(self.html)

    @cached_property
    def title(self) -> str:
        """The title in one line; "" if the page has none."""
        title = self.tree.css_first("title")
        return "" if title is None else " ".join(title.text().split())

    @cached_property
    def blocks(self) -> Blocks:
        """The blocks and lines of the page, without controls."""
        return blocks_of(self.tree)

    @cached_property
    def suits_extractors(self) -> bool:
        """Whether extractors of other packages read the page in seconds."""
        return suits_extractors(self.html)
