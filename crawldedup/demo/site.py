"""Build the demo site: 300 pages with the near duplicates of the real web, and a manifest of who is whose copy."""

from __future__ import annotations

import base64
import calendar
import datetime
import json
import re
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from html import escape
from typing import TYPE_CHECKING, Final

from crawldedup.demo.library import (
    Article,
    Content,
    all_articles,
    article_content,
    fill,
    link,
    magazine,
    plain,
    read_json,
)
from crawldedup.demo.server import HTML, NOT_FOUND, Reply, path_of, target_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ABOUT: Final = ("/about/", "/about/index.html", "/about/?from=menu", "/about/?from=footer", "/about/?lang=en&print=0")
PORTALS: Final = ("Second Breakfast", "The Weekend Shelf", "Nordlicht Digest")

_MONTH = re.compile(r"/calendar/(\d{4})-(0[1-9]|1[0-2])/")
# A visitor's calendar has no last page, and neither has this one, but `datetime.date` ends.
_LAST_YEAR = 9998


@dataclass(frozen=True, slots=True)
class SitePage:
    """A page: the server's answer, its entry in the manifest, and what it says.

    Pages of one `cluster` say the same; it is empty for redirects, errors and files. Pages with `judged` False have so
    few words, or so broken an encoding, that both keeping and dropping them is right.
    """

    reply: Reply
    kind: str
    cluster: str = ""
    judged: bool = True
    content: Content | None = None


# A list leads to a page by its path and query, with a title and a note; None stands for a page of another list.
Listed = tuple[str, str, str, SitePage | None]


class DemoSite:
    """Answers requests for the demo site, which is the same on every run; `pages` holds them by path and query."""

    name = "the demo site"

    def __init__(self) -> None:
        self.start_paths = ["/"]
        self.pages = all_pages()

    def reply(self, target: str) -> Reply:
        """See `Site`."""
        if target == "/manifest.json":
            entries = [
                {"path": path, "kind": page.kind, "cluster": page.cluster, "judged": page.judged}
                for path, page in self.manifest().items()
            ]
            return Reply(json.dumps(entries, indent=1).encode(), "application/json")
        page = self._page_at(target)
        return NOT_FOUND if page is None else page.reply

    def manifest(self) -> dict[str, SitePage]:
        """Return the pages that have copies or could have some, without the endless calendar."""
        return {path: page for path, page in self.pages.items() if page.cluster}

    def entry(self, url: str) -> SitePage | None:
        """Return the page at a URL of this site, whatever its host; None for what is no entry of the manifest."""
        page = self._page_at(target_of(url))
        return page if page is not None and page.cluster else None

    def _page_at(self, target: str) -> SitePage | None:
        path = path_of(target)
        return self.pages.get(target) or self.pages.get(path) or month_page(path)


def all_pages() -> dict[str, SitePage]:
    """Return every page of the site by path and query, without the endless calendar."""
    titles, shop, articles = read_json("lists.json"), read_json("goods.json"), _articles()
    newest = sorted(articles, key=lambda article: article.date, reverse=True)[:8]
    topics = {f"/topics/{topic}/": topic for topic in sorted({article.topic for article in articles})}
    lists: dict[str, Iterable[Listed]] = {
        "/": [(a.path, a.title, a.sentence(1), None) for a in newest],
        **{f"/{language}/": _stories(language) for language in sorted({article.language for article in articles})},
        "/topics/": [(path, *text[1:], None) for path, text in titles.items() if path in topics],
        **{path: _on_topic(topic) for path, topic in topics.items()},
        "/most-read/": _sessions(),
        "/print/": _prints(),
        "/mirror/": _mirror(),
        "/partners/": _partners(),
        "/archive/": _editions(),
        "/revisited/": _retold(),
        "/shop/": [(f"/shop/{c}/", titles[f"/shop/{c}/"][1], f"{len(shop[c]['items'])} articles", None) for c in shop],
        **{f"/shop/{category}/": _goods(category) for category in shop},
        "/notices/": _notices(),
        "/technical/": _technical(),
    }
    pages = _about()
    for path, listed in lists.items():
        items = ""
        for there, title, note, page in listed:
            items += f"<li>{link(there, title)} <span>{escape(note)}</span></li>" if title else ""
            if page is not None:
                pages[there] = page
        language, title, intro = titles[path]
        content = Content(language, title, f"<p>{escape(intro)}</p><ul class='list'>{items}</ul>")
        pages[path] = _page("list", path, content)
    return pages


