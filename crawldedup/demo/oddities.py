"""The odd corners of the demo site: encodings, broken markup, empty pages, and what is not a page at all."""

from __future__ import annotations

import base64
from html import escape
from typing import TYPE_CHECKING

from crawldedup.demo import content as make
from crawldedup.demo.reply import NOT_FOUND, Reply
from crawldedup.demo.templates import magazine, mirrored

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawldedup.demo.library import Article

_EMPTY = make.Content(language="en", title="", html="", text="")

# A picture of one pixel.
_PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
_PDF = (
    b"%PDF-1.1\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj "
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
)
_README = b"""How the mirror works

Every night at three a small machine in the harbour office copies what has changed and leaves the rest alone.
If it finds nothing, it says so; if it finds too much, it rings the person whose turn it is. Please do not
mirror the mirror: somebody did, in 2011, and for a week the two machines told each other the same news.
"""


def encodings(by_header: Article, by_meta: Article, wrongly: Article) -> Iterator[tuple[str, Reply]]:
    """Three articles: Latin-1 by header, Latin-1 by meta element alone, UTF-8 declared as Latin-1."""
    html = magazine(make.of_article(by_header)).replace('<meta charset="utf-8">', "")
    yield "/technical/latin1-header.html", Reply(_latin1(html), "text/html; charset=iso-8859-1")
    html = mirrored(make.of_article(by_meta), 0, charset="iso-8859-1")
    yield "/technical/latin1-meta.html", Reply(_latin1(html), "text/html")
    html = magazine(make.of_article(wrongly))
    yield "/technical/wrong-charset.html", Reply(html.encode(), "text/html; charset=iso-8859-1")


def yearbook(articles: Sequence[Article]) -> Reply:
    """A big page in broken markup, as word processors wrote it, around a year's articles in full."""
    style = "mso-margin-top-alt:auto;font-size:10.0pt;" * 8
    parts = ["<html><title>Yearbook</title></head><body><div><table><tr><td><font face=Times>\0"]
    for number, article in enumerate(articles):
        parts.append(f'</span></div><h2 id=a{number} class="year" class=book>{escape(article.title)}<h3></h2><center>')
        parts += [
            f'<p style="{style}"><b><i>{paragraph} 3 < 4 & 5 > 4 </b></i><td><o:p></o:p>'
            for paragraph in article.paragraphs
        ]
        parts.append("<div>" * 20 + "<!-- page break -->" + "</div>" * 17 + "<ul><li><p><table><tr></ul>")
    # No end tags: half of the old web has none.
    return Reply("".join(parts).encode())


def empty_pages() -> Iterator[tuple[str, Reply]]:
    """No text in three ways: bare markup, the usual template around nothing, no body at all."""
    yield "/technical/blank.html", Reply(b"<html><head><title></title></head><body>\n</body></html>")
    yield "/technical/template-only.html", Reply(magazine(_EMPTY).encode())
    yield "/technical/zero", Reply(b"")


def plain_text() -> Reply:
    """A page that is not HTML."""
    return Reply(_README, "text/plain; charset=utf-8")


def not_pages(elsewhere: str) -> Iterator[tuple[str, str, Reply]]:
    """Path, kind and reply of what a crawler meets beside pages; the redirect leads `elsewhere`."""
    yield "/robots.txt", "robots", Reply(b"User-agent: *\nDisallow: /search\n", "text/plain")
    yield "/technical/moved", "redirect", Reply(b"", status=302, headers={"Location": elsewhere})
    yield "/technical/gone", "error", NOT_FOUND
    yield "/technical/tide-tables", "pdf", Reply(_PDF, "application/pdf")
    yield "/technical/harbour.png", "image", Reply(_PNG, "image/png")


def _latin1(html: str) -> bytes:
    # What Latin-1 has no character for goes as a numeric reference, as browsers send it.
    return html.encode("latin-1", errors="xmlcharrefreplace")
