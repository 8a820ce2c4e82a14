"""A site with one template: its pieces of content, and the views that show them.

Every page is a function of its address. Everything that changes from load to load (counters, ads,
tokens, teasers of other pages) is drawn again for each address.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import TYPE_CHECKING, Final

from benchmarks.siblings_parts.template import Load, Template, as_printed, as_shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.siblings_parts.languages import Language
    from benchmarks.siblings_parts.template import Content


class View(StrEnum):
    """How a content is reached. `PLAIN` is its own address, and `SECTION` that in another folder."""

    PLAIN = "plain"
    CAMPAIGN = "campaign"
    SESSION = "session"
    PRINT = "print"
    RELOAD = "reload"
    SECTION = "section"


class Canonical(StrEnum):
    """What the pages of a site name as canonical."""

    NONE = "nothing"
    PLAIN = "the plain address"
    AS_ASKED = "the address that was asked for"


ON_SCREEN: Final = (View.PLAIN, View.CAMPAIGN, View.SESSION, View.RELOAD)
WITH_PRINT: Final = (*ON_SCREEN, View.PRINT)
WITH_SECTION: Final = (*WITH_PRINT, View.SECTION)
_TEASED: Final = 4


@dataclass(frozen=True)
class Page:
    """What a site answers at a URL. Pages of one `content` are views of it."""

    url: str
    html: str
    content: str
    view: View
    words: int
    """About how many words its siblings share with it."""


@dataclass(frozen=True)
class Site:
    """What a crawl would find at one host."""

    host: str
    title: str
    language: Language
    template: Template
    contents: Sequence[Content] = field(repr=False)
    canonical: Canonical = Canonical.NONE
    views: Sequence[View] = WITH_PRINT
    prints_pictures: bool = False

    def pages(self) -> Iterator[Page]:
        """Every content in all its views, the plain one first."""
        for content in self.contents:
            for view in self.views:
                yield self._page(content, view)

    def _page(self, content: Content, view: View) -> Page:
        random = Random(f"{self.host} {content.path} {view}")
        session = f"{random.getrandbits(128):032x}" if view is View.SESSION else ""
        url = f"https://{self.host}{_target(content.path, view, session, random)}"
        load = Load(
            language=self.language,
            site_title=self.title,
            canonical=self._canonical(content, url),
            session=session,
            random=random,
            others=random.sample(self.contents, min(_TEASED, len(self.contents))),
        )
        if view is View.PRINT:
            html = as_printed(content, load, with_pictures=self.prints_pictures)
        else:
            html = as_shown(self.template, content, load)
        return Page(url, html, f"{self.host}{content.path}", view, content.words)

    def _canonical(self, content: Content, url: str) -> str:
        if self.canonical is Canonical.NONE:
            return ""
        if self.canonical is Canonical.AS_ASKED:
            return url
        return f"https://{self.host}{content.path}"


def _target(path: str, view: View, session: str, random: Random) -> str:
    """The path of a view and its query."""
    joint = "&" if "?" in path else "?"
    if view is View.CAMPAIGN:
        source = random.choice(("newsletter", "facebook", "partner"))
        return f"{path}{joint}utm_source={source}&utm_medium=social"
    if view is View.SESSION:
        return f"{path}{joint}sid={session}"
    if view is View.RELOAD:
        return f"{path}{joint}ref={random.choice(('list', 'home', 'sidebar'))}"
    if view is View.PRINT:
        return f"{path}{joint}print=1" if "?" in path else f"/print{path}"
    if view is View.SECTION:
        return f"/popular{path}"
    return path
