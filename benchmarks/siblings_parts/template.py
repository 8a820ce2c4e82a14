"""Make the HTML of a page from its content, in one of four templates."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

    from benchmarks.siblings_parts.languages import Language

_SECTIONS: Final = ("start", "news", "about", "contact", "help")
_HEROES: Final = ("lake", "forest", "hill", "coast", "harbor", "meadow")


class Template(StrEnum):
    """How a site is built. `HERO` is `MODERN` with a large picture that changes with every load,
    and `APP` is a shell that a script fills from data in the page.
    """

    MODERN = "modern"
    DIVS = "divs"
    TABLE = "table"
    HERO = "hero"
    APP = "app"


@dataclass(frozen=True)
class Content:
    """What a reader would want once.

    `text` is HTML that every view shows. `pictures` is HTML of pictures and players, and `controls`
    of forms and buttons: a print view has no controls. `words` is about how many words it shares
    with its siblings. An empty `heading` leaves the page without one, and an empty `title` leaves
    it with that of the site.
    """

    path: str
    title: str
    heading: str
    text: str
    words: int
    pictures: str = ""
    controls: str = ""
    declared: Mapping[str, object] | None = None
    """JSON-LD."""
    state: Mapping[str, object] | None = None
    """What an application embeds for its script."""


@dataclass(frozen=True)
class Load:
    """One answer of the site: who asks, and what changes with it."""

    language: Language
    site_title: str
    canonical: str
    session: str
    random: Random
    others: Sequence[Content]
    """Contents that the page teases."""

    def link(self, path: str, text: str) -> str:
        if self.session:
            path += f"{'&' if '?' in path else '?'}sid={self.session}"
        return f'<a href="{escape(path)}">{escape(text)}</a>'

    def seen(self) -> str:
        """A line about visits, with another number on every load."""
        return self.language.seen.format(self.random.randint(10, 99_999))


def as_shown(template: Template, content: Content, load: Load) -> str:
    """The page as a browser shows it."""
    return _document(content, load, _BODIES[template](content, load))


def as_printed(content: Content, load: Load, *, with_pictures: bool) -> str:
    """The page without its frame and its controls, and perhaps without its pictures."""
    title = escape(content.title or load.site_title)
    pictures = content.pictures if with_pictures else ""
    return (
        f'<!doctype html><html lang="{load.language.code}"><head><meta charset="utf-8">'
        f"<title>{title}</title>{_canonical(load)}</head>"
        f'<body onload="window.print()">{_heading(content)}{pictures}{content.text}'
        f"<hr><p>{escape(load.site_title)}, {_day(load)}</p></body></html>"
    )


def _document(content: Content, load: Load, body: str) -> str:
    title = f"{content.title} | {load.site_title}" if content.title else load.site_title
    declared = ""
    if content.declared is not None:
        declared = f'<script type="application/ld+json">{_json(content.declared)}</script>'
    return (
        f'<!doctype html>\n<html lang="{load.language.code}"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title>{_canonical(load)}{declared}"
        '<link rel="stylesheet" href="/static/site.css">'
        f"<script>var visit='{load.random.getrandbits(48):x}';</script></head>\n{body}</html>"
    )


def _modern(content: Content, load: Load) -> str:
    token = f'<input type="hidden" name="csrf" value="{load.random.getrandbits(128):032x}">'
    return f"""<body><header><a class="logo" href="/">{escape(load.site_title)}</a><nav>{_menu(load)}</nav>
<form action="/search" role="search">{token}<input name="q"></form></header>
<main><article>{_heading(content)}{_matter(content)}</article></main>
<aside>{_advert(load)}{_teasers(load)}</aside>
<footer><p>© {escape(load.site_title)}</p><p>{_day(load)}</p><p>{load.seen()}</p></footer></body>"""


def _hero(content: Content, load: Load) -> str:
    hero = f'<img class="hero" src="/media/hero/{load.random.choice(_HEROES)}.jpg" width="1600" height="600">'
    return _modern(content, load).replace("<article>", f"<article>{hero}", 1)


def _divs(content: Content, load: Load) -> str:
    return f"""<body><div id="wrap"><div id="top"><a href="/">{escape(load.site_title)}</a><span class="date">{_day(load)}</span></div>
<div class="menu">{_menu(load)}</div>
<div id="content">{_heading(content)}{_matter(content)}<p class="stats">{load.seen()}</p></div>
<div id="right">{_advert(load)}{_teasers(load)}</div><div id="foot">© {escape(load.site_title)}</div></div></body>"""


def _table(content: Content, load: Load) -> str:
    return f"""<body bgcolor="white"><table width="100%"><tr><td colspan="2"><img src="/gfx/logo.gif" alt="{escape(load.site_title)}"> {_day(load)}</td></tr>
<tr><td width="160" valign="top">{_menu(load)}</td><td>{_heading(content)}{_matter(content)}<hr>{_teasers(load)}<p>{load.seen()}</p></td></tr></table>
<center><small>© {escape(load.site_title)}</small></center></body>"""


def _app(content: Content, load: Load) -> str:
    visit = {"id": f"{load.random.getrandbits(64):x}", "hits": load.random.randint(1, 9999)}
    state = {"session": visit, **({"entity": content.state} if content.state else {})}
    return (
        '<body><noscript>JavaScript is required.</noscript><div id="root"></div>'
        f'<div class="page">{_heading(content)}{_matter(content)}</div>'
        f"<script>window.__INITIAL_STATE__={_json(state)};</script>"
        '<script defer src="/static/main.8f2b1c.js"></script></body>'
    )


_BODIES: Final[Mapping[Template, Callable[[Content, Load], str]]] = {
    Template.MODERN: _modern,
    Template.DIVS: _divs,
    Template.TABLE: _table,
    Template.HERO: _hero,
    Template.APP: _app,
}


def _matter(content: Content) -> str:
    return f"{content.pictures}\n{content.controls}\n{content.text}"


def _heading(content: Content) -> str:
    return f"<h1>{escape(content.heading)}</h1>" if content.heading else ""


def _canonical(load: Load) -> str:
    return f'<link rel="canonical" href="{escape(load.canonical)}">' if load.canonical else ""


def _menu(load: Load) -> str:
    entries = "".join(f"<li>{load.link(f'/{name}/', name.title())}</li>" for name in _SECTIONS)
    return f"<ul>{entries}</ul>"


def _teasers(load: Load) -> str:
    """Links to other contents, as boxes of related pages have them."""
    entries = "".join(
        f"<li>{load.link(other.path, other.title or load.site_title)}</li>" for other in load.others
    )
    return f'<div class="related"><h3>{escape(load.site_title)}</h3><ul>{entries}</ul></div>'


def _advert(load: Load) -> str:
    slot = load.random.randint(1, 10**6)
    return f'<div class="adslot"><iframe src="https://ads.example.net/show?slot={slot}"></iframe></div>'


def _day(load: Load) -> str:
    return f"{load.random.randint(1, 28)}.11.2026"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")