def month_page(path: str) -> SitePage | None:
    """Return a page of the endless calendar: months look alike, and each links to both neighbours."""
    match = _MONTH.fullmatch(path)
    if match is None or not 1 < int(match[1]) <= _LAST_YEAR:
        return None
    month = datetime.date(int(match[1]), int(match[2]), 1)
    first_weekday, days = calendar.monthrange(month.year, month.month)
    html = fill(
        "calendar.html",
        grid="".join(f"<td>{day}</td>" + "</tr><tr>" * (day % 7 == 0) for day in range(1, days + 1)),
        saturday=1 + (calendar.SATURDAY - first_weekday) % 7,
        before=(month - datetime.timedelta(days=1)).isoformat()[:7],
        after=(month + datetime.timedelta(days=days)).isoformat()[:7],
    )
    content = Content("en", f"Events in {month:%B} {month.year}", html.strip())
    return _page("calendar", path, content, judged=False)


@cache
def _articles() -> tuple[Article, ...]:
    return tuple(article for article in all_articles() if article.topic != "about")


def _all_but(rest: int, step: int = 3) -> list[Article]:
    return [article for number, article in enumerate(_articles()) if number % step != rest]


def _page(kind: str, cluster: str, content: Content, html: str = "", *, judged: bool = True) -> SitePage:
    return SitePage(Reply((html or magazine(content)).encode()), kind, cluster, judged, content)


def _story(kind: str, article: Article, *, turn: int, cluster: str = "") -> SitePage:
    """Return an article in the magazine; another `turn` shows other links and comments, as on a later day."""
    same = [other for other in _articles() if other.language == article.language]
    here = [other.slug for other in same].index(article.slug)
    others = [same[(here + step + turn) % len(same)] for step in (1, 2, 3)]
    pool, first = read_json("phrases.json")[article.language]["comments"], len(article.slug) + turn
    content = article_content(article)
    html = magazine(
        content,
        related=[link(other.path, other.title) for other in others],
        comments=[pool[(first + step) % len(pool)] for step in range(1 + first % 3)],
        tools=_print_path(article) if article.slug in {each.slug for each in _all_but(0)} else "",
    )
    return _page(kind, cluster or article.slug, content, html)


def _print_path(article: Article) -> str:
    return f"/print/{article.language}/{article.slug}.html"


def _stories(language: str) -> Iterator[Listed]:
    for article in _articles():
        if article.language == language:
            yield article.path, article.title, article.sentence(0), _story("article", article, turn=0)


def _on_topic(topic: str) -> Iterator[Listed]:
    for article in _articles():
        if article.topic == topic:
            yield article.path, article.title, f"{article.author}: {article.sentence(2)}", None


def _sessions() -> Iterator[Listed]:
    for number, article in enumerate(_all_but(2)):
        path = f"{article.path}?sid={sha256(article.slug.encode()).hexdigest()[:16]}"
        note = f"{9000 - 61 * number} readers since {article.date}"
        yield path, article.title, note, _story("session", article, turn=1)


def _prints() -> Iterator[Listed]:
    for article in _all_but(0):
        content = article_content(article)
        page = _page("print", article.slug, content, plain("printed.html", content))
        yield _print_path(article), article.title, f"{len(article.text) // 1500 + 1} sheets", page


def _mirror() -> Iterator[Listed]:
    for number, article in enumerate(_all_but(1), start=1):
        file, content = f"{article.language}_{article.slug.replace('-', '_')}.htm", article_content(article)
        page = _page("mirror", article.slug, content, plain("mirrored.html", content, number=number, charset="utf-8"))
        yield f"/mirror/almanac/{file}", file, f"{len(article.text)} bytes {article.date} 03:00", page


def _partners() -> Iterator[Listed]:
    for number, article in enumerate(_all_but(0, step=2)):
        portal, content = number % len(PORTALS), article_content(article)
        others = [(escape(other.path), escape(other.title)) for other in _articles()[number : number + 4]]
        more = "".join(f'<div class="card"><a href="{path}"><h4>{title}</h4></a></div>' for path, title in others)
        html = plain("portal.html", content, name=PORTALS[portal], more=more)
        path, note = f"/partners/{portal + 1}/story-{4021 + 7 * number}/", f"has taken over: {article.title}"
        yield path, PORTALS[portal], note, _page("syndicated", article.slug, content, html)


