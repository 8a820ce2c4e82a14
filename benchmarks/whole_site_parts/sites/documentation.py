"""The documentation of one project in several versions, with a mirror.

- Version 16 is also served as `current`, and a mirror on another host shows it with a banner.
- Version 15 has the same texts below a notice, except for every third page, which lacks two
  paragraphs. Such a *near version* is a separate piece of content.
- Every other page of `current` also appears with `?highlight=`, linked from the index of words.
- Nothing changes with every load.
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.whole_site_parts.manuals import guide, reference
from benchmarks.whole_site_parts.pages import Page, bullets, document, link

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.whole_site_parts.pages import Plan

PAGES: Final = 400
_PER_CHAPTER: Final = 25
_EARLIER_EVERY: Final = 3
_REFERENCE_SHARE: Final = 0.4
_PARAGRAPH: Final = re.compile(r"<p>.*?</p>")
_NOTICE: Final = (
    "<div class=admonition><p>You are reading the documentation of an old version, which gets no "
    "corrections any more. "
    "The current one is version 16.</p></div>"
)
_BANNER: Final = (
    "<div class=mirror><p>This is a mirror of the documentation of Tidewater, brought up to date "
    "each night. Report "
    "what is wrong with it to the keepers of the mirror.</p></div>"
)


class _Edition(NamedTuple):
    """Where a version is served, and what stands above each of its pages."""

    base: str
    version: str
    kind: str
    above: str = ""


class DocumentationSite:
    """All pages of the documentation."""

    def __init__(self, plan: Plan) -> None:
        self._plan, own, mirror = plan, plan.hosts.own, plan.hosts.mirror
        self._count = plan.count(PAGES)
        self._editions = [
            _Edition(f"{own}/docs/current", "16", "documentation: current"),
            _Edition(f"{own}/docs/16", "16", "documentation: by number"),
            _Edition(f"{own}/docs/15", "15", "documentation: old version", _NOTICE),
            _Edition(f"{mirror}/tidewater/16", "16", "documentation: mirror", _BANNER),
        ]
        self._titles = [
            plan.prose.writer(f"docs {number}").title() for number in range(self._count)
        ]
        self._main = [self._written(number) for number in range(self._count)]

    def pages(self) -> Iterator[Page]:
        own = self._plan.hosts.own
        ways = bullets(
            link(f"{edition.base}/index.html", edition.kind) for edition in self._editions
        )
        home = (
            "<h1>Tidewater</h1><p>Choose a "
            f"version.</p>{ways}{link(f'{own}/docs/words.html', 'Index of words')}"
        )
        yield Page(f"{own}/", "front page", "", document("Tidewater", home))
        current = self._editions[0]
        marked = [
            f"{current.base}/{number}.html?highlight=tide" for number in range(0, self._count, 2)
        ]
        words = bullets(link(url, self._titles[2 * place]) for place, url in enumerate(marked))
        yield Page(
            f"{own}/docs/words.html",
            "list",
            "",
            document("Index of words", f"<h1>Index of words</h1>{words}"),
        )
        for edition in self._editions:
            rows = bullets(
                link(f"{edition.base}/{number}.html", title)
                for number, title in enumerate(self._titles)
            )
            yield Page(
                f"{edition.base}/index.html", "list", "", self._framed(edition, "Contents", rows)
            )
            for number in range(self._count):
                yield self._page(edition, number)
        for number, url in zip(range(0, self._count, 2), marked, strict=True):
            page = self._page(current, number)
            yield Page(url, "documentation: highlighted", page.content, page.body)

    def _page(self, edition: _Edition, number: int) -> Page:
        main, content, kind = self._main[number], f"doc-{number}", edition.kind
        if edition.version == "15" and number % _EARLIER_EVERY == 0:
            places = [place.span() for place in _PARAGRAPH.finditer(main)]
            for start, end in reversed(places[1:3]):
                main = main[:start] + main[end:]
            content, kind = f"doc-{number}-15", "documentation: near version"
        return Page(
            f"{edition.base}/{number}.html",
            kind,
            content,
            self._framed(edition, self._titles[number], main),
        )

    def _written(self, number: int) -> str:
        writer = self._plan.prose.writer(f"docs {number}")
        if writer.random.random() < _REFERENCE_SHARE:
            return "".join(
                reference(self._plan.prose.writer(f"function {number} {place}"))
                for place in range(3)
            )
        return guide(writer, 3, 6)

    def _framed(self, edition: _Edition, title: str, main: str) -> bytes:
        ways = bullets(
            [
                link(f"{edition.base}/index.html", f"Tidewater {edition.version} documentation"),
                escape(title),
            ]
        )
        others = bullets(
            link(f"{each.base}/index.html", each.version) for each in self._editions[:3]
        )
        body = (
            f'<div class="related" role="navigation">{ways}</div><div class="document"><div '
            'class="body" role="main">'
            f"{edition.above}<h1>{escape(title)}</h1>{main}</div></div>"
            f'<div class="sphinxsidebar" role="navigation"><h3>Other versions</h3>{others}</div>'
            f'<div class="footer">Tidewater {edition.version}. Last updated on Nov 20, 2026.</div>'
        )
        return document(f"{title} - Tidewater {edition.version} documentation", body)
