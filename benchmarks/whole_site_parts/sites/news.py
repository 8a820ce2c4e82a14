"""A newspaper, its mobile site, and two partners that print its stories.

- A story has these addresses: its own, one with a feed's campaign, AMP, print and mobile views, and
  one at each partner. For every other story, the first partner names the article as canonical. For
  every eighth story, the second partner only has the first half, which is a separate piece of
  content.
- Every other story has a page of comments, in two orders. Half of these are empty, except for a
  line that invites readers to comment.
- "Updated 28 minutes ago - 104 comments" is in the head of a story, except in print, and a clock,
  the weather and the number of readers are in the masthead. They change with every load, and so
  does the box with the most-read stories.
- Every twentieth story is about deals, with prices in its text and in a box.
- Sections and lists don't count as content.

On the second day, one story in eight is new, and one in eight of the others has changed: it has
another paragraph, or one sentence was replaced.
"""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Final

from benchmarks.whole_site_parts.counters import choice
from benchmarks.whole_site_parts.news import ARTICLE, STORY
from benchmarks.whole_site_parts.pages import Page, bullets, document, link, paragraphs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.whole_site_parts.pages import Plan
    from benchmarks.whole_site_parts.prose import Text

STORIES: Final = 220
_EVERY: Final = 8
_DEALS_EVERY: Final = 20
_PER_LIST: Final = 20
_FEED: Final = "?utm_source=feed&utm_medium=rss"


