"""What is called noise and is longer than the rest of its page: content, terms, or programs."""

import pytest
from selectolax.lexbor import LexborHTMLParser, LexborNode

from crawldedup.reading.block_names import is_called_consent, say_what_it_is
from tests.reading.prose import main_text_of

OWN = "The lamp on the quay is lit at dusk, and the keeper notes each boat that passes it. "
OTHER = "Whoever reads on agrees to all that the harbor office may do, as the law allows it. "


def paragraphs(text: str, number: int) -> str:
    return f"<p>{text}</p>" * number


def element(markup: str) -> LexborNode:
    found = LexborHTMLParser(markup).css_first("div")
    assert found is not None
    return found


@pytest.mark.parametrize(
    "program",
    [
        f"<script>{'let lamps = 1; ' * 2000}</script>",
        f"<style>{'.lamp { color: red } ' * 2000}</style>",
        f"<svg><title>{'lamp ' * 2000}</title></svg>",
    ],
)
def test_programs_do_not_make_a_navigation_content(program: str) -> None:
    menu = f"{program}<div>Boats for hire</div><div>Notes of the office</div>"
    body = f"<h1>Lamps</h1><main>{paragraphs(OWN, 4)}</main>"
    for frame in ("<nav>{}</nav>", '<div class="main-menu">{}</div>'):
        assert "hire" not in main_text_of(f"{frame.format(menu)}{body}")


@pytest.mark.parametrize("name", ['id="onetrust-consent-sdk"', "class=cookie-banner"])
def test_what_asks_for_consent_is_never_the_text_of_a_page_that_has_one(name: str) -> None:
    page = f"<h1>Lamps</h1><div>{paragraphs(OWN, 15)}</div>"
    dialog = f"<div {name} role=dialog class=banner>{paragraphs(OTHER, 120)}</div>"
    assert "agrees" not in main_text_of(f"{page}{dialog}")
    assert "agrees" in main_text_of(f"<h1>Lamps</h1><div>{paragraphs(OWN, 3)}</div>{dialog}")
    article = f'<article class="post tag-consent">{paragraphs(OTHER, 120)}</article>'
    assert "agrees" in main_text_of(f"{page}{article}")


def test_the_terms_in_a_footer_are_not_content() -> None:
    terms = f'<div id="modal-terms-of-service"><h1>Terms</h1>{paragraphs(OTHER, 120)}</div>'
    page = f"<main><h1>Lamps</h1>{paragraphs(OWN, 15)}</main>"
    assert "agrees" not in main_text_of(f"{page}<footer>{terms}</footer>")
    # A transcript in a footer has no such name.
    transcript = f'<div class="text"><h2>Transcript</h2>{paragraphs(OTHER, 120)}</div>'
    assert "agrees" in main_text_of(f"{page}<footer>{transcript}</footer>")


def test_the_only_first_heading_of_a_page_may_stand_in_a_footer() -> None:
    page = f"<div>{paragraphs(OWN, 15)}</div><footer><h1>Lamps</h1>{paragraphs(OTHER, 30)}</footer>"
    assert "agrees" in main_text_of(page)


def test_an_article_alone_is_one_even_if_it_is_a_newsletter() -> None:
    letter = f'<article class="newsletter-content">{paragraphs(OTHER, 30)}</article>'
    assert "agrees" in main_text_of(f"<h1>Lamps</h1><div>{paragraphs(OWN, 25)}</div>{letter}")


def test_what_is_streamed_later_is_shown() -> None:
    parts = f'<div hidden id="S:1">{paragraphs(OTHER, 9)}</div>'
    assert "agrees" in main_text_of(f"<h1>Lamps</h1><div>{paragraphs(OWN, 9)}</div>{parts}")
    hidden = f'<div hidden id="part-1">{paragraphs(OTHER, 9)}</div>'
    assert "agrees" not in main_text_of(f"<h1>Lamps</h1><div>{paragraphs(OWN, 9)}</div>{hidden}")


@pytest.mark.parametrize(
    "panel",
    [
        '<div role=tabpanel hidden class="tabItem_x1">{}</div>',
        '<div class="chakra-collapse" style="display:none">{}</div>',
        '<div class="product-tabs__tab-pane" style="display: none">{}</div>',
        '<div class="accordion-content" hidden>{}</div>',
        '<div id="react-collapsed-panel-7" style="display:none">{}</div>',
        "<div role=region hidden>{}</div>",
        "<div aria-labelledby=heading-3 hidden>{}</div>",
        '<div class="faq__answer" style="display: none;">{}</div>',
    ],
)
def test_what_a_click_on_a_tab_or_a_heading_opens_is_content(panel: str) -> None:
    page = f"<h1>Lamps</h1><div>{paragraphs(OWN, 9)}{panel.format(paragraphs(OTHER, 9))}</div>"
    assert "agrees" in main_text_of(page)
    for hidden in ("class=overlay", "role=dialog aria-labelledby=title"):
        box = f"<div {hidden} hidden>{paragraphs(OTHER, 9)}</div>"
        assert "agrees" not in main_text_of(f"<h1>Lamps</h1><div>{paragraphs(OWN, 9)}{box}</div>")


