"""The list pages of the demo site: each says something of its own about the pages it leads to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawldedup.demo import paths
from crawldedup.demo.content import Content, Line, of_list, sentence
from crawldedup.demo.data import goods, notices

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawldedup.demo.library import Article

LANGUAGES = {
    "en": ("Stories in English", "Written on this side of the harbour, mostly at night."),
    "de": ("Geschichten auf Deutsch", "Von Leuten, die mit der Eisenbahn gekommen und geblieben sind."),
    "fr": ("Récits en français", "Envoyés de Bretagne et des montagnes, parfois avec du pain."),
    "es": ("Relatos en español", "Llegan por carta, por radio y con el viento de levante."),
    "ru": ("Рассказы по-русски", "Присланы с мыса, из Сосновки и с берега большой реки."),
    "ja": ("日本語の読み物", "谷の工房や駅の待合室から届いた便りを集めました。"),
}
_TOPICS = {
    "town": "Ferries, buses, cafés and the people who would miss them.",
    "craft": "Work done with the hands, and what the hands know about it.",
    "nature": "Feathers, moss and weather within a day's walk.",
    "kitchen": "Things that rise, simmer, or are better left in the wood.",
    "history": "What was switched off, filled in or forgotten, and by whom.",
    "science": "Measured, counted, or at least estimated with care.",
    "garden": "Seeds, fences, and quarrels about both.",
}
_ODD = (
    ("/technical/latin1-header.html", "A page in Latin-1 that says so in its header"),
    ("/technical/latin1-meta.html", "One that only says so in a meta element"),
    ("/technical/wrong-charset.html", "One that is wrong about its encoding"),
    ("/technical/yearbook.html", "The yearbook, converted by a program that has since been withdrawn"),
    ("/technical/moved", "Something that has moved"),
    ("/technical/gone", "Something that is gone"),
    ("/technical/blank.html", "Nothing, with markup"),
    ("/technical/template-only.html", "Nothing, in our template"),
    ("/technical/zero", "Nothing at all"),
    ("/technical/tide-tables", "The tide tables as a PDF"),
    ("/technical/harbour.png", "The harbour as a picture"),
    ("/technical/readme.txt", "How the mirror works, in plain text"),
)


def list_contents(articles: Sequence[Article]) -> Iterator[tuple[str, Content]]:
    """Path and content of every list page."""
    yield "/", _front_page(articles)
    for language, (title, intro) in LANGUAGES.items():
        own = [article for article in articles if article.language == language]
        lines = [Line(paths.article_path(a), a.title, sentence(a, 0)) for a in own]
        yield f"/{language}/", of_list(title, intro, lines, language)
    yield (
        "/topics/",
        of_list(
            "Topics",
            "Seven shelves.",
            [Line(f"/topics/{t}/", t.title(), intro) for t, intro in _TOPICS.items()],
        ),
    )
    for topic, intro in _TOPICS.items():
        own = [article for article in articles if article.topic == topic]
        lines = [Line(paths.article_path(a), a.title, f"{a.author}: {sentence(a, 2)}") for a in own]
        yield f"/topics/{topic}/", of_list(topic.title(), intro, lines)
    yield from _copies(articles)
    yield from _shop()
    yield (
        "/notices/",
        of_list(
            "Notice board",
            "Pinned by readers; taken down when it rains in.",
            [Line(paths.notice_path(slug), slug.replace("-", " ").capitalize()) for slug in notices()],
        ),
    )
    yield (
        "/technical/",
        of_list(
            "Technical notes",
            "For people who build crawlers, and for their crawlers.",
            [Line(path, title) for path, title in _ODD],
        ),
    )


def _front_page(articles: Sequence[Article]) -> Content:
    newest = sorted(articles, key=lambda article: article.date, reverse=True)[:8]
    lines = [Line(paths.article_path(a), a.title, sentence(a, 1)) for a in newest]
    return of_list("The Harbour Almanac", "New this month, from eight people with other jobs.", lines)


def _copies(articles: Sequence[Article]) -> Iterator[tuple[str, Content]]:
    yield (
        "/most-read/",
        of_list(
            "Most read",
            "Counted by the server, which cannot tell a reader from a crawler.",
            [
                Line(paths.session_path(a), a.title, f"{9000 - 61 * n} readers since {a.date}")
                for n, a in enumerate(paths.with_session(articles))
            ],
        ),
    )
    yield (
        "/print/",
        of_list(
            "Print editions",
            "Plain pages for paper. Please use both sides.",
            [
                Line(paths.print_path(a), a.title, f"{len(a.text) // 1500 + 1} sheets")
                for a in paths.with_print(articles)
            ],
        ),
    )
    yield (
        "/mirror/",
        of_list(
            "Index of /mirror/almanac",
            "Parent directory. Name, size, last modified.",
            [
                Line(path, path.rpartition("/")[2], f"{len(a.text)} bytes {a.date} 03:00")
                for a in paths.with_mirror(articles)
                for path in [paths.mirror_path(a)]
            ],
        ),
    )
    yield (
        "/partners/",
        of_list(
            "Our partners",
            "They ask first, they name the author, and one of them pays.",
            [
                Line(paths.portal_path(n), paths.PORTALS[n % len(paths.PORTALS)], f"has taken over: {a.title}")
                for n, a in enumerate(paths.with_portal(articles))
            ],
        ),
    )
    yield (
        "/archive/",
        of_list(
            "Archive of second editions",
            "Corrected, shortened or brought up to date.",
            [
                Line(paths.edited_path(a), f"{a.title}, second edition", f"edited: {edit}, after {a.date}")
                for a, edit in paths.with_edit(articles)
            ],
        ),
    )
    yield (
        "/revisited/",
        of_list(
            "Revisited",
            "We asked the authors to tell it again. They did not tell the same thing.",
            [
                Line(paths.rewritten_path(a, version), f"{a.author} returns", f"{version}: {a.slug}")
                for a, version in paths.with_rewriting(articles)
            ],
        ),
    )


def _shop() -> Iterator[tuple[str, Content]]:
    yield (
        "/shop/",
        of_list(
            "The shop",
            "It belongs to the association and pays for the heater.",
            [
                Line(f"/shop/{name}/", group["title"], f"{len(group['items'])} articles")
                for name, group in goods().items()
            ],
        ),
    )
    for name, group in goods().items():
        items = [
            Line(paths.product_path(name, number), title, f"£ {price}")
            for number, (title, price, *_) in enumerate(group["items"])
        ]
        yield f"/shop/{name}/", of_list(group["title"], "Prices include a paper bag.", items)
