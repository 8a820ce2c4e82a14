"""The demo site's templates: a magazine with everything around the text, and three plainer ones."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from crawldedup.demo.data import phrases

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawldedup.demo.content import Content, Line

_NAVIGATION = (
    ("/en/", "English"),
    ("/de/", "Deutsch"),
    ("/fr/", "Français"),
    ("/es/", "Español"),
    ("/ru/", "Русский"),
    ("/ja/", "日本語"),
)
_FOOTER = (
    ("/topics/", "Topics"),
    ("/most-read/", "Most read"),
    ("/print/", "Print editions"),
    ("/revisited/", "Revisited"),
    ("/partners/", "Our partners"),
    ("/mirror/", "Mirror"),
    ("/notices/", "Notice board"),
    ("/technical/", "Technical notes"),
)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a magazine page shows beside its own content."""

    related: Sequence[Line] = ()
    comments: Sequence[str] = ()
    print_path: str | None = None


def magazine(content: Content, around: Surroundings = Surroundings()) -> str:
    """The site's own template: banner, navigation, sidebar, related links, comments, footer."""
    words: dict[str, Any] = phrases(content.language)["labels"]
    label = {name: escape(text) for name, text in words.items()}
    menu = "".join(f'<li><a href="{path}">{name}</a></li>' for path, name in _NAVIGATION)
    foot = " | ".join(f'<a href="{path}">{name}</a>' for path, name in _FOOTER)
    byline = f'<p class="byline">{escape(content.byline)}</p>' if content.byline else ""
    tools = f'<p><a href="{around.print_path}">{label["print"]}</a></p>' if around.print_path else ""
    return f"""<!DOCTYPE html>
<html lang="{content.language}">
<head>
<meta charset="utf-8">
<title>{escape(content.title)} - The Harbour Almanac</title>
<meta name="viewport" content="width=device-width">
<style>body{{font:16px/1.5 serif}} nav ul{{display:flex;list-style:none}} aside{{float:right}}</style>
<script>window.dataLayer = window.dataLayer || []; dataLayer.push({{"page": {len(content.title)}}});</script>
</head>
<body>
<div id="cookie-banner" class="banner" role="dialog"><p>{label["cookies"]}</p>
<button>{label["accept"]}</button></div>
<header class="site-header"><a class="logo" href="/">The Harbour Almanac</a>
<form action="/search"><input name="q" placeholder="{label["search"]}"></form>
<nav class="menu"><ul><li><a href="/">{label["home"]}</a></li>{menu}
<li><a href="/shop/">{label["shop"]}</a></li><li><a href="/calendar/2024-01/">{label["calendar"]}</a></li>
<li><a href="/archive/">{label["archive"]}</a></li><li><a href="/about/">{label["about"]}</a></li></ul></nav>
</header>
<aside class="sidebar"><p class="newsletter">{label["newsletter"]}</p>
<ul class="weather"><li>14 &deg;C</li><li>SW 5</li><li>1009 hPa</li></ul></aside>
<main><article>
<h1>{escape(content.title)}</h1>
{byline}
{content.html}
{tools}
</article>
{_related(around.related, label["related"])}
{_comments(around.comments, label["comments"])}
</main>
<footer class="site-footer"><p>{foot}</p><p class="imprint">{label["imprint"]}</p></footer>
</body>
</html>
"""


def printed(content: Content) -> str:
    """A print view: nothing but the text."""
    byline = f"<p><i>{escape(content.byline)}</i></p>" if content.byline else ""
    return (
        f'<!DOCTYPE html><html lang="{content.language}"><head><meta charset="utf-8">'
        f"<title>{escape(content.title)} (print)</title></head>\n<body onload='window.print()'>\n"
        f"<h1>{escape(content.title)}</h1>\n{byline}\n{content.html}\n<hr></body></html>\n"
    )


def mirrored(content: Content, number: int, charset: str = "utf-8") -> str:
    """The old way of building pages, as mirrors keep it: tables and fonts, no class names."""
    return f"""<HTML><HEAD><META http-equiv="Content-Type" content="text/html; charset={charset}">
<TITLE>{escape(content.title)}</TITLE></HEAD>
<BODY BGCOLOR="#ffffff"><TABLE WIDTH="100%"><TR><TD COLSPAN=2 BGCOLOR="#003366"><FONT COLOR=white>
almanac.mirror - a mirror of the Harbour Almanac - document {number}</FONT></TD></TR>
<TR><TD VALIGN=TOP WIDTH=140><A HREF="/mirror/">Index</A><BR><A HREF="/technical/readme.txt">Readme</A><BR>
Mirrored nightly</TD><TD>
<H2>{escape(content.title)}</H2>
<FONT SIZE=2>{escape(content.byline)}</FONT>
{content.html}
</TD></TR></TABLE><HR><ADDRESS>Webmaster, almanac.mirror. Best viewed with your eyes.</ADDRESS></BODY></HTML>
"""


def portal(content: Content, name: str, others: Sequence[Line]) -> str:
    """Another publisher's template around a syndicated text."""
    more = "".join(
        f'<div class="card"><a href="{escape(line.path)}"><h4>{escape(line.title)}</h4></a></div>' for line in others
    )
    return f"""<!doctype html>
<html lang="{content.language}"><head><meta charset="utf-8">
<title>{escape(content.title)} | {name}</title></head>
<body class="portal"><div id="top"><a href="/partners/">{name}</a> <span>Stories from elsewhere</span>
<ul class="nav"><li>World</li><li>Money</li><li>Kitchen</li><li>Weekend</li><li>Puzzles</li></ul></div>
<div class="ad">Advertisement: your next armchair is already on its way.</div>
<section class="story"><h1 class="headline">{escape(content.title)}</h1>
<div class="meta">{escape(content.byline)} for the Harbour Almanac</div>
<div class="story-body">{content.html}</div></section>
<section class="more"><h3>More from {name}</h3>{more}</section>
<div id="bottom"><p>{name} is a service for curious people. Terms of use. Do not sell my data. Jobs.</p></div>
</body></html>
"""


def _related(lines: Sequence[Line], label: str) -> str:
    if not lines:
        return ""
    items = "".join(f'<li><a href="{escape(line.path)}">{escape(line.title)}</a></li>' for line in lines)
    return f'<section class="related"><h3>{label}</h3><ul>{items}</ul></section>'


def _comments(comments: Sequence[str], label: str) -> str:
    if not comments:
        return ""
    items = "".join(f'<div class="comment"><p>{escape(text)}</p></div>' for text in comments)
    return f'<section id="comments" class="comments"><h3>{label} ({len(comments)})</h3>{items}</section>'
