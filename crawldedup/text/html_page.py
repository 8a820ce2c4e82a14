"""Decode and check an HTML page, and parse it once for its text and its facts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

from crawldedup.text import limits
from crawldedup.text.decode import decode
from crawldedup.text.visible import levels, parse, to_html, visible_text

if TYPE_CHECKING:
    from lxml.html import HtmlElement


@dataclass(frozen=True)
class HtmlPage:
    """A decoded page whose tags are balanced if need be; `shape` is that of the original."""

    html: str
    shape: limits.Shape

    @classmethod
    def read(cls, body: bytes | str, encoding: str | None, bounds: limits.Limits = limits.DEFAULT_LIMITS) -> Self:
        """Decode a page and check what it costs. Raises PageError."""
        limits.check_size(body, bounds)
        html = decode(body, encoding)
        limits.check_tags(html, bounds)
        html = limits.shorten_tags(html)
        shape = limits.shape_of(html)
        return cls(html if shape.plain else to_html(parse(html)), shape)

    @cached_property
    def tree(self) -> HtmlElement:
        """The parsed page, which nobody may change. Raises PageError."""
        return parse(self.html)

    @cached_property
    def suits_extractors(self) -> bool:
        """Whether any extractor reads the page in seconds."""
        tags = self.shape.tags
        if tags > limits.EXTRACTOR_TAGS:
            return False
        if self.shape.plain and tags * len(self.html.encode()) <= limits.EXTRACTOR_WORK:
            return True
        if levels(self.tree) > limits.EXTRACTOR_LEVELS:
            return False
        return tags * len(visible_text(self.tree).encode()) <= limits.EXTRACTOR_WORK
