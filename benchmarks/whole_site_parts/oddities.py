"""Oddities of real sites: tiny pages, redirects, soft errors, changing numbers, wrong charsets,
HTTP/1.0.
"""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Final

from benchmarks.whole_site_parts.pages import Page, own_page, paragraphs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.whole_site_parts.pages import Plan

_HELP: Final = 16
_MOVED: Final = 6
_GONE: Final = 8
_TOWNS: Final = ("Skerrow", "Trevail", "Pellow", "Otterness")
_CAFES: Final = 4
_ACCENTS: Final = str.maketrans("aeiouc", "áéíöüç")


def oddities(plan: Plan, moved: Sequence[Page]) -> list[Page]:
    """All of them; redirects and old servers lead to `moved`."""
    return [
        *_help(plan),
        *_redirects(plan, moved),
        *_gone(plan),
        *_weather(plan),
        *_cafes(plan),
        *_old(plan, moved),
    ]


def _help(plan: Plan) -> Iterator[Page]:
    """A sentence or two, and their mirror with a banner nearly as long."""
    banner = "<p>This is a mirror of the help pages, which may be older than the original.</p>"
    for number in range(plan.count(_HELP)):
        writer = plan.prose.writer(f"help {number}")
        title, lines = f"How to {writer.term()}", [writer.sentence(), writer.sentence()]
        for base, kind, above in (
            (plan.hosts.own, "help", ""),
            (plan.hosts.mirror, "help: mirror", banner),
        ):
            main = f"{above}<h1>{escape(title)}</h1>{paragraphs(lines)}"
            yield Page(f"{base}/help/{number}.html", kind, f"help-{number}", own_page(title, main))


def _redirects(plan: Plan, moved: Sequence[Page]) -> Iterator[Page]:
    for number, page in enumerate(moved[: plan.count(_MOVED)]):
        yield Page(f"{plan.hosts.own}/go/{number}", "redirect", "", b"", location=page.url)


def _gone(plan: Plan) -> Iterator[Page]:
    """Status 200 all the same."""
    for number in range(plan.count(_GONE)):
        main = (
            f"<h1>We cannot find that page</h1><p>There is nothing at /gone/{number}.html. It may "
            "have moved, or "
            "it may never have been there. Try the search, or begin again on the front page, where "
            "the newest stories "
            "stand.</p>"
        )
        yield Page(
            f"{plan.hosts.own}/gone/{number}.html",
            "soft 404",
            "soft-404",
            own_page("Not found", main),
        )


def _weather(plan: Plan) -> Iterator[Page]:
    """A town's weather at two URLs, with other numbers at each visit; another town is another
    content.
    """
    for town in _TOWNS:
        outlook = plan.prose.writer(f"weather {town}").sentence()
        for query in ("", "?view=table"):
            random = plan.prose.random(f"weather {town}{query}")
            main = (
                f"<h1>The weather in {town}</h1><p>Now {random.randint(-4, 30)} degrees, wind "
                f"{random.randint(0, 70)} "
                f"km/h, air pressure {random.randint(980, 1040)} hPa, rain {random.randint(0, 20)} "
                "mm since midnight. "
                "The sun sets at "
                f"{random.randint(17, 21)}:{random.randint(10, 59)}.</p><p>{escape(outlook)}</p>"
                "<p>The station is read every ten minutes. Its numbers are not checked by anybody, "
                "so do not sail by "
                "them, and ask the harbour office before you leave.</p>"
            )
            url = f"{plan.hosts.own}/weather/{town.lower()}{query}"
            yield Page(
                url, "weather", f"weather-{town.lower()}", own_page(f"The weather in {town}", main)
            )


def _cafes(plan: Plan) -> Iterator[Page]:
    """The same bytes twice; the header of the second contradicts the charset that the page names,
    which is right.
    """
    for number in range(_CAFES):
        writer = plan.prose.writer(f"cafe {number}")
        text = writer.text(3, 4)
        lines = [paragraph.translate(_ACCENTS) for paragraph in text.paragraphs]
        page = Page(
            f"{plan.hosts.own}/cafe/{number}.html",
            "charset",
            f"cafe-{number}",
            own_page(text.title, f"<h1>{escape(text.title)}</h1>{paragraphs(lines)}"),
        )
        yield page
        yield replace(
            page,
            url=page.url + "?old",
            kind="charset: contradicted",
            content_type="text/html; charset=iso-8859-1",
        )


def _old(plan: Plan, moved: Sequence[Page]) -> Iterator[Page]:
    """Copies from a server that answers with HTTP/1.0 and does not say how long the page is."""
    for number, page in enumerate(moved[:3]):
        yield replace(
            page, url=f"{plan.hosts.own}/cgi-bin/show?page={number}", kind="HTTP/1.0", old_http=True
        )
