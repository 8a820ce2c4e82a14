"""Pages whose theme shows the name of the site as a heading, with a link to the home page."""

from __future__ import annotations

import pytest

from crawldedup import compare
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.reading.mark_words import leads_home
from crawldedup.reading.reader import PageReader
from tests.reading.prose import sentences

HOST = "https://harbour.example"
SITE = "Harbour Sailing Club of Westport"
HOME = ["/", f"{HOST}/", "../index.html", '../" rel="home']
READER = PageReader(Options())


def prose(seed: int, words: int) -> str:
    return " ".join(sentences(seed, words))


def theme(title: str, content: str, home: str) -> str:
    return (
        f"<html><head><title>{title} | {SITE}</title></head><body><div id='page'>"
        f'<div id="branding"><h1 id="site-title"><span><a href="{home}">{SITE}</a></span></h1></div>'
        f'<div id="main"><div id="content">{content}</div></div></div></body></html>'
    )


def post(title: str, text: str, home: str) -> str:
    return theme(title, f'<article><h1>{title}</h1><div class="entry">{text}</div></article>', home)


def archive(title: str, posts: dict[str, str], home: str) -> str:
    teasers = "".join(
        f'<article><h1 class="entry-title"><a href="/post/{number}/">{name}</a></h1>'
        f'<div class="entry">{text}</div></article>'
        for number, (name, text) in enumerate(posts.items())
    )
    return theme(title, f"<h1>Category: <span>{title}</span></h1>{teasers}", home)


def drops(*pages: tuple[str, str]) -> int:
    first, second = [Page(f"{HOST}{path}", html=html) for path, html in pages]
    return compare(first, second).drops


@pytest.mark.parametrize("home", HOME)
def test_the_name_of_the_site_is_neither_that_of_a_page_nor_a_teaser(home: str) -> None:
    html = post("Sails", f"<p>{prose('sails', 80)}</p>", home)
    marks = READER.content(Page(f"{HOST}/sails/", html=html)).marks
    assert marks is not None
    assert not marks.is_listing
    assert marks.name == "sails"


@pytest.mark.parametrize("home", HOME)
def test_posts_with_one_text_and_short_names_are_told_apart(home: str) -> None:
    text = f"<p>{prose('sails', 80)}</p>"
    pages = [(f"/{name}/", post(name.title(), text, home)) for name in ("sails", "old-sails")]
    assert drops(*pages) == 0
    assert drops(*reversed(pages)) == 0


def test_a_long_name_of_the_site_is_not_the_only_headline() -> None:
    """In a theme that shows it as a heading without a link."""

    def person(name: str, heading: str = "") -> str:
        return (
            f"<html><head><title>{SITE} - {name}</title></head><body><h1>{SITE}</h1>"
            f"<div><h3>{heading or name}</h3><p>{prose('sails', 80)}</p></div></body></html>"
        )

    assert drops(("/ppl/a/1.html", person("Ada")), ("/ppl/b/2.html", person("Ben"))) == 0
    assert drops(("/ppl/a/1.html", person("Ada")), ("/old/1.html", person("Ada"))) > 0
    # In another version of a manual, the name of the manual has another number.
    versions = [person(f"Boats {number} documentation") for number in ("2.1", "2.2")]
    assert drops(*zip(("/2.1/sails.html", "/2.2/sails.html"), versions, strict=True)) > 0


@pytest.mark.parametrize("home", HOME)
def test_a_post_is_no_copy_of_the_last_page_of_an_archive_with_that_post_alone(home: str) -> None:
    text = f"<p>{prose('regatta', 150)}</p>"
    single = ("/regatta/", post("The regatta", text, home))
    last = ("/news/page/9/", archive("News", {"The regatta": text}, home))
    assert drops(single, last) == 0
    assert drops(last, single) == 0


def test_views_of_a_post_are_still_copies() -> None:
    html = post("Sails", f"<p>{prose('sails', 80)}</p>", "/")
    assert drops(("/sails/", html), ("/?p=17", html)) > 0
    assert drops(("/sails/", html), ("/sails/?print=1", html)) > 0


@pytest.mark.parametrize(
    ("href", "url", "expected"),
    [
        ("/", f"{HOST}/a/b/", True),
        ("../../", f"{HOST}/a/b/", True),
        ("../../index.html", f"{HOST}/a/b/", True),
        ("https://www.harbour.example", f"{HOST}/a/b/", True),
        ("/", "", True),
        ("index.html", f"{HOST}/a/b/", False),
        ("index.html", "", False),
        ("https://other.example/", f"{HOST}/a/b/", False),
        ("/?p=12", f"{HOST}/a/b/", False),
        ("/a/", f"{HOST}/a/b/", False),
        ("http://[", f"{HOST}/a/b/", False),
        ("", f"{HOST}/a/b/", False),
    ],
)
def test_links_to_the_home_page(href: str, url: str, *, expected: bool) -> None:
    assert leads_home({"href": href}, url) is expected
