"""Threads with session ids and sort orders, and links to answer them that end at the login wall."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from benchmarks.whole_site_parts.pages import Page, bullets, link, lists, own_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.whole_site_parts.pages import Plan
    from benchmarks.whole_site_parts.prose import Writer

THREADS: Final = 100
_VIEWS: Final = {
    "": "forum: thread",
    "?sid={a}": "forum: session",
    "?sid={b}": "forum: session",
    "?sid={c}": "forum: session",
    "?sort=new": "forum: newest first",
    "?sort=new&sid={a}": "forum: newest first",
}


def forum(plan: Plan) -> tuple[list[Page], list[Page]]:
    """Threads and walls, and the lists that lead to a thread with a session id."""
    threads, links = [], []
    for number in range(plan.count(THREADS)):
        writer = plan.prose.writer(f"thread {number}")
        title = writer.title()
        pages = _thread(plan, writer, number, title)
        threads += pages
        links.append((pages[2].url, title))
    return threads, lists(f"{plan.hosts.own}/forum", "Forum", links)


def _thread(plan: Plan, writer: Writer, number: int, title: str) -> list[Page]:
    random = plan.prose.random(f"forum {number}")
    base = f"{plan.hosts.own}/forum/thread-{number}"
    sessions = {name: f"{random.randrange(16**8):08x}" for name in "abc"}
    urls = {base + query.format(**sessions): kind for query, kind in _VIEWS.items()}
    posts = [
        f"<div class=post><p class=author>{writer.name()}, {writer.date()}</p>"
        f"<p>{escape(writer.paragraph(1, 4))}</p></div>"
        for _ in range(random.randint(3, 9))
    ]
    ways = [
        link(f"{base}/reply", "Answer"),
        *(link(url, f"View {place}") for place, url in enumerate(urls, 1)),
    ]
    pages = [Page(f"{base}/reply", "forum: login wall", "login-wall", _WALL)]
    for url, kind in urls.items():
        body = _view(title, posts[::-1] if "sort" in url else posts, ways, random.randint(3, 400))
        pages.append(Page(url, kind, f"thread-{number}", body))
    return pages


def _view(title: str, posts: Sequence[str], ways: Sequence[str], online: int) -> bytes:
    main = (
        f"<h1>{escape(title)}</h1>{''.join(posts)}{bullets(ways)}<p class=online>Users online: "
        f"{online}</p>"
    )
    return own_page(title, main)


_WALL: Final = own_page(
    "Log in",
    "<h1>Log in to answer</h1><p>You must be a member of the forum to answer. Members see pictures "
    "in full size, may "
    "send each other letters, and get a note when somebody answers them.</p><form><input name=user>"
    "<input name=password type=password><button>Log in</button></form><p>Have you forgotten your "
    "password? Write to "
    "the keepers of the forum, and tell them the name that you used.</p>",
)
