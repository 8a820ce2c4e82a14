"""HTML and text are told apart, and XHTML and ruby are read correctly."""

from __future__ import annotations

import pytest

from crawldedup.reading.blocks import blocks_of
from crawldedup.reading.extract import extract_page, get_extractor
from crawldedup.reading.html import MAX_TAGS, HtmlPage
from crawldedup.reading.markup import as_html, is_html, without_readings

XHTML = "http://www.w3.org/1999/xhtml"
DECLARED = {
    "XML declaration": '<?xml version="1.0" encoding="UTF-8"?>\n<html xmlns="{ns}">',
    "declaration alone": "<?xml version='1.0'?><html>",
    "namespace": '<html xmlns="{ns}" lang="de">',
    "after a comment": '<!-- made by hand --><!DOCTYPE html>\n<html xmlns="{ns}">',
    "doctype": (
        '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" '
        '"http://www.w3.org/TR/xhtml11/DTD/xhtml11.dtd">\n<html>'
    ),
    "subset": '<!DOCTYPE html [<!ENTITY nbsp "&#160;">]><html xmlns="{ns}">',
}


def page(body: str, head: str = "<title>Book</title>", declared: str = "XML declaration") -> str:
    start = DECLARED[declared].replace("{ns}", XHTML)
    return f"{start}<head>{head}</head><body>{body}</body></html>"


def lines_of(source: str) -> list[str]:
    return [text for text, _, _ in blocks_of(HtmlPage.read(source, None).tree).lines]


EMPTY = [
    "title",
    "script",
    "style",
    "iframe",
    "textarea",
    "noscript",
    "object",
    "canvas",
    "a",
    "p",
    "div",
    "span",
    "select",
    "video",
    "svg",
    "map",
]


@pytest.mark.parametrize("declared", DECLARED)
@pytest.mark.parametrize("name", EMPTY)
def test_an_element_of_xhtml_that_ends_at_once_holds_nothing(name: str, declared: str) -> None:
    source = page(f'<p>One&nbsp;two</p><div><{name} id="x"/></div><p>Three</p>', "", declared)
    assert lines_of(source) == ["One two", "Three"]
    source = page("<p>One</p><p>Two</p>", f"<{name}/>", declared)
    assert lines_of(source) == ["One", "Two"]


def test_xhtml_is_read_with_cdata_prefixes_and_entities() -> None:
    source = page(
        "<p><![CDATA[a < b & <b>c</b>]]></p><p>d &lt;e&gt; &eacute;&#x41;</p>"
        '<h:p xmlns:h="http://www.w3.org/1999/xhtml">f</h:p><br/>g<p title="&quot;&gt;"/>'
    )
    assert lines_of(source) == ["a < b & <b>c</b>", "d <e> éA", "f", "g"]


def test_data_in_a_script_of_xhtml_is_read_as_it_was_meant() -> None:
    script = '<script type="application/ld+json">{"name": "R&amp;D &lt; 1"}</script><script/>'
    (data, _) = HtmlPage.read(page("<p>a</p>", script), None).tree.css("script")
    assert data.text() == '{"name": "R&D < 1"}'
    script = "<script><![CDATA[a = '</script>' < 1]]></script><script/>"
    assert lines_of(page("<p>One</p>", script)) == ["One"]


@pytest.mark.parametrize(
    "source",
    [
        page("<p>not well-formed<a/>"),
        page("<p>&undeclared;<a/></p>"),
        "<!DOCTYPE html><html><body><p>HTML</p><div/></body></html>",
        '<?xml version="1.0"?><rss><title/></rss>',
        page("<p>nothing to change<br/><img src='x'/></p>"),
        page("<p>&a;<i/></p>", declared="subset").replace("nbsp", "a"),
        f'<!DOCTYPE html [<!ENTITY % x "]"><!ENTITY b "{"x" * 99}">]><html xmlns="{XHTML}">'
        "<body>&b;&b;<a/></body></html>",
    ],
)
def test_other_pages_stay_as_they_are(source: str) -> None:
    assert as_html(source, MAX_TAGS) == source


def test_no_entity_is_expanded_or_fetched() -> None:
    for entity in ('"' + "x" * 999 + '"', 'SYSTEM "file:///etc/passwd"'):
        source = (
            f'<!DOCTYPE html [<!ENTITY a {entity}>]><html xmlns="{XHTML}"><p>a &a;<i/></p></html>'
        )
        assert as_html(source, MAX_TAGS) == source


@pytest.mark.parametrize("before", ["", "\ufeff", "\n ", "<!-- a -->\n<?xml version='1.0'?> "])
@pytest.mark.parametrize(
    "start", ["<!DOCTYPE html>", "<!doctype HTML PUBLIC 'x'>", "<html lang=en>", "<HEAD>", "<body>"]
)
def test_the_source_of_a_page_is_html(before: str, start: str) -> None:
    assert is_html(f"{before}{start}<p>text", parts=False)


@pytest.mark.parametrize(
    "text", ["<div class=a><p>One</p></div>\n", "<h1>One</h1>Two<br>", "<table><tr></table>"]
)
def test_a_part_of_a_page_is_html_unless_it_may_be_markdown(text: str) -> None:
    assert is_html(text)
    assert not is_html(text, parts=False)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A text about <html> and </html>",
        "<script>import a from 'b'</script>\n<template></template>",
        "<?xml version='1.0'?><rss></rss>",
        "<?php echo '<html>' ?>",
        "<p> stands for a paragraph, and",
        "<htmlx>",
        "<h1>Title</h1>\n\nThen Markdown, with *emphasis*.",
        "<!-- " * 9999,
    ],
)
def test_other_texts_are_no_html(text: str) -> None:
    assert not is_html(text)


@pytest.mark.parametrize(
    "marked",
    [
        "<ruby>東京<rt>とうきょう</rt></ruby>へ",
        "<ruby>東<rp>(</rp><rt>とう</rt><rp>)</rp>京<rp>(</rp><rt>きょう</rt><rp>)</rp></ruby>へ",
        "<ruby>東<RT>とう<RB>京<RT>きょう</ruby>へ",
        "<ruby><rb>東<rb>京<rt lang=ja>とう<rt>きょう</ruby>へ",
        "<ruby>東京<rtc><rt>とう<rt>きょう</rtc></ruby>へ",
        "<ruby>東京<rt><span class=k>とう<b>きょう</b></span></rt></ruby>へ",
    ],
)
@pytest.mark.parametrize("extractor", ["blocks", "text", "trafilatura"])
def test_readings_are_no_text(marked: str, extractor: str) -> None:
    source = f"<html><title>東京へ</title><body><h1>{marked}</h1><p>{marked}</p></body></html>"
    read = extract_page(source, None, get_extractor(extractor), min_words=1)
    assert set(read.main.replace("\n", "")) == set("東京へ")


@pytest.mark.parametrize(
    "source",
    [
        "<rt>One</rt>",
        "<ruby>a<rt>" + "b" * 300 + "</rt></ruby>",
        "<ruby>a<rt>b</ruby>".replace("</ruby>", "<p>A page that was never closed</p>"),
        "<ruby><rt-text>Custom</rt-text></ruby>",
    ],
)
def test_what_is_no_reading_stays(source: str) -> None:
    assert without_readings(source) == source
