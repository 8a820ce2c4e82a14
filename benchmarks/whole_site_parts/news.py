"""Stories, each at six URLs: article, session, print view, tracking parameters, AMP view, and a
partner's copy.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from benchmarks.whole_site_parts.pages import (
    Page,
    bullets,
    document,
    link,
    lists,
    own_page,
    paragraphs,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.whole_site_parts.pages import Plan
    from benchmarks.whole_site_parts.prose import Text

STORIES: Final = 181
ARTICLE: Final = "news: article"
STORY: Final = "story-"
_PER_LIST: Final = 20
# Of so many stories one has a box within the text, here and at the partner's.
_WITH_FACTS: Final = 4
_WITH_TEASERS: Final = 5


def news(plan: Plan, texts: Sequence[Text]) -> tuple[list[Page], list[Page], list[Page]]:
    """All pages about stories, and the lists of the own host and of the partner that lead to them."""
    stories = [_Story(plan, texts, number) for number in range(len(texts))]
    own = plan.hosts.own
    # No list has the stories of another, or it would be its copy.
    sections, read = (
        plan.prose.random(name).sample(stories, len(stories)) for name in ("sections", "most read")
    )
    own_lists = [
        *lists(f"{own}/section", "Section", [(story.url, story.text.title) for story in sections]),
        *lists(
            f"{own}/most-read",
            "Most read",
            [(story.session_url, story.text.title) for story in read],
        ),
    ]
    partner_lists = [
        _partner_list(plan, start // _PER_LIST, stories[start : start + _PER_LIST])
        for start in range(0, len(stories), _PER_LIST)
    ]
    return [page for story in stories for page in story.pages()], own_lists, partner_lists


class _Story:
    """A story and its pages.

    What stands around its text is another's on the own host and on the partner's.
    """

    def __init__(self, plan: Plan, texts: Sequence[Text], number: int) -> None:
        self._plan, self._all, self._number, self.text = plan, texts, number, texts[number]
        own, before = plan.hosts.own, number - 1 if number else len(texts) - 1
        self.url = f"{own}/news/{number}.html"
        self.session_url = (
            f"{self.url}?sid={plan.prose.random(f'sid {number}').randrange(16**8):08x}"
        )
        self.partner_url = f"{plan.hosts.partner}/shelf/{number}"
        self._tracked_url = f"{self.url}?utm_source=shelf&utm_medium=story"
        self._print_url, self._amp_url = f"{own}/print/{number}.html", f"{own}/amp/{number}.html"
        self._read_also = link(f"{own}/news/{before}.html", texts[before].title)
        self._head = (
            f"<h1>{escape(self.text.title)}</h1><p class=byline>By {self.text.author}, "
            f"{self.text.date}</p>"
        )

    def pages(self) -> list[Page]:
        """One of each kind."""
        full = self._full_page()
        return [
            self._page(self.url, ARTICLE, full),
            self._page(self.session_url, "news: session", full),
            self._page(self._tracked_url, "news: tracked", full),
            self._page(self._print_url, "news: print", self._printed()),
            self._page(self._amp_url, "news: AMP", self._amp()),
            self._page(self.partner_url, "news: partner's copy", self._partners()),
        ]

    def _page(self, url: str, kind: str, body: bytes) -> Page:
        return Page(url, kind, f"{STORY}{self._number}", body)

    def _full_page(self) -> bytes:
        """The own template: a picture, boxes within the text, a column beside it, the author and
        comments below.
        """
        lines, around = self.text.paragraphs, self._plan.prose.writer(f"around {self._number}")
        half = len(lines) // 2
        tools = [
            link(self._print_url, "Print"),
            link(self._amp_url, "For telephones"),
            link(self.session_url, "Share"),
        ]
        picture = f'<figure><img src="/{self._number}.jpg"><figcaption>{escape(around.sentence())}</figcaption></figure>'
        facts = bullets(escape(around.sentence()) for _ in range(3))
        box = (
            f"<div class=facts><h4>In short</h4>{facts}</div>"
            if self._number % _WITH_FACTS == 0
            else ""
        )
        about = (
            f"<p class=author>{self.text.author} writes about {around.term()} and "
            f"{around.term()}.</p>"
        )
        comments = "".join(
            f"<div class=comment><b>{around.name()}</b><p>{escape(around.sentence())}</p></div>"
            for _ in range(2)
        )
        return own_page(
            self.text.title,
            f"<article>{self._head}{picture}{paragraphs(lines[:half])}<aside class=box><p>Read "
            f"also: {self._read_also}"
            f"</p></aside>{box}{paragraphs(lines[half:])}{about}</article>\n"
            f"{bullets(tools)}<aside class=sidebar><h3>Most read</h3>"
            f"{bullets(escape(around.sentence()) for _ in range(3))}</aside>\n"
            f"<section class=comments id=comments><h3>Comments</h3>{comments}</section>",
            f'<link rel="amphtml" href="{self._amp_url}">',
        )

    def _printed(self) -> bytes:
        source = link(self.url, self.url.partition("//")[2])
        body = f"{self._head}{paragraphs(self.text.paragraphs)}<hr><p>Printed from {source}</p>"
        return document(self.text.title, body)

    def _amp(self) -> bytes:
        body = (
            f"<header>{link(self._plan.hosts.own + '/', 'Harbour Post')}</header>"
            f"<article>{self._head}{paragraphs(self.text.paragraphs)}</article>"
            f"<footer>{link(self.url, 'The whole page')}</footer>"
        )
        return document(self.text.title, body, self._canonical())

    def _partners(self) -> bytes:
        """Another template, with teasers within some texts; every other page names the article as
        its original.
        """
        text, around = self.text, self._plan.prose.writer(f"partner {self._number}")
        home = f"{self._plan.hosts.partner}/list/{(len(self._all) - 1) // _PER_LIST}"
        teasers = bullets(
            f"<h4>{around.term()}</h4><p>{escape(around.sentence())}</p>" for _ in range(3)
        )
        half = len(text.paragraphs) // 2
        within = teasers if self._number % _WITH_TEASERS == 0 else ""
        body = (
            f"<div class=top>{link(home, 'The Weekend Shelf')} <span>What we read "
            f"elsewhere</span></div><div class=content><h2>{escape(text.title)}</h2><div "
            f"class=meta>{text.author} for "
            "the Harbour Post</div><div class=text><p>This story first appeared in the Harbour "
            "Post, and stands here "
            f"by its leave.</p>{paragraphs(text.paragraphs[:half])}{within}{paragraphs(text.paragraphs[half:])}"
            f"</div><p>{link(self._tracked_url, 'At the source')}</p>"
            f"</div><div class=more><h3>More on the shelf</h3>{teasers}</div>"
            "<div class=bottom>The Weekend Shelf collects what others write. Subscribe to the "
            "letter that goes out on "
            "Fridays, or follow us where you read.</div>"
        )
        return document(text.title, body, "" if self._number % 2 else self._canonical())

    def _canonical(self) -> str:
        return f'<link rel="canonical" href="{self.url}">'


def _partner_list(plan: Plan, number: int, stories: Sequence[_Story]) -> Page:
    links = bullets(link(story.partner_url, story.text.title) for story in stories)
    body = document("The Weekend Shelf", f"<h1>The Weekend Shelf, part {number + 1}</h1>{links}")
    return Page(f"{plan.hosts.partner}/list/{number}", "list", f"shelf-{number}", body)
