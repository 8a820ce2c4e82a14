"""Read what a visitor sees of a page, where the main text is too short or is not asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from crawldedup.reading.blocks import NUMBER, blocks_of, numbers
from crawldedup.reading.tags import BOILERPLATE_ROLES, BOILERPLATE_TAGS, HOLD_CONTENT

if TYPE_CHECKING:
    from crawldedup.reading.html import HtmlPage

_BOILERPLATE: Final = numbers(BOILERPLATE_TAGS)
_HOLD_CONTENT: Final = numbers(HOLD_CONTENT)
_HEADER: Final = NUMBER["header"]
_IDENTIFYING_META: Final = frozenset(["description", "og:title", "og:description", "og:image"])
_IDENTIFYING: Final = "meta, script, img, frame, iframe, video, source, embed, object"


def visible_text(page: HtmlPage) -> str:
    """Return all text that a visitor without scripts sees, title first, one block of the page a line."""
    lines = [text for text, _, _ in blocks_of(page.tree, with_controls=True).lines]
    return "\n".join(filter(None, (page.title, *lines)))


def all_lines(page: HtmlPage) -> str:
    """Return all text but controls, one block of the page a line."""
    return "\n".join([text for text, _, _ in blocks_of(page.tree).lines])


def content_text(page: HtmlPage) -> str:
    """Return the visible text without navigation, page header and footer, sidebars and controls.

    All pages of a site share those, so short pages would look alike.
    """
    blocks = blocks_of(page.tree)
    kept, in_content = [True], [False]
    for node, parent, kind in list(zip(blocks.nodes, blocks.parents, blocks.kinds, strict=True))[1:]:
        in_content.append(in_content[parent] or kind in _HOLD_CONTENT)
        if kind == _HEADER:
            is_around = not in_content[parent]
        else:
            is_around = kind in _BOILERPLATE or node.attributes.get("role") in BOILERPLATE_ROLES
        kept.append(kept[parent] and (not is_around or node.mem_id in page.holders))
    return "\n".join([text for text, _, block in blocks.lines if kept[block]])


def identity_text(page: HtmlPage) -> str:
    """Return all that tells a page with little text from another: text, description, media addresses, scripts.

    The pages of a photo gallery, or of a shop that fills its pages by script, differ in nothing else.
    """
    parts = [visible_text(page)]
    for element in page.tree.css(_IDENTIFYING):
        attributes = element.attributes
        if element.tag == "meta":
            if (attributes.get("property") or attributes.get("name") or "").lower() in _IDENTIFYING_META:
                parts.append(attributes.get("content") or "")
        elif element.tag == "script":
            parts.append(element.text())
        else:
            addresses = (attributes.get(name) or "" for name in ("src", "data-src", "data"))
            parts.extend(address for address in addresses if not address.startswith("data:"))
    return "\n".join(filter(None, map(str.strip, parts)))


def name_of(page: HtmlPage) -> str:
    """Return the name of a page: og:title, which seldom has the site's name behind it, or else the title."""
    for meta in page.tree.css("meta[property='og:title'], meta[name='og:title']"):
        if name := " ".join((meta.attributes.get("content") or "").split()):
            return name
    return page.title
