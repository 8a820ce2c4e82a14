"""Find the full name of what a reference page is about, such as a method with its class.

The heading of such a page is often only the last part: "timeout" in a client and in its cursor, or
"Document" in two packages. Their descriptions can be the same as well. The rest of the name is in
the title, or in the breadcrumbs above the heading. So are the arguments of a template, which can
differ in symbols only.
"""

import re
from collections.abc import Sequence
from typing import Final

from crawldedup.reading.blocks import Blocks
from crawldedup.reading.html import HtmlPage
from crawldedup.reading.mark_words import words_of

_MOST_HEADINGS: Final = 3
_LONGEST_TRAIL: Final = 500
_NAME: Final = re.compile(r"[A-Za-z_$][\w$]*")
_QUALIFIED: Final = re.compile(rf"(?<![\w.$/@-]){_NAME.pattern}(?:\.{_NAME.pattern})+(?![\w.$/@-])")
# In C++, "Box< T & >" and "Box< T && >" have the same words.
_TEMPLATE: Final = re.compile(rf"{_NAME.pattern}(?:::~?{_NAME.pattern})*<[^<>]{{1,100}}>")
_BREADCRUMBS: Final = "[class*=breadcrumb]"
_VERSION: Final = re.compile(r"\d+\.\d[\w.-]*")
# "Tulip(s)" isn't code.
_PLURAL: Final = "(s)"


def full_name(page: HtmlPage, headings: Sequence[str]) -> str:
    """Return the full name of what a page describes, or "" if it isn't a reference page.

    Breadcrumbs of other pages say in which category they are, and one page can be in several. So
    they only count if the page declares a function with the name in the heading.

    Args:
        page: The page.
        headings: The headings of its content.
    """
    title = page.title[:_LONGEST_TRAIL]
    template = _TEMPLATE.search(title)
    if template is not None:
        return "".join(template[0].split())
    for heading in headings[:_MOST_HEADINGS]:
        for match in _QUALIFIED.finditer(title):
            name = match[0]
            if words_of(name.rpartition(".")[2]) == words_of(heading):
                return name
        if _NAME.fullmatch(heading) and _declares(page.blocks, heading):
            return _trail(page, heading)
    return ""


def _declares(blocks: Blocks, name: str) -> bool:
    """Return whether the content contains code like `name(`. It may be a link."""
    call = f"{name}("
    return any(call in line and f"{name}{_PLURAL}" not in line for line, _, _ in blocks.lines)


def _trail(page: HtmlPage, name: str) -> str:
    """Return the breadcrumbs that lead to a name, without numbers of versions, or ""."""
    for node in page.tree.css(_BREADCRUMBS)[:_MOST_HEADINGS]:
        crumbs = node.text(separator=" ")[:_LONGEST_TRAIL].split()
        if crumbs and "".join(crumbs).endswith(name):
            return " ".join([crumb for crumb in crumbs if not _VERSION.fullmatch(crumb)])
    return ""
