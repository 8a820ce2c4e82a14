"""What is known of hosts, as tests of it go about it: with a clock, and pages made of marks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from crawldedup import Page
from crawldedup.fingerprinting.bits import Fingerprint, fingerprint
from crawldedup.hosts.knowledge import HostKnowledge
from crawldedup.key import NO_KEY, Key
from crawldedup.marks.address import Address
from crawldedup.marks.packing import packed_content
from crawldedup.marks.values import FIRST_PART, HEADLINE, TITLE_PART, ContentMarks, Name
from tests.stories import TEXT

HEADING = HEADLINE | TITLE_PART | FIRST_PART


def load(
    name: int = 0,
    *,
    text: str = TEXT,
    key: Key = NO_KEY,
    said: int | None = None,
    **marks: Any,
) -> Fingerprint:
    """One load of a page that is called so, with these marks; `said` is its text without names."""
    names = (Name(name, HEADING),) if name else ()
    content = ContentMarks(names=names, text=said, **marks)
    return replace(fingerprint(text, key=key), marks=packed_content(content))


def pictured(name: int, picture: int, **others: Any) -> Fingerprint:
    """One load of a page with a lead picture."""
    return load(name, pictures=(picture,), has_lead=True, **others)


class Knowledge(HostKnowledge):
    """Knowledge with a clock of the test's own."""

    def __init__(self, **options: Any) -> None:
        self.now = 0.0
        super().__init__(clock=lambda: self.now, **options)

    def meet(
        self, url: str, *loads: Fingerprint, between: float = 1.0, carried: bool = False
    ) -> None:
        """Load a page several times."""
        for each in loads:
            self.learn_marks(Page(url, text="A page."), each, carries_view=carried)
            self.now += between

    def is_proved(self, url: str) -> bool:
        """Whether all views in a URL are proved, and their values recur."""
        address = Address.of(url)
        assert address is not None
        return self.are_proved(address)


def rotating(url: str, *, pages: int = 3, **options: Any) -> Knowledge:
    """What is known once pages have come twice, each time with another picture."""
    known = Knowledge(**options)
    rotate(known, url, pages=pages)
    return known


def rotate(known: HostKnowledge, url: str, *, pages: int = 3, first: int = 1) -> None:
    """Load pages twice, with a different picture each time; `{}` in the URL is the page."""
    for page in range(first, first + pages):
        for picture in (2 * page, 2 * page + 1):
            shown = pictured(page, picture)
            known.learn_marks(Page(url.format(page), text="A page."), shown, carries_view=False)
