"""Characters that are removed from every text."""

from __future__ import annotations

import pytest

from crawldedup.text.decode import clean, decode, tidy


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
    text = decode(b"<p>" + b"\xff" * 8_000_000, encoding)
    assert set(text) == set("<p>\ufffd")
