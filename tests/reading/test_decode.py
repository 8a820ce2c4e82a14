"""Which characters the bytes of a page are, and which are removed from every text."""

from __future__ import annotations

import pytest

from crawldedup.reading.html import clean, decode, tidy


@pytest.mark.parametrize(
    "forbidden", ["\0", "\x08", "\x0b", "\x0c", "\x0e", "\x1f", "\x7f", "\ud800", "\uffff"]
)
@pytest.mark.parametrize(
    "text", ["", "a", "ä", "字", "a\n\t\r\xa0\x85 \ud7ff\ue000\ufffd\U00010000"]
)
def test_what_no_tree_takes_is_dropped_wherever_it_stands(forbidden: str, text: str) -> None:
    assert clean(text) == text
    for dirty in (forbidden + text, text + forbidden, forbidden + text + forbidden * 2):
        assert clean(dirty) == text


@pytest.mark.parametrize("offset", range(9))
@pytest.mark.parametrize(("given", "left"), [(31, 31), (32, 32), (33, 32), (40, 32), (4000, 32)])
def test_a_run_of_marks_is_cut_where_it_is_longer_than_any_language_has(
    offset: int, given: int, left: int
) -> None:
    before, after = "a" * offset, "b" * (17 - offset)
    for mark in ("\u0301", "\uff9e", "\U0001e8d0", "\u200b"):
        assert tidy(f"{before}{mark * given}{after}") == f"{before}{mark * left}{after}"


@pytest.mark.parametrize("pair", ["\u0301\u0323", "\u0301\xad", "\uff9e\u0301", "\u0f73\u200d"])
def test_accents_in_turn_are_cut_as_well(pair: str) -> None:
    assert tidy(f"a{pair * 40}b{pair * 40}") == f"a{pair * 16}b{pair * 16}"


@pytest.mark.parametrize("symbol", ["、", "—", "😀", "⣿", "⬛", "🂡", "♜", "░", "━"])
def test_a_run_of_symbols_is_text(symbol: str) -> None:
    assert tidy(f"{symbol * 99}b") == f"{symbol * 99}b"


def test_a_large_page_of_broken_bytes_is_not_repaired_byte_by_byte(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr("crawldedup.reading.html.to_unicode")
    assert set(decode(b"<p>" + b"\xff" * 2_000_000, "gb18030")) == set("<p>\ufffd")


FRENCH = (
    "<p>Où l’été dîne à Besançon, le garçon rêve d’un château ; « ça coûte 3 € », dit-elle.</p>"
)
PROSE = {
    "windows-1252": FRENCH,
    "windows-1251": "<p>«Съешь ещё этих мягких французских булок, да выпей чаю» — сказано.</p>",
    "koi8-r": "<p>Съешь ещё этих мягких французских булок, да выпей чаю.</p>",
}
WIDE_PROSE = {
    "shift_jis": "<p>いろはにほへと ちりぬるを わかよたれそ つねならむ</p>",
    "euc-kr": "<p>키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다.</p>",
}


def meta(charset: str) -> str:
    return f"<meta charset={charset}>"


@pytest.mark.parametrize("declared", PROSE)
@pytest.mark.parametrize("text", [*PROSE.values(), *WIDE_PROSE.values()])
def test_valid_utf_8_is_utf_8_whatever_single_byte_charset_is_declared(
    declared: str, text: str
) -> None:
    assert decode(text.encode(), declared) == text
    assert decode((meta(declared) + text).encode(), None) == meta(declared) + text
    # The last character may be cut off.
    cut = text.replace("</p>", "€").encode()[:-1]
    assert decode(cut, declared).startswith(text.removesuffix("</p>"))


@pytest.mark.parametrize(("charset", "text"), (PROSE | WIDE_PROSE).items())
def test_a_charset_that_is_declared_rightly_is_believed(charset: str, text: str) -> None:
    page = meta(charset) + text
    assert decode(text.encode(charset), charset) == text
    # What is declared as UTF-8 and is not is read as the page says, too.
    for declared in (None, "utf-8"):
        assert decode(page.encode(charset), declared) == page


@pytest.mark.parametrize(
    ("codec", "declared", "head"),
    [
        ("latin-1", "iso-8859-1", meta("utf-8")),
        ("utf-8", None, meta("utf-16")),
        ("utf-16", None, ""),
        *(
            ("utf-8", unusable, "")
            for unusable in ("no-such", "", "hex", "punycode", "unicode_escape", "a\0b")
        ),
        ("euc_jp", None, '<meta http-equiv="Content-Type" content="text/html; charset=EUC-JP">'),
    ],
)
def test_the_best_evidence_decides(codec: str, declared: str | None, head: str) -> None:
    page = head + (
        "その橋を渡る列車は一日に一本だけ。"
        if codec == "euc_jp"
        else "Über die Brücke fährt der Zug."
    )
    assert decode(page.encode(codec), declared) == page


@pytest.mark.parametrize("declared", ["ascii", "utf-16", "shift_jis", "gb18030", "iso-2022-jp"])
def test_a_wrong_encoding_gives_a_text_all_the_same(declared: str) -> None:
    assert decode(FRENCH.encode("cp1252") + b"\xff\xfe\x81 the end", declared).encode("utf-8")


def test_a_few_pairs_of_letters_may_be_meant() -> None:
    text = "<p>Where a server forgets the charset, there is Ã© or Ã¨.</p>"
    assert decode(text.encode("latin-1"), "latin-1") == text


@pytest.mark.parametrize("head", ["", meta("utf-8")])
def test_a_page_without_a_declared_encoding_is_read_as_windows_1252(head: str) -> None:
    assert decode((head + FRENCH).encode("cp1252"), "utf-8") == head + FRENCH
    assert decode((head + FRENCH).encode("cp1252"), None) == head + FRENCH


def test_cut_off_utf_8_stays_utf_8() -> None:
    body = (meta("iso-8859-1") + FRENCH).encode()
    for size in range(len(meta("iso-8859-1")), len(body)):
        assert decode(body[:size], "utf-8") == body[:size].decode("utf-8", "replace")


@pytest.mark.parametrize("broken", [b"\xff", b"caf\xe9 \xc3 \x80"])
def test_some_broken_bytes_leave_utf_8_what_it_is(broken: bytes) -> None:
    body = b"<p>" + broken + b"</p>" + (FRENCH + "\ufffd").encode() + broken
    assert decode(body, "utf-8") == body.decode("utf-8", "replace")
