"""HTML to the text that is fingerprinted: what users and hostile servers can notice."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crawldedup.errors import ConfigurationError, PageError
from crawldedup.reading import html as html_reading
from crawldedup.reading.extract import FALLBACK_WORDS, PageText, extract_page, get_extractor
from crawldedup.reading.html import HtmlPage

BUILT_IN = ["blocks", "trafilatura", "text"]
GUESSING = ["blocks", "trafilatura"]

PARAGRAPHS = [
    "The ferry to the outer islands leaves at dawn, and by the time the fog has lifted the harbour "
    "is already "
    "out of sight. Nobody on deck speaks much; the engine does the talking, and the gulls answer "
    "it.",
    "Halfway across, the captain slows down for the seals. They lie on the skerries like wet "
    "sandbags and pay "
    "no attention to a boat that has passed them twice a day for eleven years, in every kind of "
    "weather.",
    "On the island there is one shop, one church and one telephone box, which was turned into a "
    "library when "
    "the line was cut. Readers leave a book for every book they take, and most of them leave two.",
]
ARTICLE = "".join(f"<p>{text}</p>" for text in PARAGRAPHS)
MENU = (
    "<nav><ul>"
    + "".join(f"<li><a href='/{n}'>Section {n}</a></li>" for n in range(12))
    + "</ul></nav>"
)
FOOTER = (
    "<footer><p>Imprint, privacy, cookies, newsletter, all rights reserved by the "
    "owner</p></footer>"
)


def page(body: str, head: str = "<title>A page</title>") -> str:
    return f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>"


def read(
    html: bytes | str, extractor: str = "trafilatura", encoding: str | None = None, **options: Any
) -> PageText:
    return extract_page(html, encoding, get_extractor(extractor), **{"min_words": 8} | options)


def similarity(one: str, other: str) -> float:
    words = [re.findall(r"\w+", text.lower()) for text in (one, other)]
    a, b = ({tuple(w[i : i + 3]) for i in range(len(w) - 2)} for w in words)
    return len(a & b) / len(a | b)


def reason(html: bytes | str, extractor: str = "trafilatura", **options: Any) -> str | None:
    """The reason the page is refused for, None if it is read."""
    try:
        read(html, extractor, **options)
    except PageError as error:
        return error.reason
    return None


@pytest.mark.parametrize("extractor", GUESSING)
def test_an_article_in_another_template_keeps_its_text_without_the_template(extractor: str) -> None:
    other_menu = (
        "<div class='navigation'>"
        + "".join(f"<a href='/{n}'>Topic {n}</a> " for n in "abcdef")
        + "</div>"
    )
    one, other = (
        read(
            page(body, f"<meta property='og:title' content='Islands'><title>{title}</title>"),
            extractor,
        )
        for title, body in (
            ("A page", f"{MENU}<article><h1>To the islands</h1>{ARTICLE * 3}</article>{FOOTER}"),
            (
                "Islands | Another paper",
                f"{other_menu}<div id='wrap'><main>{ARTICLE * 3}</main></div>",
            ),
        )
    )
    assert all(paragraph in one.main for paragraph in PARAGRAPHS)
    assert not any(template in one.main for template in ("Section 3", "newsletter"))
    assert one.whole is None
    assert similarity(one.main, other.main) > 0.9


@pytest.mark.parametrize("extractor", BUILT_IN)
def test_products_with_one_description_stay_apart(extractor: str) -> None:
    def product(name: str, colour: str, number: int) -> str:
        rows = (
            f"<tr><th>Colour</th><td>{colour}</td></tr><tr><th>Article</th><td>{number}</td></tr>"
        )
        body = (
            f"<main><h1>{name}</h1><p>{PARAGRAPHS[0]} "
            f"{PARAGRAPHS[1]}</p><table>{rows}</table></main>"
        )
        return read(page(f"{MENU}{body}{FOOTER}", f"<title>{name} | Shop</title>"), extractor).main

    one, other = (
        product("Fjell jacket, green", "moss green", 88121),
        product("Vidda jacket, red", "signal red", 90017),
    )
    assert "moss green" in one
    assert "90017" in other
    assert similarity(one, other) < 0.9


LISTING = (
    "<ul>"
    + "".join(f"<li><a href='/p/{n}'>Offer {n}: lamp {n * 7}</a></li>" for n in range(40))
    + "</ul>"
)
CALENDAR = (
    f"<table>{'<tr>'.join(f'<td>{day}<br>concert {day * 3}</td>' for day in range(1, 29))}</table>"
)
FORM = (
    "<form>"
    + "".join(f"<label>Question {n} of the survey <input></label>" for n in range(20))
    + "</form>"
)


@pytest.mark.parametrize("extractor", GUESSING)
@pytest.mark.parametrize(
    ("body", "expected"),
    [(LISTING, "lamp 273"), (CALENDAR, "concert 84"), (FORM, "Question 19")],
    ids=["listing", "calendar", "form"],
)
def test_pages_without_prose_keep_their_content_but_not_the_navigation(
    extractor: str, body: str, expected: str
) -> None:
    text = read(page(f"{MENU}{body}{FOOTER}"), extractor)
    assert expected in text.main
    assert "Section 3" not in text.main
    assert "newsletter" not in text.main


@pytest.mark.parametrize("extractor", GUESSING)
def test_an_article_under_another_headline_is_the_same_text(extractor: str) -> None:
    one, other = (
        read(page(f"<article>{ARTICLE}</article>", f"<title>{name}</title>"), extractor).main
        for name in (
            "To the islands at dawn",
            "Why the captain slows down for seals | The Other Paper",
        )
    )
    assert one == other


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "<div>one</div><div>two</div><table><tr><td>three</td><td>four</td></tr></table>",
            "one two three four",
        ),
        ("<p>fi<b>v</b>e<br>six", "five six"),
        (
            "<p>seen</p><script>var hidden = 1;</script><style>p { color: red "
            "}</style><template>hidden</template>",
            "seen",
        ),
        ("seen<!-- hidden --><svg><text>hidden</text></svg>", "seen"),
    ],
)
def test_words_of_blocks_stay_apart_and_invisible_text_is_no_text(body: str, words: str) -> None:
    assert read(page(body), "text", min_words=1).main.split() == ["A", "page", *words.split()]


def test_a_short_page_is_for_its_exact_copies_only_and_its_name_does_not_make_it_longer() -> None:
    text = read(page("<p>Sorry, gone.</p>"))
    assert text.main == "Sorry, gone."
    assert "A page" in (text.whole or "")
    shell = (
        "<noscript>You need to enable JavaScript to run this app.</noscript><div id='root'></div>"
    )
    title = "<title>The shop for everything that is round, and for much that is not</title>"
    assert [read(page(shell, title), extractor).main for extractor in GUESSING] == ["", ""]


@pytest.mark.parametrize(
    "difference",
    [
        ("<meta name='description' content='sea'>", "<meta name='description' content='sky'>"),
        ("<script>window.state = {id: 1}</script>", "<script>window.state = {id: 2}</script>"),
        ("<img src='/1.jpg'>", "<img src='/2.jpg'>"),
        ("<p>one</p>", "<p>two</p>"),
        ("<frameset><frame src='/1'></frameset>", "<frameset><frame src='/2'></frameset>"),
    ],
    ids=lambda pair: re.sub(r"\W+", " ", pair[0]).strip(),
)
def test_short_pages_that_differ_in_anything_shown_are_no_copies(
    difference: tuple[str, str],
) -> None:
    pages = [
        part if part.startswith("<frameset") else page(f"{MENU}{part}", "") for part in difference
    ]
    one, other = (read(html).whole for html in pages)
    assert one is not None
    assert one != other


@pytest.mark.parametrize(
    ("min_words", "given"), [(5, False), (6, False), (7, True), (FALLBACK_WORDS * 2, True)]
)
def test_the_whole_is_given_for_pages_below_the_limit_asked_for(
    min_words: int, given: bool
) -> None:
    text = read(page("<p>Six words are on this page</p>"), min_words=min_words)
    assert (text.whole is not None) == given


@pytest.mark.parametrize("extractor", BUILT_IN)
def test_text_can_always_be_encoded_and_endless_accents_are_cut(extractor: str) -> None:
    marks = f"a{chr(0x301) * 2000}{'&#769;&#803;' * 2000}b"
    html = page(
        f"<p>{PARAGRAPHS[0]} e\0n\x01d&#0;&#1;&#xD800;&#xFFFF;\ud800 {marks} {PARAGRAPHS[1]}</p>"
    )
    main = read(html, extractor).main
    main.encode("utf-8")
    assert not {"\0", "\x01"} & {*main}
    assert len(main) < 600
    assert " end" in main
    assert PARAGRAPHS[1] in main


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        *((body, "empty") for body in (b"", "", b" \n\t\r ", "<!-- nothing -->", page("", ""))),
        (page("<p> &nbsp; </p>", "<title> </title>"), "empty"),
        *(
            (body, "binary")
            for body in (b"\x89PNG\r\n\x1a\n" + b"\0" * 500, b"%PDF-1.7\n1 0 obj << >> endobj")
        ),
        *((body, "binary") for body in (b"PK\x03\x04" + b"mimetype" * 10, b"\x7fELF\x02\x01\x01")),
        *((body, "binary") for body in (bytes(range(256)) * 40, "<p>text" + "\0\x01\x02" * 400)),
        *(
            (page(body), "too_large")
            for body in ("<p>" + "word " * 3000, "<p>" + "ж" * 6000, "<i></i>" * 700)
        ),
    ],
)
@pytest.mark.parametrize("extractor", BUILT_IN)
def test_pages_that_cannot_be_read_say_why(
    extractor: str, body: bytes | str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html_reading, "MAX_BYTES", 11_000)
    monkeypatch.setattr(html_reading, "MAX_TAGS", 600)
    assert reason(body, extractor) == expected


# Hostile pages: each ends in a text or a PageError, which the test's own time limit stands for.

NESTED = ["<div>", "<table><tr><td>", "<b>x", "<x-y>", "<div></b></i>", "<a href=x><div>x</a>"]


@pytest.mark.parametrize("extractor", BUILT_IN)
@pytest.mark.parametrize("unit", NESTED)
def test_100_000_levels_reach_no_parser_that_minds(extractor: str, unit: str) -> None:
    levels = 100_000 // unit.count("<")
    assert reason(page(unit * levels + PARAGRAPHS[0]), extractor) in {"too_deep", None}


SLOPPY = [
    *(
        "<p>{}",
        "<li>{}",
        "{}<br>",
        "<dt>term<dd>{}",
        "<option>{}",
        "<p><b>{}</p>",
        "<p>{}<img src=x><hr>",
    ),
    *("<tr><td><font size=2>{}</td>", '<p>{}</p><svg><path d="M0 0"/><circle r="1"/></svg>'),
]


@pytest.mark.parametrize("extractor", GUESSING)
@pytest.mark.parametrize("unit", SLOPPY)
def test_ordinary_pages_without_end_tags_are_read_to_the_end(extractor: str, unit: str) -> None:
    body = "".join(
        unit.format(f"line {number} of a page that was written by hand") for number in range(1500)
    )
    container = "table" if "<td>" in unit else "select" if "option" in unit else "div"
    last = (
        "the last paragraph of all stands below the others and has a few words more than they have"
    )
    text = read(page(f"<{container}>{body}</{container}><p>{last}</p>"), extractor)
    assert last in text.main


# Made when they are read, for they are large.
HOSTILE: dict[str, Callable[[], str]] = {
    "300,000 attributes": lambda: page(
        "<div " + " ".join(f"a{n}=1" for n in range(300_000)) + ">x</div>"
    ),
    "one text": lambda: page("<p>" + PARAGRAPHS[0] * 40_000),
    "entity bomb": lambda: (
        "<!DOCTYPE l [<!ENTITY a 'lol'><!ENTITY b '&a;&a;'>]>" + page("&b;" * 200_000)
    ),
    "open comment": lambda: page(f"{ARTICLE}<!-- " + "x -- " * 400_000),
    "open script": lambda: page(f"{ARTICLE}<script>" + 'var x = "<div>";' * 120_000),
    "text after removed elements": lambda: page(
        "<div>" + "<aside></aside>some text after it " * 19_000 + "</div>"
    ),
    "deeper and wide": lambda: page(
        "<div>" * 240 + "<p>a <a href=x>b</a></p>" * 9000 + "</div>" * 240
    ),
    "JSON": lambda: page(
        '<script type="application/ld+json">{"articleBody": "<a ' + "=" * 500_000 + '"}</script>'
    ),
    "open meta": lambda: "<meta " + "og:title " * 400_000,
}
SLOW: dict[str, Callable[[], str]] = {
    "200,000 open paragraphs": lambda: page("<p>" * 200_000),
    "attributes with tags in them": lambda: page(
        "<div " + " ".join(f'a{n}="<b"' for n in range(40_000)) + ">x</div>"
    ),
    "spanned cells": lambda: page(
        "<table>" + "<tr><td colspan=1000 rowspan=1000>a</td></tr>" * 9000 + "</table>"
    ),
    "formatting in blocks": lambda: page(
        "<p>" + "".join(f"<i id={n}>" for n in range(60)) + "</p>" + "<p>x" * 19_000
    ),
}
HOSTILE_PAGES = [pytest.param(make, id=name) for name, make in HOSTILE.items()]
HOSTILE_PAGES += [
    pytest.param(make, id=name, marks=pytest.mark.nightly) for name, make in SLOW.items()
]


@pytest.mark.timeout(30)
@pytest.mark.parametrize("make", HOSTILE_PAGES)
def test_hostile_pages_end_in_a_text_or_a_refusal(make: Callable[[], str]) -> None:
    html = make().encode()
    for extractor in ("text", *GUESSING):
        refused_for = reason(html, extractor)
        assert refused_for in {None, "too_large", "too_deep", "empty"}
        if refused_for in {"too_large", "too_deep"}:
            break


@pytest.mark.parametrize("padding", [" " * 250, "/" * 250, "\n" * 5_000])
def test_padding_hides_no_attributes(padding: str) -> None:
    padded = f"<p a{padding}b{padding}" + " ".join(f"a{n}=1" for n in range(30_000)) + ">x"
    tree = HtmlPage(html_reading.bounded(page(padded))).tree
    assert max(len(tag.attributes) for tag in tree.css("*")) <= 64
    assert "a29999=1" in tree.body.text()


def test_padding_hides_no_names() -> None:
    tags = [
        f"<p{' ' * 200}" + " ".join(f"a{tag}_{n}" for n in range(60)) + ">x" for tag in range(1_500)
    ]
    with pytest.raises(PageError, match="names"):
        html_reading.bounded(page("".join(tags)))


def test_names_that_differ_after_a_no_break_space_are_different_names() -> None:
    tags = [
        "<a " + " ".join(f"n{first}\xa0m{second}" for second in range(60)) + ">x</a>"
        for first in range(1_100)
    ]
    with pytest.raises(PageError, match="names of tags and attributes"):
        html_reading.bounded(page("".join(tags)))


# Where the bounds lie: what is beyond is refused, since parsers take seconds for it, and what is
# within is read.
OPEN = {
    "one formatting": ("<p><b>x</p>", 2_000, 40_000),
    "closed formatting": ("<p><b>x</b></p>", 60_000, None),
    "ends that close nothing": ("<div><object></div></object>x", 3_000, 60_000),
    "formatting of many kinds": ("<p><font color=c{}>x", 500, 3_000),
}


@pytest.mark.parametrize(("unit", "most", "too_many"), OPEN.values(), ids=OPEN)
def test_pages_that_leave_too_much_open_are_refused(
    unit: str, most: int, too_many: int | None
) -> None:
    def body(count: int) -> str:
        return page(ARTICLE + "".join(unit.format(number) for number in range(count)))

    assert reason(body(most), "blocks") is None
    assert too_many is None or reason(body(too_many), "blocks") == "too_deep"


@pytest.mark.parametrize(
    ("value", "is_asked"), [("a b " * 250_000, True), ("a b " * 251_000, False)]
)
def test_extractors_are_not_asked_to_search_a_million_letters_of_attributes(
    value: str, is_asked: bool
) -> None:
    image = f"<img src='data:image/png,{'a' * 900_000}'>"
    given = HtmlPage.read(page(f"<article>{ARTICLE}<i class='{value}'></i>{image}</article>"), None)
    assert bool(get_extractor("trafilatura").extract(given)) is is_asked


@pytest.mark.parametrize("extractor", BUILT_IN)
def test_the_text_of_a_page_does_not_depend_on_the_pages_before_it(extractor: str) -> None:
    common = f"<p>{PARAGRAPHS[0]}</p>"
    pages = [
        page(common * (n % 4 + 1) + f"<p>{PARAGRAPHS[n % 3]} {n}</p>" + LISTING * (n % 2))
        for n in range(30)
    ]
    forwards = [read(html, extractor) for html in pages]
    assert [read(html, extractor) for html in reversed(pages)][::-1] == forwards


def test_own_extractors_are_taken_at_their_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_extractors.py").write_text(
        "def prices(html): return ' '.join(word for word in html.split() if word[0].isdigit())\n"
        "def nothing(html): return None\n"
        "def broken(html): return {}['price']\n"
        "def endless(html): return endless(html)\n"
        "class Upper:\n    def extract(self, html): return html.upper()\n"
    )
    (tmp_path / "broken_module.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)

    assert read("7.50 or 9.00", "own_extractors.prices", min_words=1).main == "7.50 9.00"
    nothing = read("<p>seven</p>", "own_extractors.nothing")
    assert (nothing.main, nothing.whole) == ("", "seven")
    assert read("<p>seven", "own_extractors.Upper", min_words=1).main == "<P>SEVEN"

    for name, cause in [("broken", KeyError), ("endless", RecursionError)]:
        with pytest.raises(PageError, match=f"'own_extractors.{name}' failed") as caught:
            read("<p>seven</p>", f"own_extractors.{name}")
        assert caught.value.reason == "broken"
        assert isinstance(caught.value.__cause__, cause)

    for path, message in [
        ("own_extractors.price", "did you mean 'prices'"),
        ("no_such_module.extract", "importing 'no_such_module' failed with ModuleNotFoundError"),
        ("broken_module.extract", "importing 'broken_module' failed with ZeroDivisionError"),
        (
            "trafilatur",
            "did you mean 'trafilatura'.*one of blocks, trafilatura, text, or the dotted path",
        ),
        ("", "one of blocks"),
    ]:
        with pytest.raises(ConfigurationError, match=message):
            get_extractor(path)
