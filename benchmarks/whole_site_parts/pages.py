"""Pages, each with the name of its content, and the HTML that they are made of."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.whole_site_parts.prose import Prose

ADDRESSES: Final = tuple(f"127.0.0.{number}" for number in range(1, 6))
HTML: Final = "text/html; charset=utf-8"
_PER_LIST: Final = 20


@dataclass(frozen=True)
class Page:
    """What the server answers for a URL.

    Pages of one `content` say the same. It is empty for redirects, and for the page that the crawl
    starts on. `kind` groups pages in the tables. A page of `old_http` is sent as HTTP/1.0 without
    its length.
    """

    url: str
    kind: str
    content: str
    body: bytes
    content_type: str = HTML
    location: str = ""
    old_http: bool = False


@dataclass(frozen=True)
class Hosts:
    """Where the site is: the host that the crawl starts on, and others of partners, mirrors and
    telephones.
    """

    own: str
    partner: str
    mirror: str
    second_partner: str
    mobile: str

    @classmethod
    def at(cls, port: int) -> Hosts:
        return cls(*(f"http://{address}:{port}" for address in ADDRESSES))


@dataclass(frozen=True)
class Plan:
    """What the parts of the site are made by: where they stand, who writes them, how large they
    are, and which day.
    """

    hosts: Hosts
    prose: Prose
    scale: float
    day: int = 1

    def count(self, at_full_size: int) -> int:
        """So many at this scale, two at least."""
        return max(2, round(at_full_size * self.scale))


def link(url: str, title: str) -> str:
    return f'<a href="{escape(url)}">{escape(title)}</a>'


def paragraphs(lines: Iterable[str]) -> str:
    return "\n".join(f"<p>{escape(line)}</p>" for line in lines)


def bullets(items: Iterable[str]) -> str:
    """A list of items that are HTML."""
    return f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"


def document(title: str, body: str, head: str = "") -> bytes:
    """A whole page."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta '
        f'charset="utf-8"><title>{escape(title)}</title>{head}</head>\n'
        f"<body>\n{body}\n</body></html>"
    ).encode()


def own_page(title: str, main: str, head: str = "") -> bytes:
    """A page in the template of the host that the crawl starts on."""
    menu = [
        link("/", "Front page"),
        link("/shop/0/", "Shop"),
        link("/forum/0/", "Forum"),
        link("/help/0.html", "Help"),
    ]
    return document(
        f"{title} | Harbour Post",
        '<header class="masthead"><a href="/">Harbour Post</a><p>News from the coast since '
        "1904</p></header>\n"
        f"<nav>{bullets(menu)}</nav>\n<main>{main}</main>\n"
        "<footer><p>Harbour Post, 3 Quay Street. Letters to the editor are welcome. We use cookies "
        "to count visits, "
        "and keep nothing that names you.</p><p>All rights reserved.</p></footer>",
        head,
    )


def lists(base: str, title: str, links: Sequence[tuple[str, str]]) -> list[Page]:
    """Lists of links with their titles, on the own host; each is a content of its own."""
    parts = [links[start : start + _PER_LIST] for start in range(0, len(links), _PER_LIST)]
    pages = []
    for number, part in enumerate(parts):
        url, heading = f"{base}/{number}/", f"{title}, part {number + 1} of {len(parts)}"
        main = f"<h1>{heading}</h1>{bullets(link(*each) for each in part)}"
        pages.append(
            Page(
                url,
                "list",
                f"list-{title.lower().replace(' ', '-')}-{number}",
                own_page(heading, main),
            )
        )
    return pages
