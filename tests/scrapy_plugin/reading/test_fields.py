"""Fingerprints of the fields of items."""

from __future__ import annotations

import pytest

from crawldedup.errors import PageError
from crawldedup.fingerprinting.fingerprint import Fingerprint
from crawldedup.options import Options
from crawldedup.reader import PageReader
from crawldedup.scrapy_plugin.items.text import check_item_fields, joined_fields
from crawldedup.scrapy_plugin.reading.fields import fingerprint_fields, is_marked_up
from crawldedup.text.keys import NO_KEY
from tests.scrapy_plugin.items.test_text import PROSE

READER = PageReader(Options(extractor="text"))
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


def read(**fields: str) -> Fingerprint:
    joined = joined_fields(fields, check_item_fields("fields", list(fields))).decode()
    return fingerprint_fields(READER, joined, NO_KEY)


def words_of(**fields: str) -> int:
    return read(**fields).words


@pytest.mark.parametrize("text", ["if a < b and c > d: e", "1 <2> 3", "a <- b, b -> c", "mail <someone@example.com>"])
def test_angle_brackets_alone_are_no_markup(text: str) -> None:
    assert not is_marked_up(text)
    assert is_marked_up(f"{text}<br>")


def test_bare_texts_are_read_as_one_text() -> None:
    alone = READER.read(text=f"A title\n{PROSE}")
    together = read(title="A title", body=PROSE)
    assert (together.digest, together.verify, together.words) == (alone.digest, alone.verify, alone.words)


@pytest.mark.parametrize("unclosed", UNCLOSED)
def test_what_one_field_leaves_open_swallows_none_of_the_next(unclosed: str) -> None:
    words = words_of(teaser=TEASER, body="<p>one two three</p>")
    assert words_of(teaser=TEASER + unclosed, body="<p>one two three</p>") == words
    assert words_of(teaser=TEASER + unclosed, body="one two three") == words


@pytest.mark.parametrize("plain_title", ["Fish & chips < 5", "Plain"])
def test_markup_in_a_field_does_not_count_and_signs_in_the_others_do(plain_title: str) -> None:
    with_markup = read(title=plain_title, body=f"<div class='x'><p>{PROSE}</p><script>track(17)</script></div>")
    without = read(title=plain_title, body=PROSE)
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
        words_of(title="A title", body="<div>" * 30_000 + "text</div>")
    assert error.value.reason == "too_deep"


def test_a_single_field_keeps_the_facts_of_its_markup() -> None:
    def product(colour: str) -> str:
        rows = f"<tr><th>Colour</th><td>{colour}</td></tr><tr><th>Volume</th><td>1.2 l</td></tr>"
        return f"<h1>Teapot Mara</h1><p class=price>19.99 EUR</p><p>{PROSE}</p><table>{rows}</table>"

    red, blue = (read(body=product(colour)) for colour in ("red", "blue"))
    assert red.facts != blue.facts


def test_the_words_of_all_fields_count() -> None:
    assert words_of(title="A title", body=TEASER) == 2 + len(PROSE.split())