def _editions() -> Iterator[Listed]:
    articles = {article.slug: article for article in _articles()}
    for slug, (edit, changes) in read_json("editions.json").items():
        article, page = articles[slug], _story("edited", articles[slug].edited(changes), turn=2)
        note = f"edited: {edit}, after {article.date}"
        yield f"{article.path}second-edition/", f"{article.title}, second edition", note, page


def _retold() -> Iterator[Listed]:
    for number, article in enumerate(article for article in _articles() if article.rewritten):
        version = ("retold", "new-ending")[number % 2]
        page = _story("rewritten", article.retold(version), turn=3, cluster=f"{article.slug}/{version}")
        yield f"{article.path}{version}/", f"{article.author} returns", f"{version}: {article.slug}", page


def _goods(category: str) -> Iterator[Listed]:
    goods = read_json("goods.json")[category]
    for number, (name, price, *values) in enumerate(goods["items"]):
        path, code = f"/shop/{category}/{number + 1}/", f"{category[:2].upper()}-{number * 37 + 104}"
        cells = zip(goods["columns"], values, strict=True)
        rows = "".join(f"<tr><th>{escape(key)}</th><td>{escape(value)}</td></tr>" for key, value in cells)
        html = fill("product.html", price=price, code=code, rows=rows, description=escape(goods["description"]))
        yield path, name, f"£ {price}", _page("product", path, Content("en", name, html.strip()))


def _notices() -> Iterator[Listed]:
    first_with: dict[str, str] = {}
    for slug, (heading, text) in read_json("notices.json").items():
        content, cluster = (
            Content("en", heading, f"<p>{escape(text)}</p>"),
            first_with.setdefault(text, f"notice/{slug}"),
        )
        page = _page("thin", cluster, content, judged=False)
        yield f"/notices/{slug}/", slug.replace("-", " ").capitalize(), "", page


def _about() -> dict[str, SitePage]:
    about = next(article for article in all_articles() if article.topic == "about")
    content = article_content(about)
    html = magazine(content, related=[link(path, f"About us ({number})") for number, path in enumerate(ABOUT, 1)])
    return dict.fromkeys(ABOUT, _page("self", about.slug, content, html))


def _technical() -> Iterator[Listed]:
    """Yield odd pages: encodings, broken markup, empty pages, and what is not a page at all."""
    contents = {article.slug: article_content(article) for article in _articles()}
    by_header = magazine(contents["cartes-des-sentiers"]).replace('<meta charset="utf-8">', "")
    by_meta = plain("mirrored.html", contents["les-hirondelles"], number=0, charset="iso-8859-1")
    made = {
        # What Latin-1 has no character for goes as a numeric reference, as browsers send it.
        "latin1-header.html": by_header.encode("latin-1", errors="xmlcharrefreplace"),
        "latin1-meta.html": by_meta.encode("latin-1", errors="xmlcharrefreplace"),
        "wrong-charset.html": magazine(contents["streuobst"]).encode(),
        "template-only.html": magazine(Content("en", "", "")).encode(),
        "yearbook.html": _yearbook().encode(),
    }
    for path, entry in read_json("technical.json").items():
        written = base64.b64decode(entry.get("base64", "")) or entry.get("body", "").encode()
        body = made.get(path.removeprefix("/technical/"), written)
        reply = Reply(body, entry.get("type", HTML), entry.get("status", 200), entry.get("headers"))
        cluster, judged = entry.get("cluster", ""), entry.get("judged", True)
        yield path, entry["title"], "", SitePage(reply, entry["kind"], cluster, judged, contents.get(cluster))


def _yearbook() -> str:
    """Return a big page in broken markup, as word processors wrote it: half of the old web has no end tags."""
    html = "<html><title>Yearbook</title></head><body><div><table><tr><td><font face=Times>\0"
    start = f'<p style="{"mso-margin-top-alt:auto;font-size:10.0pt;" * 8}"><b><i>'
    for number, article in enumerate(article for article in _articles() if article.language == "en"):
        html += f'</span></div><h2 id=a{number} class="year" class=book>{escape(article.title)}<h3></h2><center>'
        html += "".join(f"{start}{part} 3 < 4 & 5 > 4 </b></i><td><o:p></o:p>" for part in article.paragraphs)
        html += "<div>" * 20 + "<!-- page break -->" + "</div>" * 17 + "<ul><li><p><table><tr></ul>"
    return html
