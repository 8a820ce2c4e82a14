"""Which characters the bytes of a page are, and which are removed from every text."""

from __future__ import annotations

import pytest

from crawldedup.reading.html import clean, decode, tidy


@pytest.mark.parametrize("forbidden", ["\0", "\x08", "\x0b", "\x0c", "\x0e", "\x1f", "\x7f", "\ud800", "\uffff"])
@pytest.mark.parametrize("text", ["", "a", "ä", "字", "a\n\t\r\xa0\x85 \ud7ff\ue000\ufffd\U00010000"])
def test_what_no_tree_takes_is_dropped_wherever_it_stands(forbidden: str, text: str) -> None:
    assert clean(text) == text
    for dirty in (forbidden + text, text + forbidden, forbidden + text + forbidden * 2):
        assert clean(dirty) == text


@pytest.mark.parametrize("offset", range(9))
@pytest.mark.parametrize(("given", "left"), [(31, 31), (32, 32), (33, 32), (40, 32), (4000, 32)])
def test_a_run_of_marks_is_cut_where_it_is_longer_than_any_language_has(offset: int, given: int, left: int) -> None:
    before, after = "a" * offset, "b" * (17 - offset)
    for mark in ("\u0301", "、", "—"):
        assert tidy(f"{before}{mark * given}{after}") == f"{before}{mark * left}{after}"


@pytest.mark.parametrize("encoding", ["gb18030", "gbk"])
def test_a_large_page_of_broken_bytes_is_one_of_replacement_characters(encoding: str) -> None:
    text = decode(b"<p>" + b"\xff" * 2_000_000, encoding)
    assert set(text) == set("<p>\ufffd")


FRENCH = "<p>Où l’été dîne à Besançon, le garçon rêve d’un château ; « ça coûte 3 € », dit-elle.</p>"
PROSE = {
    "iso-8859-1": FRENCH.replace("€", "EUR").replace("’", "'"),
    "windows-1252": FRENCH,
    "iso-8859-15": FRENCH.replace("’", "'"),
    "windows-1250": "<p>Příliš žluťoučký kůň úpěl ďábelské ódy, „řekl“ někdo.</p>",
    "windows-1251": "<p>«Съешь ещё этих мягких французских булок, да выпей чаю» — сказано.</p>",
    "koi8-r": "<p>Съешь ещё этих мягких французских булок, да выпей чаю.</p>",
    "iso-8859-7": "<p>Ξεσκεπάζω την ψυχοφθόρα βδελυγμία.</p>",
    "windows-1254": "<p>Pijamalı hasta yağız şoföre çabucak güvendi.</p>",
    "windows-1256": "<p>نص حكيم له سر قاطع وذو شأن عظيم مكتوب.</p>",
    "cp874": "<p>เป็นมนุษย์สุดประเสริฐเลิศคุณค่า เกษา</p>",
    "macintosh": FRENCH,
}
WIDE_PROSE = {
    "shift_jis": "<p>いろはにほへと ちりぬるを わかよたれそ つねならむ</p>",
    "gb2312": "<p>天地玄黄，宇宙洪荒。日月盈昃，辰宿列张。</p>",
    "euc-kr": "<p>키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다.</p>",
    "big5": "<p>天地玄黃，宇宙洪荒。日月盈昃，辰宿列張。</p>",
}


def meta(charset: str) -> str:
    return f"<meta charset={charset}>"


@pytest.mark.parametrize("declared", PROSE)
@pytest.mark.parametrize("text", [*PROSE.values(), *WIDE_PROSE.values()])
def test_valid_utf_8_is_utf_8_whatever_single_byte_charset_is_declared(declared: str, text: str) -> None:
    assert decode(text.encode(), declared) == text
    assert decode((meta(declared) + text).encode(), None) == meta(declared) + text
    # The last character may be cut off.
    cut = text.replace("</p>", "€").encode()[:-1]
    assert decode(cut, declared).startswith(text.removesuffix("</p>"))


@pytest.mark.parametrize(("charset", "text"), (PROSE | WIDE_PROSE).items())
def test_a_charset_that_is_declared_rightly_is_believed(charset: str, text: str) -> None:
    assert decode(text.encode(charset), charset) == text
    assert decode((meta(charset) + text).encode(charset), None) == meta(charset) + text


def test_a_few_pairs_of_letters_may_be_meant() -> None:
    text = "<p>Where a server forgets the charset, é is shown as Ã©, and è as Ã¨.</p>".replace("é", "e").replace(
        "è", "e"
    )
    assert decode(text.encode("latin-1"), "latin-1") == text


@pytest.mark.parametrize(("charset", "text"), (PROSE | WIDE_PROSE).items())
def test_what_is_declared_as_utf_8_and_is_not_is_read_as_the_page_says(charset: str, text: str) -> None:
    page = meta(charset) + text
    assert decode(page.encode(charset), "utf-8") == page


@pytest.mark.parametrize("head", ["", meta("utf-8")])
def test_without_a_word_of_the_page_it_is_read_as_most_of_the_web_was(head: str) -> None:
    assert decode((head + FRENCH).encode("cp1252"), "utf-8") == head + FRENCH
    assert decode((head + FRENCH).encode("cp1252"), None) == head + FRENCH


def test_cut_off_utf_8_stays_utf_8() -> None:
    body = (meta("iso-8859-1") + FRENCH).encode()
    for size in range(len(meta("iso-8859-1")), len(body)):
        assert decode(body[:size], "utf-8") == body[:size].decode("utf-8", "replace")


@pytest.mark.parametrize("broken", [b"\xff", b"\xe9", b"\xe2\x80", b"caf\xe9 \xc3 \x80"])
def test_some_broken_bytes_leave_utf_8_what_it_is(broken: bytes) -> None:
    body = b"<p>" + broken + b"</p>" + (FRENCH + "\ufffd").encode() + broken
    assert decode(body, "utf-8") == body.decode("utf-8", "replace")


def test_replacement_characters_of_the_page_itself_are_not_broken() -> None:
    body = "<p>é \ufffd\ufffd\ufffd".encode() + b"\xff</p>"
    assert decode(body, "utf-8") == "<p>é \ufffd\ufffd\ufffd\ufffd</p>"
