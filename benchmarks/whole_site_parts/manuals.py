"""Documentation in several manuals, guides and references; the first manuals are mirrored on
another host.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from benchmarks.whole_site_parts.pages import Page, bullets, document, link, paragraphs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.whole_site_parts.pages import Plan
    from benchmarks.whole_site_parts.prose import Writer

PAGES: Final = 1150
MANUALS: Final = ("Tidewater", "Lantern", "Gasworks", "Ropewalk", "Beacon", "Foghorn")
_MIRRORED: Final = 2
_PER_CHAPTER: Final = 16
_REFERENCE_SHARE: Final = 0.4
_BANNER: Final = (
    '<div class="mirror-banner"><p>This is a mirror of the documentation, brought up to date each '
    "night. Report what "
    "is wrong with it to the keepers of the mirror, and what is wrong with the text to its "
    "authors.</p></div>"
)


def manuals(plan: Plan) -> tuple[list[Page], list[Page]]:
    """All pages, mirrored ones included, and the first page of each manual on each host."""
    each = plan.count(PAGES) // len(MANUALS) or 1
    pages, firsts = [], []
    for number, name in enumerate(MANUALS):
        for base, banner in ((plan.hosts.own, ""), (plan.hosts.mirror, _BANNER))[
            : 1 + (number < _MIRRORED)
        ]:
            made = _Manual(plan, name, f"{base}/docs/{name.lower()}", banner).pages(each)
            firsts.append(made[0])
            pages += made
    return pages, firsts


class _Manual:
    """One manual on one host: a contents page, and pages in chapters with links to their
    neighbors.
    """

    def __init__(self, plan: Plan, name: str, base: str, banner: str) -> None:
        self._plan, self._name, self._base, self._banner = plan, name, base, banner
        self._kind = "documentation: mirror" if banner else "documentation"
        self._about = plan.prose.writer(f"manual {name}")
        self._notice = self._about.sentence()

    def pages(self, count: int) -> list[Page]:
        """The contents first, which is one of the pages."""
        writers = [
            self._plan.prose.writer(f"manual {self._name} {number}") for number in range(count - 1)
        ]
        titles = [writer.title() for writer in writers]
        contents = self._page("index", f"{self._name} manual", self._contents(titles), count - 1)
        return [
            contents,
            *(self._written(number, titles, writer) for number, writer in enumerate(writers)),
        ]

    def _contents(self, titles: Sequence[str]) -> str:
        links = [link(self._url(number), title) for number, title in enumerate(titles)]
        chapters = [
            links[start : start + _PER_CHAPTER] for start in range(0, len(links), _PER_CHAPTER)
        ]
        text = paragraphs(self._plan.prose.writer(f"preface {self._name}").paragraphs(1, 2))
        return text + "".join(
            f"<h2>Chapter {place}</h2>{bullets(of)}" for place, of in enumerate(chapters, 1)
        )

    def _written(self, number: int, titles: Sequence[str], writer: Writer) -> Page:
        write: Callable[[Writer], str] = (
            reference if writer.random.random() < _REFERENCE_SHARE else guide
        )
        return self._page(str(number), titles[number], write(writer), len(titles), number)

    def _page(
        self, name: str, title: str, main: str, count: int, number: int | None = None
    ) -> Page:
        ways = [link(self._url("index"), f"{self._name} manual")]
        if number is not None:
            ways += [
                link(self._url(place), "Next" if place > number else "Previous")
                for place in (number - 1, number + 1)
                if 0 <= place < count
            ]
        way = bullets(ways)
        body = (
            f'{self._banner}<div class="related" role="navigation">{way}</div><div '
            'class="document">'
            f'<div class="body" role="main"><h1>{escape(title)}</h1>{main}</div></div>'
            '<div class="sphinxsidebar" role="navigation"><h3>This '
            f"manual</h3><p>{escape(self._notice)}</p></div>"
            f'<div class="related" role="navigation">{way}</div>'
            f'<div class="footer">The {self._name} project, version 3.2. Made from its sources in '
            "May.</div>"
        )
        content = f"manual-{self._name.lower()}-{name}"
        return Page(
            self._url(name), self._kind, content, document(f"{title} - {self._name} 3.2", body)
        )

    def _url(self, name: int | str) -> str:
        return f"{self._base}/{name}.html"


def guide(writer: Writer, fewest: int = 1, most: int = 4) -> str:
    """Sections of prose with lists and examples."""
    parts = []
    for _ in range(writer.random.randint(fewest, most)):
        parts += [f"<h2>{escape(writer.title())}</h2>", paragraphs(writer.paragraphs(1, 3))]
        if writer.random.random() < 0.4:
            parts.append(bullets(escape(writer.sentence()) for _ in range(3)))
        if writer.random.random() < 0.4:
            parts.append(f"<pre>{writer.term()} --{writer.term()} {writer.term()}.conf</pre>")
    return "\n".join(parts)


def reference(writer: Writer) -> str:
    """A function as references describe it: little text of its own between phrases that all such
    pages have.
    """
    name, arguments = writer.term(), [writer.term() for _ in range(writer.random.randint(1, 4))]
    rows = "".join(
        f"<tr><td>{each}</td><td>{escape(writer.sentence())}</td></tr>" for each in arguments
    )
    return (
        f"<h2>Name</h2><p>{name}: {escape(writer.sentence())}</p>"
        f"<h2>Synopsis</h2><pre>{name}({', '.join(arguments)})</pre>"
        f"<h2>Parameters</h2><table>{rows}</table>"
        "<h2>Return value</h2><p>Upon success the function returns zero. Otherwise it returns -1 "
        "and sets the error "
        f"number to tell what went wrong.</p><p>{escape(writer.sentence())}</p>"
        f"<h2>See also</h2><p>{writer.term()}, {writer.term()}</p>"
    )
