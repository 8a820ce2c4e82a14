"""What of an item's marked-up fields is read."""

from __future__ import annotations

import pytest
from crawldedup.scrapy_plugin.items.reader import ItemReader

from crawldedup.errors import PageError
from crawldedup.options import Options
from crawldedup.page import PageReader
from crawldedup.scrapy_plugin.items.text import ItemSettings, page_in
from crawldedup.scrapy_plugin.reading.worker import read_page
from tests.scrapy_plugin.items.test_text import PROSE

TEASER = f"<p>{PROSE}</p>"
# Each swallows what follows it, or marks it as something that is not shown.
UNCLOSED = (
    "<!-- advertisement",
    "<script>var x",
    "<style>",
    "<iframe>",
    "<p class='lead",
    "<svg>",
    "<template>",
    "<head>",
)


def words_of(**fields: str) -> int:
    page = page_in(fields, ItemSettings(fields={"": tuple(fields)}))
    reader = ItemReader(PageReader(Options(extractor="text")))
    read = reader.read(page.body, "utf-8") if page.is_html else reader.read_text(page.body.decode())
    return read.words


@pytest.mark.parametrize("unclosed", UNCLOSED)
def test_what_one_field_leaves_open_swallows_none_of_the_next(unclosed: str) -> None:
    words = words_of(teaser=TEASER, body="<p>one two three</p>")
    assert words_of(teaser=TEASER + unclosed, body="<p>one two three</p>") == words
    assert words_of(teaser=TEASER + unclosed, body="one two three") == words


@pytest.mark.parametrize("plain_title", ["Fish & chips < 5", "Plain"])
def test_markup_in_a_field_does_not_count_and_signs_in_the_others_do(plain_title: str) -> None:
    reader = ItemReader(PageReader(Options(extractor="text")))
    settings = ItemSettings(fields={"": ("title", "body")})
    marked = {"title": plain_title, "body": f"<div class='x'><p>{PROSE}</p><script>track(17)</script></div>"}
    bare = {"title": plain_title, "body": PROSE}
    pages = [page_in(item, settings) for item in (marked, bare)]
    assert [page.is_html for page in pages] == [True, False]
    with_markup = reader.read(pages[0].body, "utf-8")
    without = reader.read_text(pages[1].body.decode())
    assert (with_markup.digest, with_markup.verify) == (without.digest, without.verify)


def test_a_record_separator_in_a_field_makes_no_field() -> None:
    assert words_of(teaser=TEASER, body="one<br>two\x1e<!-- three") == words_of(teaser=TEASER, body="one two")


@pytest.mark.parametrize(
    "nothing", ["<p></p>", "<br>", "<img src='a.png'>", "<!-- one two --><p>", "<script>1</script>"]
)
def test_a_field_with_nothing_but_markup_is_no_field(nothing: str) -> None:
    with pytest.raises(PageError) as error:
        words_of(title="A title", body=nothing)
    assert error.value.reason == "no_field"


def test_a_field_that_cannot_be_read_fails_for_its_own_reason() -> None:
    with pytest.raises(PageError) as error:
        words_of(title="A title", body="<div>" * 300 + "text</div>")
    assert error.value.reason == "too_deep"


def test_a_single_field_keeps_the_facts_of_its_markup() -> None:
    def product(colour: str) -> dict[str, str]:
        rows = f"<tr><th>Colour</th><td>{colour}</td></tr><tr><th>Volume</th><td>1.2 l</td></tr>"
        return {"body": f"<h1>Teapot Mara</h1><p class=price>19.99 EUR</p><p>{PROSE}</p><table>{rows}</table>"}

    reader = ItemReader(PageReader(Options(extractor="text")))
    red, blue = (
        reader.read(page_in(product(colour), ItemSettings(fields={"": ("body",)})).body, "utf-8")
        for colour in ("red", "blue")
    )
    assert red.facts != blue.facts


def test_it_reads_what_a_page_reader_reads() -> None:
    page = page_in({"title": "A title", "body": TEASER}, ItemSettings(fields={"": ("title", "body")}))
    assert page.is_html
    assert read_page(ItemReader(PageReader(Options(extractor="text"))), page).words == 2 + len(PROSE.split())
