"""A site that was built with known rules, and the verdicts of a perfect crawl of it."""

from __future__ import annotations

import random
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, NamedTuple

from crawldedup.advice import evidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

WWW, MOBILE = "https://www.example.com", "https://m.example.com"


@dataclass(frozen=True, slots=True)
class Seen:
    """A response with its `outcome`, as a journal has it."""

    url: str
    outcome: str
    original: str | None = None
    digest: str | None = None
    referer: str | None = None
    depth: int | None = None


def pages_of(seen: Iterable[Seen], most: int = evidence.MOST_PAGES) -> list[evidence.Page]:
    return evidence.pages_of(map(astuple, seen), most)


class Made(NamedTuple):
    """A page: its URL, the name of its content, and the URL of the page that links to it."""

    url: str
    content: str
    referer: str = ""


VIEWED = ("/news/", "/forum/", "/guides/")
PRINTED = (*VIEWED, "/print/")
BUILT_WITH = {
    ("query", WWW, "utm_campaign&utm_source", ""): VIEWED,
    ("query", WWW, "sid", ""): PRINTED,
    ("query", WWW, "sort", ""): ("/forum/",),
    ("query", WWW, "view=print", ""): ("/news/",),
    ("prefix", WWW, "/print/", "/news/"): ("/print/",),
    ("suffix", WWW, "/amp", ""): ("/news/",),
    ("suffix", WWW, "/index.html", "/"): ("/shop/",),
    ("query", WWW, ";jsessionid", ""): ("/shop/",),
    ("host", MOBILE, MOBILE, WWW): VIEWED,
}
"""The rules, and the folders where each holds."""


def known_site(size: int = 12, seed: int = 1) -> list[Made]:
    """All pages in the order of a crawl."""
    chooser = random.Random(seed)

    def token() -> str:
        return f"{chooser.randrange(10**7, 10**8)}{chooser.choice('abcdef')}{chooser.randrange(16**16):016x}"

    made: list[Made] = []

    def add(path: str, content: str, referer: str = "/", host: str = WWW) -> None:
        made.append(Made(host + path, content, WWW + referer))

    for number in range(size):
        news, forum, shop = f"/news/{number}", f"/forum/{number}", f"/shop/{number}/"
        for path in (news, forum, f"/guides/{number}"):
            add(path, path)
            for query in (
                "utm_source=a&utm_campaign=b",
                f"sid={token()}",
                f"utm_source=c&sid={token()}&utm_campaign=",
            ):
                add(f"{path}?{query}", path)
            add(path, path, host=MOBILE)
        for view in (
            f"/print/{number}",
            f"/print/{number}?sid={token()}",
            f"{news}/amp",
            f"{news}?view=print",
        ):
            add(view, news)
        # Other views have contents of their own.
        add(f"{news}?view=comments", f"comments {number}")
        add(f"{forum}?sort=new", forum)
        add(f"/list/{number}", f"list {number}")
        # The order matters for lists that are cut off.
        add(f"/list/{number}?sort=new", f"list {number} by date")
        for path in (shop, f"{shop}index.html", f"{shop};jsessionid={token()}"):
            add(path, shop)
        # These select contents, and one of them a wall.
        add(f"/show?id={number}", f"shown {number}")
        add(f"/show?id={number}&page=2", f"shown {number}, continued")
        for what in ("answer", "quote"):
            add(f"/members/{number}?do={what}", "the login form")
        # All these say the same, but each leads to another page.
        add(f"/calendar/{number}", f"year {number}")
        for month in range(3):
            add(f"/calendar/{number}?month={month}", f"year {number}", f"/calendar/{number}")
            add(
                f"/events/{number}-{month}",
                f"event {number} {month}",
                f"/calendar/{number}?month={month}",
            )
    return made


def verdicts(pages: Iterable[Made]) -> Iterator[Seen]:
    """What a crawl says of them."""
    originals: dict[str, str] = {}
    for url, content, referer in pages:
        original = originals.setdefault(content, url)
        yield (
            Seen(url, "new", referer=referer)
            if original == url
            else Seen(url, "exact", original, referer=referer)
        )


def copied(url: str, *views: str) -> list[Seen]:
    """A page and its copies."""
    return [Seen(url, "new"), *(Seen(view, "exact", url) for view in views)]