def test_an_id_that_is_made_from_a_heading_does_not_make_a_section_noise() -> None:
    for identity, is_read in (("answer-all-other-comments", True), ("page-comments", False)):
        section = f"<section id={identity}><h2>More</h2>{paragraphs(OTHER, 2)}</section>"
        page = f"<article><h1>Lamps</h1>{paragraphs(OWN, 9)}{section}</article>"
        assert ("agrees" in main_text_of(page)) is is_read


QUAY = "灯台守は夕暮れの港で船を見送り、窓辺に灯りをともした。"
MARKET = "市場の人々は朝早くから魚を並べ、遠くの町へ手紙を書いた。"
PIER = "คนเฝ้าประภาคารมองเรือที่ผ่านท่าเรือทุกเย็น"
SHOP = "ชาวตลาดวางปลาแต่เช้าและเขียนจดหมายถึงเมืองไกล"


@pytest.mark.parametrize(("own", "other"), [(QUAY, MARKET), (PIER, SHOP)], ids=["Japanese", "Thai"])
@pytest.mark.parametrize(
    "frame", ['<article class="node node-promoted">{}</article>', "<footer>{}</footer>"]
)
def test_a_text_without_spaces_says_more_in_fewer_letters(own: str, other: str, frame: str) -> None:
    def page(times: int) -> str:
        content = frame.format(paragraphs(other, times))
        return f"<title>灯台</title><h1>灯台</h1>{content}<div>{paragraphs(own, 3)}</div>"

    assert other in main_text_of(page(8))
    assert other not in main_text_of(page(1))


@pytest.mark.parametrize(
    "frame",
    [
        "<footer>{}</footer>",
        '<div class="cookie-banner">{}</div>',
        '<div class="newsletter-signup">{}</div>',
    ],
)
@pytest.mark.parametrize(
    "page", ["<main><article>{}</article></main>", "<div class=content>{}</div>"]
)
def test_a_short_article_is_read_beside_a_longer_text_that_is_named_as_noise(
    frame: str, page: str
) -> None:
    article = page.format(f"<h2>Lamps</h2>{paragraphs(OWN, 4)}")
    beside = frame.format(f"<p>{OTHER * 16}</p>")
    for body in (f"{article}{beside}", f"{beside}{article}"):
        assert "dusk" in main_text_of(body, "The harbor office")


@pytest.mark.parametrize(
    ("frame", "part"),
    [
        ("<dl>{}</dl>", "<dt>Lamp {}</dt><dd>{}</dd>"),
        ("{}", "<figure><img src=/{}.jpg><figcaption>{}</figcaption></figure>"),
        ("{}", "<details><summary>Lamp {}</summary><div>{}</div></details>"),
    ],
)
def test_a_paragraph_does_not_stand_for_several_times_its_text(frame: str, part: str) -> None:
    parts = frame.format("".join([part.format(number, OWN) for number in range(45)]))
    column = f"<div class=col><p>{OTHER * 13}</p></div>"
    wide = f"<div class=wide>{parts}</div>"
    assert "dusk" in main_text_of(f"{wide}{column}", "The harbor office")
    # Below its headline, an article may be short.
    article = f"<div class=page><h1>Rules of the harbor</h1>{column}</div>"
    assert "dusk" not in main_text_of(f"{wide}{article}", "Rules of the harbor")


@pytest.mark.parametrize("name", ["view-cookies", "product_cat-cookies", "cookie-recipe"])
def test_recipes_for_cookies_ask_for_no_consent(name: str) -> None:
    assert not is_called_consent(element(f'<div class="{name}">'))


@pytest.mark.parametrize(
    "name", ["cookie-banner", "cookieconsent", "gdpr-cookie-notice", "cookies"]
)
def test_banners_about_cookies_ask_for_consent(name: str) -> None:
    assert is_called_consent(element(f'<div class="{name}">'))


@pytest.mark.parametrize("name", ["tab-pane", "faq-item", "news-entry", "spec-part"])
def test_names_of_parts_say_what_an_element_is(name: str) -> None:
    assert say_what_it_is([name])


@pytest.mark.parametrize("name", ["col-md-6", "md:w-1", "p-4", "text-sm", "has-sidebar"])
def test_names_about_the_layout_say_nothing(name: str) -> None:
    assert not say_what_it_is([name])
