"""Decode and check an HTML page, and parse it once for its text and its facts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

from crawldedup.text.decode import decode
from crawldedup.text.limits import (
    DEFAULT_LIMITS,
    EXTRACTOR_LEVELS,
    EXTRACTOR_TAGS,
    EXTRACTOR_WORK,
    Limits,
    Shape,
    check_size,
    check_tags,
    shape_of,
    shorten_tags,
)
from crawldedup.text.visible import levels, parse, to_html, visible_text

if TYPE_CHECKING:
    from lxml.html import HtmlElement


@dataclass(frozen=True)
class HtmlPage:
    """A decoded page whose tags are balanced if need be; `shape` is that of the original."""

    html: str
    shape: Shape

    @classmethod
    def read(cls, body: bytes | str, encoding: str | None = None, limits: Limits = DEFAULT_LIMITS) -> Self:
        """Decode a page and check what it costs. Raises PageError."""
        check_size(body, limits)
        html = decode(body, encoding)
        check_tags(html, limits)
        html = shorten_tags(html)
        shape = shape_of(html)
        return cls(html if shape.plain else to_html(parse(html)), shape)

    @cached_property
    def tree(self) -> HtmlElement:
        """The parsed page, which nobody may change. Raises PageError."""
        return parse(self.html)

    @cached_property
    def suits_extractors(self) -> bool:
        """Whether any extractor reads the page in seconds."""
        tags = self.shape.tags
        if tags > EXTRACTOR_TAGS:
            return False
        if self.shape.plain and tags * len(self.html.encode()) <= EXTRACTOR_WORK:
            return True
        if levels(self.tree) > EXTRACTOR_LEVELS:
            return False
        return tags * len(visible_text(self.tree).encode()) <= EXTRACTOR_WORK
