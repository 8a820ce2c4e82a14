"""Find the content of <template> elements, which parsers don't add to the tree of a page.

A template with the attribute `shadowrootmode` is shown: it is the content of a component that was
rendered on the server. All other templates are only shown once a script fills them in.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_EDGE: Final = re.compile(
    r"<(?:(/?)template(?=[\s/>])|(script|style|textarea|title|noscript)(?=[\s/>])|(!--))",
    re.IGNORECASE,
)
_TAGS: Final = ("<template", "<TEMPLATE")
_SHADOW: Final = re.compile(r"\bshadowroot(?:mode)?\s?=", re.IGNORECASE)
_LONGEST_TAG: Final = 500


class Template(NamedTuple):
    """The markup in a <template>, and whether browsers show it without a script."""

    html: str
    is_shown: bool


def templates_of(html: str) -> Iterator[Template]:
    """Yield the templates in a page that have content and aren't inside of another one."""
    # Hardly any page has a template.
    if not any(tag in html for tag in _TAGS):
        return
    depth = place = start = 0
    is_shown = False
    while edge := _EDGE.search(html, place):
        closing, raw, comment = edge.groups()
        if raw or comment:
            place = _end_of_raw(html, raw or comment, edge.end())
            continue
        end = html.find(">", edge.end()) + 1
        if not end:
            return
        place = end
        if not closing:
            if not depth:
                start = end
                tag = html[edge.end() : min(end, edge.end() + _LONGEST_TAG)]
                is_shown = _SHADOW.search(tag) is not None
            depth += 1
        elif depth:
            depth -= 1
            markup = html[start : edge.start()]
            if not depth and markup.strip():
                yield Template(markup, is_shown)


def _end_of_raw(html: str, raw: str, start: int) -> int:
    """Return the end of a comment, or of an element such as <script>, whose content isn't markup.

    If it is never closed, that is the end of the page.
    """
    if raw == "!--":
        end = html.find("-->", start)
    else:
        closing = re.compile(f"</{raw}", re.IGNORECASE).search(html, start)
        end = closing.start() + 1 if closing else -1
    return end if end >= 0 else len(html)
