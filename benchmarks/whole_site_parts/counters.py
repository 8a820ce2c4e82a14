"""What changes with every load: who is online, what is left in stock, how long ago a page was updated, sessions."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from benchmarks.whole_site_parts.pages import Page

# A digit of another load stands for each ¤.
_OF_KINDS: Final = {
    "forum: ": "Who is online: ¤¤ users online, ¤ registered and ¤¤ guests</p><p>Time: 0.¤¤¤s | Queries: ¤¤ | GZIP: on",
    "shop: ": "Only ¤ left in stock - ¤¤ people are looking",
    "news: ": "Updated ¤¤ minutes ago - ¤¤¤ comments",
}
_DIGIT: Final = re.compile("¤".encode())
_CHOICE: Final = re.compile(rb"\[\[([^][]*\|\|[^][]*)\]\]")
_random: Final = Random(1)


def with_counters(page: Page) -> Page:
    """The page with the counters of its kind under its heading; not those that the site renders without."""
    lines = next((line for kind, line in _OF_KINDS.items() if page.kind.startswith(kind)), None)
    if lines is None or page.kind.endswith(("print", "AMP", "copy")):
        return page
    return replace(page, body=page.body.replace(b"</h1>", f"</h1><p>{lines}</p>".encode(), 1))


def choice(*alternatives: str) -> str:
    """One of these at each load, and the one in the same place wherever a page has a choice."""
    return f"[[{'||'.join(alternatives)}]]"


def loaded(body: bytes) -> bytes:
    """The page as it is for one load."""
    if b"[[" in body:
        chosen = _random.randrange(60)
        body = _CHOICE.sub(lambda place: (some := place[1].split(b"||"))[chosen % len(some)], body)
    return _DIGIT.sub(lambda _: b"%d" % _random.randint(1, 9), body)