class NewsSite:
    """All pages of the newspaper and of those around it."""

    def __init__(self, plan: Plan, texts: Sequence[Text]) -> None:
        self._plan, self._hosts = plan, plan.hosts
        known = [number for number in range(len(texts)) if plan.day > 1 or number % _EVERY != 1]
        self._stories = [_Story(plan, texts[number], number) for number in known]

    def pages(self) -> Iterator[Page]:
        own, stories = self._hosts.own, self._stories
        newest = stories[::-1]
        home = f"<h1>The Coast Courier</h1>{bullets(link(f'/section/{n}/', f'Section {n}') for n in self._places())}"
        others = (self._hosts.partner, self._hosts.second_partner, self._hosts.mobile)
        home += bullets(
            [
                link("/feed/", "All stories of our feed"),
                *(link(f"{host}/", host) for host in others),
            ]
        )
        yield Page(f"{own}/", "front page", "", self._framed("The Coast Courier", home))
        feed = bullets(link(story.url + _FEED, story.text.title) for story in newest)
        yield Page(f"{own}/feed/", "list", "", self._framed("Our feed", f"<h1>Our feed</h1>{feed}"))
        for place in self._places():
            shown = newest[place * _PER_LIST : (place + 1) * _PER_LIST]
            rows = bullets(link(story.url, story.text.title) for story in shown)
            body = self._framed(f"Section {place}", f"<h1>Section {place}</h1>{rows}")
            yield Page(f"{own}/section/{place}/", "list", "", body)
        for host in others:
            rows = bullets(link(story.at(host), story.text.title) for story in newest)
            yield Page(f"{host}/", "list", "", document("Stories", f"<h1>Stories</h1>{rows}"))
        for story in stories:
            yield from self._of_story(story)

    def _places(self) -> range:
        return range(-(-len(self._stories) // _PER_LIST))

    def _of_story(self, story: _Story) -> Iterator[Page]:
        hosts, canonical = self._hosts, f'<link rel="canonical" href="{story.url}">'
        full = self._full(story)
        amp = document(
            story.text.title,
            f"<header>{link(hosts.own + '/', 'The Coast Courier')}</header><article>{story.head()}{story.lines()}"
            f"</article><footer>{link(story.url, 'The whole page')}</footer>",
            canonical,
        )
        printed = document(
            story.text.title,
            f"{story.head(updated=False)}{story.lines()}<hr><p>Printed from {story.url} at "
            "10:¤¤</p>",
        )
        views = {
            story.url: (ARTICLE, full),
            story.url + _FEED: ("news: feed", full),
            story.amp_url: ("news: AMP", amp),
            story.print_url: ("news: print", printed),
            story.at(hosts.mobile): ("news: mobile", self._mobile(story, canonical)),
            story.at(hosts.partner): ("news: partner's copy", self._partners(story, canonical)),
        }
        for url, (kind, body) in views.items():
            yield Page(url, kind, story.content, body)
        is_cut = story.number % _EVERY == 0
        kind, content = (
            ("news: cut by a partner", f"{story.content}-cut")
            if is_cut
            else ("news: wire", story.content)
        )
        yield Page(story.at(hosts.second_partner), kind, content, self._wire(story, is_cut=is_cut))
        if story.has_comments:
            for order, kind in (
                ("", "news: comments"),
                ("?order=newest", "news: comments, newest first"),
            ):
                body = self._framed(
                    f"Comments: {story.text.title}", story.comments(newest=bool(order))
                )
                yield Page(
                    f"{hosts.own}/comments/{story.number}{order}",
                    kind,
                    f"comments-{story.number}",
                    body,
                )

    def _full(self, story: _Story) -> bytes:
        around, lines = self._plan.prose.writer(f"beside {story.number}"), story.text.paragraphs
        half = len(lines) // 2
        ways = [link(story.amp_url, "For telephones"), link(story.print_url, "Print")]
        ways += [link(f"/comments/{story.number}", "Comments")] if story.has_comments else []
        deals = "".join(
            f"<li>{around.term()} {around.term()}: $ {around.random.randint(5, 90)}.99"
            for _ in range(4)
        )
        box = (
            f"<div class=deals><h3>Deals we like</h3><ul>{deals}</ul></div>"
            if story.has_deals
            else ""
        )
        main = (
            f"<article>{story.head()}<figure><img "
            f"src=/{story.number}.jpg><figcaption>{escape(around.sentence())}"
            f"</figcaption></figure>{paragraphs(lines[:half])}{box}{paragraphs(lines[half:])}"
            f"<p class=author>{story.text.author} writes about {around.term()} and "
            f"{around.term()}.</p></article>"
            f"{bullets(ways)}"
        )
        return self._framed(story.text.title, main, f'<link rel="amphtml" href="{story.amp_url}">')

    def _mobile(self, story: _Story, canonical: str) -> bytes:
        body = (
            f"<div class=bar>{link(self._hosts.mobile + '/', 'Courier mobile')} 10:¤¤ | ¤ "
            "degrees</div>"
            f"<div class=story>{story.head()}{story.lines()}</div><div class=foot>Get our app. "
            f"{link(story.url, 'Desktop view')}</div>"
        )
        return document(story.text.title, body, canonical)

    def _partners(self, story: _Story, canonical: str) -> bytes:
        around = self._plan.prose.writer(f"shelf {story.number}")
        teasers = bullets(
            f"<h4>{around.term()}</h4><p>{escape(around.sentence())}</p>" for _ in range(3)
        )
        body = (
            f"<div class=top>{link(self._hosts.partner + '/', 'The Weekend Shelf')}</div><div "
            "class=content><h2>"
            f"{escape(story.text.title)}</h2><div class=meta>{story.text.author}, shared ¤¤¤ "
            "times</div>"
            f"<div class=text>{story.lines()}</div><p>{link(story.url + _FEED, 'At the source')}</p></div>"
            f"<div class=more><h3>More on the shelf</h3>{teasers}</div><div class=bottom>We "
            "collect "
            "what others write.</div>"
        )
        return document(story.text.title, body, canonical if story.number % 2 else "")

    def _wire(self, story: _Story, *, is_cut: bool) -> bytes:
        lines = story.text.paragraphs
        shown = lines[: max(1, len(lines) // 2)] if is_cut else lines
        more = "<p>Read the rest in the Coast Courier.</p>" if is_cut else ""
        body = (
            "<table><tr><td "
            f"class=logo>{link(self._hosts.second_partner + '/', 'Wire Room')}<td>Visitors today: "
            "¤¤¤¤"
            f"</table><table><tr><td><h1>{escape(story.text.title)}</h1>"
            f"<p><i>From our partners, {story.text.date}</i></p>"
            f"{paragraphs(shown)}{more}<td class=side><b>Weather</b><br>¤ degrees, wind ¤¤ "
            "km/h</table>"
        )
        return document(story.text.title, body)

    def _framed(self, title: str, main: str, head: str = "") -> bytes:
        writer = self._plan.prose.writer(f"most read on day {self._plan.day}")
        boxes = [bullets(escape(writer.title()) for _ in range(5)) for _ in range(3)]
        body = (
            f"<header class=masthead>{link('/', 'The Coast Courier')}<p>Thursday, 10:¤¤ | ¤ "
            "degrees | ¤¤¤ readers</p>"
            f"</header><nav>{link('/feed/', 'Feed')}</nav>\n<main>{main}</main>\n<aside "
            "class=sidebar>"
            f"<h3>Most read</h3>{choice(*boxes)}</aside>\n<footer><p>The Coast Courier, 3 Quay "
            "Street. All rights "
            "reserved.</p></footer>"
        )
        return document(f"{title} | The Coast Courier", body, head)


class _Story:
    """A story as it is on the day; its content has another name once it has changed."""

    def __init__(self, plan: Plan, text: Text, number: int) -> None:
        self.number, self.text = number, text
        writer = plan.prose.writer(f"story {number}")
        self.has_deals, self.has_comments = number % _DEALS_EVERY == 7, number % 2 == 0
        own, self._slug = plan.hosts.own, f"2026/11/{number}-{writer.term()}"
        self.url, self.amp_url = f"{own}/{self._slug}", f"{own}/amp/{self._slug}"
        self.print_url = f"{own}/print/{number}"
        self._comments = [
            (writer.name(), writer.paragraph(1, 3)) for _ in range(writer.random.randint(2, 6))
        ]
        lines = list(text.paragraphs)
        if self.has_deals:
            deal = f"{writer.term()} is down to $ {writer.random.randint(5, 90)}.99 and was $ 120. "
            lines.insert(1, deal + writer.sentence())
        changed = plan.day > 1 and number % _EVERY == 2
        if changed and number % (2 * _EVERY) == 2:
            lines.append(writer.paragraph())
        elif changed:
            lines[-1] = f"{lines[-1]} {writer.sentence()}"
        self.text = replace(text, paragraphs=lines)
        self.content = f"{STORY}{number}{'.2' if changed else ''}"

    def at(self, host: str) -> str:
        return f"{host}/{self._slug}"

    def head(self, *, updated: bool = True) -> str:
        since = "<p class=updated>Updated ¤¤ minutes ago - ¤¤¤ comments</p>" if updated else ""
        return (
            f"<h1>{escape(self.text.title)}</h1><p class=byline>By {self.text.author}, "
            f"{self.text.date}</p>{since}"
        )

    def lines(self) -> str:
        return paragraphs(self.text.paragraphs)

    def comments(self, *, newest: bool) -> str:
        heading = f"<h1>Comments: {escape(self.text.title)}</h1><p>{link(self.url, 'Back to the story')}</p>"
        order = link(f"/comments/{self.number}?order=newest", "Newest first")
        if self.number % 4 == 0:
            return f"{heading}<p>Be the first to comment on this story.</p>{order}"
        posts = [
            f"<div class=comment><b>{name}</b><p>{escape(text)}</p></div>"
            for name, text in self._comments
        ]
        return f"{heading}{''.join(posts[::-1] if newest else posts)}{order}"
