"""The labels of encodings, and where pages declare them."""

from __future__ import annotations

import pytest
from webencodings.labels import LABELS

from crawldedup.reading.charsets import codec_inside, codec_of, label_in_type, text_of
from crawldedup.reading.html import decode

# What browsers refuse to decode, or read letter by letter into a private area.
REFUSED = {"replacement", "x-user-defined"}


@pytest.mark.parametrize("label", LABELS)
def test_every_label_of_the_standard_has_a_codec(label: str) -> None:
    if LABELS[label] not in REFUSED:
        assert "a".encode(codec_of(f" {label.upper()} ") or "").strip(b"\0") == b"a"


@pytest.mark.parametrize(
    ("label", "codec"),
    [
        ("latin1", "cp1252"),
        ("iso-8859-1", "cp1252"),
        ("iso-8859-8-i", "iso8859-8"),
        ("logical", "iso8859-8"),
        ("x-cp1251", "cp1251"),
        ("koi", "koi8-r"),
        ("x-mac-cyrillic", "mac-cyrillic"),
        ("x-gbk", "gb18030"),
        ("gb_2312", "gb18030"),
        ("windows-949", "cp949"),
        ("x-euc-jp", "euc_jp"),
        ("tis-620", "cp874"),
        ("utf-16", "utf-16-le"),
        ("unicode", "utf-16-le"),
        ("utf-16be", "utf-16-be"),
        ("utf-32", "utf-32-be"),
        ("cp850", "cp850"),
        ('utf-8<title>x "', "utf-8"),
        ('"windows-1251"', "cp1251"),
        (" 'utf-8' ", "utf-8"),
        ('"utf-8', "utf-8"),
        ("x-user-defined", None),
        ("utf-7", None),
        ("hex", None),
        ("punycode", None),
        ("no such", None),
        ("a\0b", None),
        ("", None),
        (None, None),
    ],
)
def test_labels_mean_what_they_mean_in_browsers(label: str | None, codec: str | None) -> None:
    assert codec_of(label) == codec


@pytest.mark.parametrize(
    ("head", "codec"),
    [
        ("<meta charset=x-gbk>", "gb18030"),
        ("<META\nCHARSET = 'koi' />", "koi8-r"),
        ("<meta content='text/html; charset=x-cp1251' http-equiv=Content-Type>", "cp1251"),
        ("<meta httpequiv=ContentType content='text/html;charset=\"logical\"'>", "iso8859-8"),
        ('<?xml version="1.0" encoding="x-mac-cyrillic"?><html>', "mac-cyrillic"),
        ("<meta charset=unheard-of><meta charset=x-sjis>", "cp932"),
        ("<meta charset=utf-16>", "utf-8"),
        ("<!-- <meta charset=koi> -->", None),
        ("<!--><meta charset=koi>", "koi8-r"),
        ("<meta name=x content='charset=koi'>", None),
        ("<meta http-equiv=refresh content='0; charset=koi'>", None),
        ("<metadata charset=koi>", None),
        ("<body><meta charset=koi>", None),
        (" " * 5000 + "<meta charset=koi>", None),
    ],
)
def test_a_page_declares_its_encoding_in_its_head(head: str, codec: str | None) -> None:
    assert codec_inside(head.encode()) == codec


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_an_xml_declaration_of_two_bytes_a_letter_is_recognized(codec: str) -> None:
    page = '<?xml version="1.0" encoding="utf-16"?><html>Ä</html>'
    assert decode(page.encode(codec), None) == page


def test_utf_16_without_a_mark_is_little_endian() -> None:
    assert decode("<p>Ä</p>".encode("utf-16-le"), "utf-16") == "<p>Ä</p>"
    assert decode(b"\xfe\xff" + "<p>Ä</p>".encode("utf-16-be"), "utf-16") == "<p>Ä</p>"


@pytest.mark.parametrize(
    ("content_type", "label"),
    [
        ("text/html; charset=x-gbk", "x-gbk"),
        ('text/html;CharSet="koi"; x=y', "koi"),
        ("text/html; charset='utf-8'", "utf-8"),
        ("text/html; charset=utf-8, text/html", "utf-8"),
        ("text/html; xcharset=utf-8", None),
        ("text/html; charset=", None),
        ("", None),
    ],
)
def test_the_label_in_a_content_type(content_type: str, label: str | None) -> None:
    assert label_in_type(content_type) == label


@pytest.mark.parametrize(
    ("label", "body", "text"),
    [
        ("koi8-r", "Привет".encode("koi8-r"), "Привет"),
        ("UTF-16", "hé".encode("utf-16-le"), "hé"),
        ("utf-16", b"\xff\xfeh\0", "h"),
        (None, "hé".encode(), "hé"),
        ("punycode", b"a-b", "a-b"),
        ("unicode_escape", rb"\u0041", r"\u0041"),
        ("hex", b"4142", "4142"),
    ],
)
def test_texts_are_decoded_as_pages_are(label: str | None, body: bytes, text: str) -> None:
    assert text_of(body, label) == text


def test_broken_texts_are_refused_unless_something_stands_for_their_bytes() -> None:
    with pytest.raises(UnicodeDecodeError):
        text_of(b"\xff", "utf-8")
    assert text_of(b"\xff", "utf-8", "replace") == "�"
