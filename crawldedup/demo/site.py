"""Build and serve the demo site: 300 pages with the near duplicates of the real web, and a manifest of copies.

Its texts lie in ``texts/``. A ``.txt`` file there holds the articles of one language. An article is a head of
``name: value`` lines, a blank line and paragraphs. A section ``== rewrite keep N`` holds the paragraphs that follow the
first N in a second version. `python -m crawldedup.demo.site` serves the site alone.
"""

import argparse
import base64
import calendar
import contextlib
import datetime
import json
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from string import Template
from typing import Any, Final, Self

HTML: Final = "text/html; charset=utf-8"
ABOUT: Final = ("/about/", "/about/index.html", "/about/?from=menu", "/about/?from=footer", "/about/?lang=en&print=0")
PORTALS: Final = ("Second Breakfast", "The Weekend Shelf", "Nordlicht Digest")

_SENTENCE = re.compile(r"[^.!?。]+[.!?。]\s*")
# A visitor's calendar has no last page, and neither has this one within reach.
_MONTH = re.compile(r"/calendar/([12]\d{3})-(0[1-9]|1[0-2])/")


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server answers. `headers` come beside Content-Type and Content-Length."""

    body: bytes
    content_type: str = HTML
    status: int = 200
    headers: Mapping[str, str] | None = None


NOT_FOUND: Final = Reply(b"<html><body><h1>Not found</h1></body></html>", status=404)


def path_of(target: str) -> str:
    """Return a request target without its query. Never raises; `urlsplit` does, for some of what clients send."""
    return target.partition("#")[0].partition("?")[0]


def target_of(url: str) -> str:
    """Return what a client sends to the server of this URL: the path and the query."""
    return "/" + url.partition("#")[0].partition("://")[2].partition("/")[2] if "://" in url else url


class LocalServer(ThreadingHTTPServer):
    """A web server for a crawl of this machine."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print what went wrong at a request, unless its client has left."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextlib.contextmanager
