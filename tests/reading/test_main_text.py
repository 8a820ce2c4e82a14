"""The main text of a page: articles in templates, pages that have none and stay whole, and hostile
ones.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawldedup import Deduplicator
from crawldedup.demo.site import SitePage, all_articles
from crawldedup.reading.blocks import blocks_of, parse
from crawldedup.reading.extract import content_text
from crawldedup.reading.html import HtmlPage
from crawldedup.reading.main_text import main_text
from tests.reading.prose import main_text_of

SENTENCES = [
    "The ferry to the outer islands leaves at dawn, and by the time the fog has lifted the harbour "
    "is out of sight.",
    "Halfway across, the captain slows down for the seals, which lie on the skerries and pay no "
    "attention to him.",
    "On the island there is one shop, one church and one telephone box, which was turned into a "
    "library long ago.",
    "Readers leave a book for every book they take, and most of them leave two, for the winters "
    "here are long.",
    "When the light goes, somebody rings a bell on the pier, and whoever is late stays over night "
    "at the school.",
]
NOTICE = (
    "This site uses cookies and similar things, as you may have read before, and by reading on you "
    "agree to all."
)
TEASER = (
    "A second bridge will be built over the sound, says the minister, although nobody on the "
    "islands wants it."
)
OTHER = [f"{word} years ago the council decided otherwise, and the minutes of {word} meetings say why." for word in
         ("Two", "Three", "Five", "Seven", "Nine", "Eleven", "Thirteen", "Twenty")]  # fmt: skip


def paragraphs(*texts: str) -> str:
    return "".join(f"<p>{text}</p>" for text in texts)


def whole(body: str) -> str:
    return "\n".join(text for text, _, _ in blocks_of(parse(body)).lines)


BODY = paragraphs(*SENTENCES)
LINKS = (
    "<ul>"
    + "".join(f"<li><a href=/{n}>Something else of today, {n}</a></li>" for n in range(9))
    + "</ul>"
)


@pytest.mark.parametrize(
    "template",
    [
        "<div class=notice><p>{notice}</p></div><div class=text>{body}</div>",
        "<div>{notice}</div><section><div class=text>{body}</div><div "
        "class=more>{teaser}</div></section>",
        "<table><tr><td class=left>{teaser}</td><td class=text>{body}</td></tr></table>",
        "<header>{notice}</header><main>{body}</main><section>{teaser}</section>",
        "<article>{body}</article><ul><li><a href=/b>{teaser}</a></li><li><a "
        "href=/c><b>{teaser}</b></a></li></ul>",
        "<div class=text>{body}<div class=share-buttons><p>{notice}</p></div></div>",
        "<div class=text>{body}<p style='display: none'>{teaser}</p><p hidden>{notice}</p></div>",
        "<div class=notice><p>{notice}</p></div><div class=text>{body}{links}{links}</div>",
        "<div class=notice><p>{notice}</p></div><div class=text>{linked}{links}</div>",
        "<div class=text>{body}</div>{teasers}",
    ],
)
def test_what_is_beside_the_article_is_left_out(template: str) -> None:
    linked = BODY.replace(" the ", " <a href=/the>the</a> ")
    teasers = "".join(
        f"<div class=text><p><a href=/>{text[:30]}</a>{text[30:]}</p></div>" for text in OTHER
    )
    page = template.format(
        body=BODY, notice=NOTICE, teaser=TEASER, links=LINKS, linked=linked, teasers=teasers
    )
    assert main_text_of(page).split("\n") == SENTENCES


THREADS = {
    "comments": "<div class=comment><b>{name}</b><p>{text}</p></div>",
    "comments of many classes": (
        "<div class='comment by-{name} depth-{number}'><b>{name}</b><p>{text}</p></div>"
    ),
    "replies": "<aside class=reply><b>{name}</b><p>{text}</p></aside>",
}


@pytest.mark.parametrize("around", ["{}", "<section class=comments>{}</section>"])
@pytest.mark.parametrize("comment", THREADS.values(), ids=THREADS)
def test_of_a_thread_that_is_the_page_the_short_comments_are_read_as_well(
    comment: str, around: str
) -> None:
    texts = [text for long in SENTENCES * 3 for text in (long, f"{long[:20]}, too.")]
    texts = [f"{number} {text}" for number, text in enumerate(texts)]
    thread = "".join(
        comment.format(name=f"n{number}", number=number, text=text)
        for number, text in enumerate(texts)
    )
    page = f"<h1>What to pack</h1><p>Ask here.</p>{around.format(thread)}"
    lines = main_text_of(page, "What to pack").split("\n")
    assert [text for text in texts if text not in lines] == []


def test_a_menu_full_of_white_space_is_not_the_page() -> None:
    menu = "".join(f"<li><a>Boat {number}</a>{' ' * 400}</li>" for number in range(9))
    page = f"<div class=navbar><ul class=nav>{menu}</ul></div><h1>By ferry</h1>{BODY}"
    assert "Boat" not in main_text_of(page, "By ferry")


def test_teasers_below_an_article_of_their_kind_are_left_out() -> None:
    teasers = "".join(
        f"<div class=post><h2><a href=/{n}>Another story, {n}</a></h2></div>" for n in range(6)
    )
    body = f"<h2>The ferry</h2>{BODY}<h3><a href=/timetable>The timetable</a></h3><p>Daily.</p>"
    article = f"<div class=post>{body}</div>"
    assert main_text_of(f"{article}{teasers}") == whole(article)


def test_a_paragraph_is_no_article_without_its_heading() -> None:
    text = " ".join(SENTENCES)
    page = f"<div class=a><h2>By ferry</h2><p>{text}</p></div><div class=b><p>{NOTICE}</p></div>"
    assert main_text_of(page).split("\n") == ["By ferry", text]


@pytest.mark.parametrize(
    "column",
    [
        f"<div class=right>{BODY}</div>",
        f"<aside class=sidebar>{LINKS}{BODY}</aside>",
        f"<p>{' '.join(SENTENCES)}</p>",
    ],
)
@pytest.mark.parametrize(
    "content",
    [
        "<table><tr><td>9:15<td>Pellow<tr><td>9:45<td>Skerrow</table>",
        "<p>The office is closed.</p>",
    ],
)
def test_a_column_of_prose_does_not_stand_for_the_page(column: str, content: str) -> None:
    page = f"<main><h1>A page</h1>{content}</main>"
    assert main_text_of(page + column) == main_text_of(page)


@pytest.mark.parametrize(
    "article",
    {article.language: article for article in all_articles()}.values(),
    ids=lambda article: article.language,
)
def test_articles_of_every_language_leave_their_template(article: SitePage) -> None:
    texts = article.text.split("\n")
    assert (
        main_text_of(f"<div><p>{NOTICE}</p></div><div class=a>{paragraphs(*texts)}</div>").split(
            "\n"
        )
        == texts
    )


@pytest.mark.parametrize("title", ["By ferry to the islands - The Paper", "A page"])
def test_other_articles_are_no_match_for_the_headline(title: str) -> None:
    ticker = "".join(f"<li><h3>{text[:30]}</h3><p>{text}</p><p>{text}</p></li>" for text in OTHER)
    below = f"<article><h2><a href=/x>You may also like this</a></h2>{paragraphs(*OTHER)}</article>"
    head = "<h1>By ferry to the islands</h1>"
    for body in (
        f"<ul class=ticker>{ticker}</ul><div>{head}<div class=a>{BODY}</div></div>",
        f"<article>{head}{BODY}</article><div>{below}</div>",
    ):
        assert main_text_of(body, title).split("\n") in ([head[4:-5], *SENTENCES], SENTENCES)


WORDS = [f"word{number}" for number in range(400)]
CONSTANT = paragraphs(*OTHER[:6])
ROWS = "".join(f"<tr><td>{WORDS[2 * i]} {WORDS[2 * i + 1]}<td>{i * 37}</tr>" for i in range(60))
OWN = {
    "table": f"<table>{ROWS}</table>",
    "list": "<dl>"
    + "".join(f"<dt>{WORDS[i]} name<dd>{' '.join(WORDS[i : i + 8])}" for i in range(0, 160, 8))
    + "</dl>",
    "questions": "".join(
        f"<details><summary>Why {WORDS[i]}?</summary><p>Because "
        f"{' '.join(WORDS[i : i + 30])}.</p></details>"
        for i in range(0, 120, 30)
    ),
}


@pytest.mark.parametrize("kind", OWN)
def test_a_template_with_more_prose_than_the_page_does_not_stand_for_it(kind: str) -> None:
    page = (
        f"<main><h1>The name of this page</h1><div class=intro>{CONSTANT}</div><div "
        f"class=data>{OWN[kind]}</div></main>"
    )
    text = main_text_of(page, "The name of this page - A site")
    lines = whole(OWN[kind]).split("\n")
    assert sum(line in text for line in lines) > 0.9 * len(lines)


@pytest.mark.parametrize(
    "template",
    [
        "<table><tr><td><h1>The bridge is closed today</h1><div "
        "class=content>{own}</div><td>{constant}</table>",
        "<section>{teasers}</section><article><h1>The bridge is closed today</h1>{own}</article>",
    ],
)
@pytest.mark.parametrize("words", [20, 60])
def test_what_stands_with_the_headline_is_of_the_article(template: str, words: int) -> None:
    own = " ".join(WORDS[:words])
    teasers = "".join(
        f"<article><h2><a href=/{i}>Other news</a></h2><p>{each}</p></article>"
        for i, each in enumerate(OTHER)
    )
    page = template.format(own=f"<p>{own}.</p>", constant=CONSTANT, teasers=teasers)
    assert own in main_text_of(page, "The bridge is closed today | A site")


def test_of_several_headings_that_the_title_repeats_the_longest_is_the_headline() -> None:
    title, own = "The bridge is closed today | The Paper of the Islands", " ".join(WORDS[:20])
    page = "<h1>The Paper of the Islands</h1>"
    page += f"<div><h2>The bridge is closed for ever, say others</h2><p>{title}</p>{CONSTANT}</div>"
    page += f"<section><h2>{title[:26]}</h2><p>{own}.</p></section>"
    assert own in main_text_of(page, title)
    assert own not in main_text_of(page, "The bridge is no more")


def test_prose_is_known_by_its_bytes_and_punctuation() -> None:
    """Words of Thai have no punctuation, and a line of Japanese few letters."""
    short = [f"船は夜明けに静かに出て、{number}時には港が見えない。" for number in range(5)]
    long = [f"เรือออกจากท่าเรือตอนรุ่งสางและหมอกก็จางหายไปในทะเลที่กว้างใหญ่{number}" for number in range(5)]
    for texts in (short, long):
        assert (
            main_text_of(
                f"<div class=a>{paragraphs(*texts)}</div><div><p>{NOTICE}</p></div>"
            ).split("\n")
            == texts
        )


def test_an_author_and_a_date_beside_the_headline_are_not() -> None:
    header = "<header><h1>The bridge is closed today</h1><p>By Ada, 1 May 2024</p></header>"
    assert (
        main_text_of(
            f"<article>{header}<div>{BODY}</div></article>", "The bridge is closed today"
        ).split("\n")
        == SENTENCES
    )


def test_captions_are_the_text_of_a_page_of_pictures_alone() -> None:
    pictures = [f"<figure><img src=x><figcaption>{text}</figcaption></figure>" for text in OTHER]
    assert OTHER[3] in main_text_of(
        f"<main><h1>Pictures of the week</h1><p>{SENTENCES[0]}</p>{''.join(pictures)}</main>"
    )
    assert OTHER[3] not in main_text_of(f"<main><h1>A story</h1>{BODY}{pictures[3]}</main>")


def test_the_captions_of_listings_and_tables_are_part_of_a_text() -> None:
    for content in ("<pre>ring()</pre>", "<table><tr><td>Bells<td>Two</table>"):
        figure = f"<figure><figcaption>{OTHER[3]}</figcaption>{content}</figure>"
        assert OTHER[3] in main_text_of(f"<main><h1>A manual</h1>{BODY}{figure}</main>")


def test_lists_of_links_between_paragraphs_are_part_of_a_text() -> None:
    links = "".join(f"<li><a href=/{n}>Bell number {n}</a></li>" for n in range(9))

    def is_read(body: str) -> bool:
        return "number 7" in main_text_of(f"<main><h1>Bells</h1>{body}</main>")

    assert is_read(f"{BODY}<ul>{links}</ul>{BODY}")
    assert is_read(f"{BODY}<ul><li>Bells<ul>{links}</ul></li></ul>{BODY}")
    # A menu, a box, a list below the text, and a few links to other articles.
    assert not is_read(f"{BODY}<ul class=menu>{links}</ul>{BODY}")
    assert not is_read(f"{BODY}<div><ul>{links}</ul></div>{BODY}")
    assert not is_read(f"{BODY}{BODY}<ul>{links}</ul>")
    few = links[-5 * len(links) // 9 :]
    assert not is_read(f"{BODY}<ul>{few}</ul>{BODY}")


def test_a_footer_is_not_taken_for_the_text_of_a_page_without_prose() -> None:
    page = (
        f"<h1>The concurrent package</h1><p>One module:</p>{LINKS[:60]}</ul><div "
        f"class=footer>{BODY[:400]}</div>"
    )
    assert "ferry" not in main_text_of(page)


@pytest.mark.parametrize(
    "body",
    [
        "<div class=no-comments><div "
        f"class=comments>{BODY}<h1>Title</h1></div></div><p>{TEASER}</p>",
        f"<div class='post-content social'>{BODY}</div><p>{TEASER}</p>",
    ],
)
def test_a_name_that_would_cost_the_article_is_not_believed(body: str) -> None:
    assert "\n".join(SENTENCES) in main_text_of(body)


@pytest.mark.parametrize(
    "page",
    [
        "".join(f"<div class=post><b>Ann</b><p>{text}</p></div>" for text in SENTENCES),
        f"<div class=post>{BODY}</div>"
        + "".join(f"<div class=post><a href=/>Ann</a><p>{text}</p></div>" for text in OTHER),
        "".join(
            f"<section><h2>{text[:20]}</h2><p>{text}</p><pre>ferry --{text[:5]}</pre></section>"
            for text in OTHER
        ),
        f"<h2>Name</h2><p>ferry</p><pre>int ferry(int islands)</pre><div class=docs>{BODY}</div>",
        f"<div class=section>{BODY}<div class=sidebar><p>{TEASER}</p></div></div>",
        f"<pre>{SENTENCES[0]}</pre>",
        f"<div class=a>{BODY}<ul><li><a href=/t>The "
        f"timetable</a></li><li>{NOTICE}</li><li>{TEASER}</li></ul></div>",
        f"<div class=a>{paragraphs(*SENTENCES[:3])}</div><section>{'Some words<br>' * 150}</section>",
        f"<div class=a>{'<p>A short line.</p>' * 60}</div><div "
        f"class=b>{'<p>Another one</p>' * 9}</div>",
        f"<div class=a>{'<p>A line of words without an end that is as long as a sentence</p>' * 9}</div><p>One</p>",
        f"<div><h1>Contents</h1><p>{SENTENCES[0]}</p><p>{SENTENCES[1]}</p><p>{SENTENCES[2]}</p>{LINKS}{LINKS}</div>",
        "<table>"
        + "".join(f"<tr><td><a href=/{n}>f{n}</a></td><td>{n}</td></tr>" for n in range(20))
        + "</table>",
        f"<p>A lamp.</p>{LINKS}<p>12.90</p>",
        " ".join(SENTENCES),
        f"<article class=post><h2><a href=/1>The ferry</a></h2>{BODY}</article>"
        f"<article class=post><h2><a href=/2>The bridge</a></h2><p>{TEASER}</p></article>",
        f"<div class='card first'><h1><a href=/1>The ferry</a></h1>{BODY}</div>"
        "<div class=card><h1><a href=/2>The bridge</a></h1><p>Closed</p></div>",
        "<section class=a><h2>Ferries</h2><ul><li>From the old pier</li><li>Daily at dawn</li>"
        "<li>No reservations needed in winter</li></ul></section><section class=b><h2>Prices</h2>"
        "<ul><li>Adults 12.50</li><li>Children and dogs 6.25</li><li>Bicycles go free of charge"
        f"</li></ul></section><section class=c><h2>What guests say</h2>{BODY}</section>",
    ],
    ids=[
        *("forum", "thread", "manual", "signature", "box", "pre", "list", "rows"),
        *("lines", "words", "contents", "table", "listing", "bare", "posts", "cards", "sections"),
    ],
)
def test_pages_that_are_no_article_stay_whole(page: str) -> None:
    assert main_text_of(page) == whole(page)


MEMBERS = "".join(
    f"<li><h4>sail{n}</h4><pre>public void sail{n}(int islands)</pre></li>" for n in range(3)
)


@pytest.mark.parametrize(
    "page",
    [
        f"<div class=description>{BODY}</div><div class=details><h3>Methods</h3><ul>{MEMBERS}</ul></div>",
        f"<div class=markdown>{BODY}</div><div class=wrap><div class=highlight><pre><code>sail(7, islands=True)"
        "</code></pre></div></div>",
        f"<article>{BODY}</article><section class=method><h3>sail()</h3><pre>public sail(int islands): void</pre></section>",
    ],
    ids=["javadoc", "highlighted", "phpdoc"],
)
def test_members_beside_a_description_are_content(page: str) -> None:
    assert main_text_of(page) == whole(page)


@pytest.mark.parametrize(
    "frame", ["{}", "<div class=highlight>{}</div>", "<div><div>{}</div></div>"]
)
def test_code_does_not_stand_for_the_article_around_it(frame: str) -> None:
    code = "".join(
        f"    weights[{n}] = normal(size, {n})  # the weights, then the bias.\n" for n in range(80)
    )
    page = f"<article>{paragraphs(*SENTENCES[:2])}{frame.format(f'<pre>{code}</pre>')}<p>{SENTENCES[2]}</p></article>"
    assert main_text_of(page) == whole(page)


tag = st.sampled_from(
    ["div", "p", "li", "ul", "td", "table", "span", "a", "article", "nav", "h1", "h2", "pre"]
)
attribute = st.sampled_from(
    ["", " class=share", " class=article-body", " hidden", " id=sidebar", " class='a b'"]
)
piece = st.one_of(
    st.builds("<{}{}>".format, tag, attribute),
    st.builds("</{}>".format, tag),
    st.sampled_from(
        [*SENTENCES, NOTICE, "short", "長い文章です。" * 9, "\u0000", "&amp;", "<!--", "-->"]
    ),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(piece, max_size=60))
def test_every_page_gives_lines_of_its_own_in_order(pieces: list[str]) -> None:
    page = HtmlPage("".join(pieces))
    lines = iter(text for text, _, _ in page.blocks.lines)
    assert all(line in lines for line in main_text(page).split("\n") if line)


HUGE = [
    f"<p>{SENTENCES[0]}</p>" * 50_000,
    f"{'<div class=a>' * 250}{SENTENCES[0]}{'</div>' * 250}" * 400,
    f"<table>{'<tr><td>a long cell, it is<td>x<td>y' * 50_000}</table>",
    f"<title>{SENTENCES[0] * 20_000}</title>" + f"<h2>{SENTENCES[0]}</h2>" * 30_000,
    "".join(
        f"<div class='{'article-' + '-_' * 2000}{n}'><p>{SENTENCES[0]}</p></div>"
        for n in range(1000)
    ),
    *("<frameset><frame src=a></frameset>", ""),
]


@pytest.mark.parametrize("html", HUGE, ids=range(len(HUGE)))
def test_huge_pages_are_read(html: str) -> None:
    # With a rule of quadratic time, one of them takes minutes.
    page = HtmlPage(html)
    assert bool(main_text(page)) == bool(page.blocks.lines)


SHARED = "The office on the quay keeps a list of boats, and reads it to all who ask. " * 3


@pytest.mark.parametrize("frame", ["<footer>{}</footer>", '<div class="modal policy">{}</div>'])
def test_long_terms_do_not_stand_for_a_page_with_a_text_of_its_own(frame: str) -> None:
    terms = frame.format(f"<p>{TEASER}</p>" * 25)
    lamps = "".join(
        f"<li><a href=/{n}>A lamp for the harbour, number {n}</a></li>" for n in range(40)
    )
    for content in (f"<p>{SHARED}</p>" * 5, f"<ul>{lamps}</ul>"):
        assert "minister" not in main_text_of(f"<h1>Lamps</h1><main>{content}</main>{terms}")
    assert "minister" in main_text_of(f"<h1>Lamps</h1><main><p>{SHARED}</p></main>{terms}")


@pytest.mark.parametrize(
    "frame",
    [
        '<article class="node node--promoted node--view-mode-full">{}</article>',
        '<div class="post-7 hentry category-social-media">{}</div>',
        '<div class="post tag-advertising">{}</div>',
        '<footer id="transcript">{}</footer>',
        "<aside>{}</aside>",
        "<dialog open>{}</dialog>",
        '<div role="navigation">{}</div>',
    ],
)
def test_what_holds_most_of_a_page_is_content_whatever_it_is_called(frame: str) -> None:
    page = f"<h1>News</h1><div class=side><p>{SHARED}</p></div>{frame.format(BODY)}"
    assert "ferry" in main_text_of(page)
    # Beside an article, it is what it is called.
    article = f"<h1>News</h1><div class=text><p>{SHARED * 20}</p></div>"
    assert "ferry" not in main_text_of(f"{article}{frame.format(f'<p>{TEASER}</p>')}")


@pytest.mark.parametrize(
    "anchored",
    [
        "".join(f'<p><a name="v{n}">{text}</a></p>' for n, text in enumerate(SENTENCES)),
        f"<a id=top><div>{BODY}</div></a>",
        f"<a name=top><div>{BODY}</div>",
        f"<section><a class=anchor aria-hidden=true>{BODY}</a></section>",
    ],
)
def test_an_anchor_that_leads_nowhere_is_no_link(anchored: str) -> None:
    text = main_text_of(f"<div>{paragraphs(*OTHER)}</div><div>{anchored}</div>")
    assert [sentence for sentence in SENTENCES if sentence not in text] == []
    blocks = blocks_of(parse(anchored))
    assert blocks.links == []
    assert {linked for _, linked, _ in blocks.lines} == {0}


@pytest.mark.parametrize(
    "attribute", ["href=/a", "href", "onclick='go()'", "role=button", "tabindex=0"]
)
def test_an_anchor_that_leads_somewhere_is_a_link(attribute: str) -> None:
    blocks = blocks_of(parse(f"<p><a {attribute}>Home</a></p>"))
    assert [linked for _, linked, _ in blocks.lines] == [4]


def test_the_rest_of_a_page_holds_what_is_content_whatever_it_is_called() -> None:
    page = HtmlPage(f"<h1>A page</h1><footer>{BODY}</footer>")
    assert SENTENCES[0] in content_text(page)
    small = HtmlPage(f"<h1>A page</h1>{BODY}<footer><p>{NOTICE}</p></footer>")
    assert NOTICE not in content_text(small)


@pytest.mark.parametrize(
    "name", ["node node-article node-promoted", "hentry promo", "post sticky-promo"]
)
def test_a_word_beside_an_article_does_not_make_it_noise(name: str) -> None:
    sidebar = "".join(f"<div class=box><p>{text}</p></div>" for text in OTHER)
    article = "".join(f"<p>{text}</p>" for text in SENTENCES)
    page = f"<div id=main><div class='{name}'>{article}</div></div>{sidebar}"
    assert [text for text in SENTENCES if text not in main_text_of(page)] == []


def test_a_short_article_has_pictures_whatever_else_it_is_called() -> None:
    def shown(picture: str) -> str:
        image = f"<img src=/files/{picture}.jpg width=600>"
        article = f"<article class='node node--promoted'>{image}<p>{' '.join(SENTENCES[:3])}</p></article>"
        return f"<title>Photo of the week</title><main><h1>Photo of the week</h1>{article}</main>"

    dedup = Deduplicator(key=0)
    dedup.check("https://a.example/node/17", html=shown("ferry"))
    assert dedup.check("https://a.example/node/18", html=shown("mill")).rejected_by == "picture"


def test_what_is_small_beside_the_page_is_noise_although_it_is_called_an_article() -> None:
    teaser = "<div class='post related-posts'><p>What else to read: the winter timetable.</p></div>"
    assert "What else" not in main_text_of(f"<h1>By ferry</h1>{BODY}{teaser}", "By ferry")