def serving(reply_to: Callable[[str], Reply], port: int = 0) -> Iterator[str]:
    """Serve a site from threads of this process; yields its base URL. Port 0 takes any free port.

    `reply_to` answers a request target: a path, perhaps with a query. It must not raise for any target.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Headers and body leave in one packet; in two, each answer may wait 40 ms for an acknowledgement.
        wbufsize = -1

        def do_GET(self) -> None:
            reply = reply_to(self.path)
            self.send_response(reply.status)
            about = {"Content-Type": reply.content_type, "Content-Length": str(len(reply.body))}
            for name, value in (about | dict(reply.headers or {})).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing: the crawl reports on its pages itself."""

    with LocalServer(("127.0.0.1", port), Handler) as server:
        # A short poll interval lets the server stop in no noticeable time.
        threading.Thread(target=server.serve_forever, args=(0.05,), name="crawldedup-demo", daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


@dataclass(frozen=True, slots=True)
class Content:
    """A page's own part: a heading, perhaps a line below it, and a fragment of HTML."""

    language: str
    title: str
    html: str
    byline: str = ""


@dataclass(frozen=True, slots=True)
class Article:
    """One text: `date` is ISO 8601, `rewritten` holds the paragraphs of a second version, if there is one."""

    slug: str
    language: str
    title: str
    author: str
    date: str
    topic: str
    paragraphs: tuple[str, ...]
    rewritten: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        return f"/{self.language}/{self.slug}/"

    @property
    def text(self) -> str:
        """Return the paragraphs, one a line."""
        return "\n".join(self.paragraphs)

    @property
    def content(self) -> Content:
        html = "\n".join(f"<p>{escape(paragraph)}</p>" for paragraph in self.paragraphs)
        by = read_json("phrases.json")[self.language]["labels"]["by"]
        return Content(self.language, self.title, html, f"{by} {self.author}, {self.date}")

    def sentence(self, number: int) -> str:
        """Return one sentence, as a teaser."""
        return [match[0] for match in _SENTENCE.finditer(self.text)][number].strip()

    def edited(self, changes: Sequence[tuple[str, str]]) -> Self:
        """Return a later edition, in which every old part of the text gives way to a new one."""
        text = "\n\n".join(self.paragraphs)
        for old, new in changes:
            text = text.replace(old, new, 1)
        later = datetime.date.fromisoformat(self.date) + datetime.timedelta(days=9)
        return replace(self, date=later.isoformat(), paragraphs=tuple(text.split("\n\n")))

    def retold(self, version: str) -> Self:
        """Return the second version of an article that has one; "new-ending" replaces the last paragraph alone."""
        new = [paragraph for paragraph in self.rewritten if paragraph not in self.paragraphs]
        return replace(self, paragraphs=(*self.paragraphs[:-1], *new) if version == "new-ending" else self.rewritten)


@cache
def read_text(name: str) -> str:
    """Return a file of ``texts/``."""
    return Path(__file__).with_name("texts").joinpath(name).read_text(encoding="utf-8")


@cache
def read_json(name: str) -> Any:
    """Return the object in a JSON file of ``texts/``: ``phrases.json`` holds labels and comments by language."""
    return json.loads(read_text(name))


@cache
def all_articles() -> tuple[Article, ...]:
    """Return every article, by language and then in the order of the file."""
    files = ((read_text(f"{language}.txt"), language) for language in ("de", "en", "es", "fr", "ja", "ru"))
    return tuple(_parse(block, language) for text, language in files for block in text.split("==== article\n"))


def _fill(template: str, **parts: object) -> str:
    return Template(read_text(template)).substitute(parts)


def _link(path: str, title: str) -> str:
    return f'<a href="{escape(path)}">{escape(title)}</a>'


def _magazine(content: Content, *, related: Sequence[str] = (), comments: Sequence[str] = (), tools: str = "") -> str:
    labels = {name: escape(label) for name, label in read_json("phrases.json")[content.language]["labels"].items()}
    links = "".join(f"<li>{link}</li>" for link in related)
    said = "".join(f'<div class="comment"><p>{escape(comment)}</p></div>' for comment in comments)
    heading = f"<h3>{labels['comments']} ({len(comments)})</h3>"
    parts = {
        "title_length": len(content.title),
        "byline": content.byline and f'<p class="byline">{escape(content.byline)}</p>',
        "tools": tools and f'<p><a href="{tools}">{labels["print"]}</a></p>',
        "related_links": links and f'<section class="related"><h3>{labels["related"]}</h3><ul>{links}</ul></section>',
        "comment_list": said and f'<section id="comments" class="comments">{heading}{said}</section>',
    }
    return _plain("magazine.html", content, **labels | parts)


def _plain(template: str, content: Content, **parts: object) -> str:
    own = {"lang": content.language, "title": escape(content.title), "html": content.html}
    return _fill(template, **own | {"byline": escape(content.byline)} | parts)


def _parse(block: str, language: str) -> Article:
    original, _, rewrite = block.strip().partition("\n\n== rewrite keep ")
    head, *paragraphs = original.split("\n\n")
    kept, *ending = rewrite.split("\n\n")
    rewritten = (*paragraphs[: int(kept)], *ending) if rewrite else ()
    values = dict(line.split(": ", 1) for line in head.splitlines())
    return Article(**values, language=language, paragraphs=tuple(paragraphs), rewritten=rewritten)


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

    def __init__(self) -> None:
        self.pages = all_pages()

    def reply(self, target: str) -> Reply:
        """Answer a request target, as `serving` wants it."""
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
    newest = sorted(articles, key=lambda a: a.date, reverse=True)[:8]
    topics = {f"/topics/{topic}/": topic for topic in sorted({a.topic for a in articles})}
    lists: dict[str, Iterable[Listed]] = {
        "/": [(a.path, a.title, a.sentence(1), None) for a in newest],
        **{f"/{language}/": _stories(language) for language in sorted({a.language for a in articles})},
        "/topics/": [(path, *text[1:], None) for path, text in titles.items() if path in topics],
        **{
            path: [(a.path, a.title, f"{a.author}: {a.sentence(2)}", None) for a in articles if a.topic == topic]
            for path, topic in topics.items()
        },
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
            items += f"<li>{_link(there, title)} <span>{escape(note)}</span></li>" if title else ""
            if page is not None:
                pages[there] = page
        language, title, intro = titles[path]
        content = Content(language, title, f"<p>{escape(intro)}</p><ul class='list'>{items}</ul>")
        pages[path] = _page("list", path, content)
    return pages


def month_page(path: str) -> SitePage | None:
    """Return a page of the endless calendar: months look alike, and each links to both neighbours."""
    match = _MONTH.fullmatch(path)
    if match is None:
        return None
    month = datetime.date(int(match[1]), int(match[2]), 1)
    first_weekday, days = calendar.monthrange(month.year, month.month)
    html = _fill(
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
    return SitePage(Reply((html or _magazine(content)).encode()), kind, cluster, judged, content)


def _story(kind: str, article: Article, *, turn: int, cluster: str = "") -> SitePage:
    """Return an article in the magazine; another `turn` shows other links and comments, as on a later day."""
    same = [other for other in _articles() if other.language == article.language]
    here = [other.slug for other in same].index(article.slug)
    related = [same[(here + step + turn) % len(same)] for step in (1, 2, 3)]
    pool, first = read_json("phrases.json")[article.language]["comments"], len(article.slug) + turn
    html = _magazine(
        article.content,
        related=[_link(other.path, other.title) for other in related],
        comments=[pool[(first + step) % len(pool)] for step in range(1 + first % 3)],
        tools=_print_path(article) if article.slug in {printed.slug for printed in _all_but(0)} else "",
    )
    return _page(kind, cluster or article.slug, article.content, html)


def _print_path(article: Article) -> str:
    return f"/print/{article.language}/{article.slug}.html"


def _stories(language: str) -> Iterator[Listed]:
    for article in _articles():
        if article.language == language:
            yield article.path, article.title, article.sentence(0), _story("article", article, turn=0)


def _sessions() -> Iterator[Listed]:
    for number, article in enumerate(_all_but(2)):
        path = f"{article.path}?sid={sha256(article.slug.encode()).hexdigest()[:16]}"
        note = f"{9000 - 61 * number} readers since {article.date}"
        yield path, article.title, note, _story("session", article, turn=1)


def _prints() -> Iterator[Listed]:
    for article in _all_but(0):
        page = _page("print", article.slug, article.content, _plain("printed.html", article.content))
        yield _print_path(article), article.title, f"{len(article.text) // 1500 + 1} sheets", page


def _mirror() -> Iterator[Listed]:
    for number, article in enumerate(_all_but(1), start=1):
        file, content = f"{article.language}_{article.slug.replace('-', '_')}.htm", article.content
        page = _page("mirror", article.slug, content, _plain("mirrored.html", content, number=number, charset="utf-8"))
        yield f"/mirror/almanac/{file}", file, f"{len(article.text)} bytes {article.date} 03:00", page


def _partners() -> Iterator[Listed]:
    for number, article in enumerate(_all_but(0, step=2)):
        portal, content = number % len(PORTALS), article.content
        more = "".join(
            f'<div class="card"><a href="{escape(other.path)}"><h4>{escape(other.title)}</h4></a></div>'
            for other in _articles()[number : number + 4]
        )
        html = _plain("portal.html", content, name=PORTALS[portal], more=more)
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
        html = _fill("product.html", price=price, code=code, rows=rows, description=escape(goods["description"]))
        yield path, name, f"£ {price}", _page("product", path, Content("en", name, html.strip()))


def _notices() -> Iterator[Listed]:
    first_with: dict[str, str] = {}
    for slug, (heading, text) in read_json("notices.json").items():
        cluster = first_with.setdefault(text, f"notice/{slug}")
        page = _page("thin", cluster, Content("en", heading, f"<p>{escape(text)}</p>"), judged=False)
        yield f"/notices/{slug}/", slug.replace("-", " ").capitalize(), "", page


def _about() -> dict[str, SitePage]:
    about = next(article for article in all_articles() if article.topic == "about")
    html = _magazine(
        about.content, related=[_link(path, f"About us ({number})") for number, path in enumerate(ABOUT, 1)]
    )
    return dict.fromkeys(ABOUT, _page("self", about.slug, about.content, html))


def _technical() -> Iterator[Listed]:
    """Yield odd pages: encodings, broken markup, empty pages, and what is not a page at all."""
    contents = {article.slug: article.content for article in _articles()}
    by_header = _magazine(contents["cartes-des-sentiers"]).replace('<meta charset="utf-8">', "")
    by_meta = _plain("mirrored.html", contents["les-hirondelles"], number=0, charset="iso-8859-1")
    bodies = {
        # What Latin-1 has no character for goes as a numeric reference, as browsers send it.
        "latin1-header.html": by_header.encode("latin-1", errors="xmlcharrefreplace"),
        "latin1-meta.html": by_meta.encode("latin-1", errors="xmlcharrefreplace"),
        "wrong-charset.html": _magazine(contents["streuobst"]).encode(),
        "template-only.html": _magazine(Content("en", "", "")).encode(),
        "yearbook.html": _yearbook().encode(),
    }
    for path, entry in read_json("technical.json").items():
        written = base64.b64decode(entry.get("base64", "")) or entry.get("body", "").encode()
        body = bodies.get(path.removeprefix("/technical/"), written)
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


def main() -> None:
    """Serve the demo site until Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m crawldedup.demo.site", description="Serve the demo site.")
    parser.add_argument("--port", type=int, default=8000, help="0 takes any free port (default: 8000)")
    with contextlib.suppress(KeyboardInterrupt), serving(DemoSite().reply, parser.parse_args().port) as base_url:
        print(f"The demo site is at {base_url}/ (Ctrl-C ends). What is a copy of what: {base_url}/manifest.json")
        threading.Event().wait()


if __name__ == "__main__":
    main()
