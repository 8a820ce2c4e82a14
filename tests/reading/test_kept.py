"""Texts on their way into a store and back."""

from __future__ import annotations

import zlib

import pytest

from crawldedup.reading.difference import LONGEST_TEXT, packed_text, unpacked_text


@pytest.mark.parametrize("text", ["", "a", "Grüße, 世界 \0\n", "long " * 10_000])
def test_a_text_comes_back(text: str) -> None:
    assert unpacked_text(packed_text(text)) == text


@pytest.mark.parametrize("letter", ["x", "ü", "世", "😀"])
def test_a_text_is_kept_up_to_a_length(letter: str) -> None:
    assert unpacked_text(packed_text(letter * LONGEST_TEXT + "more")) == letter * LONGEST_TEXT


@pytest.mark.parametrize("packed", [b"", b"no text", packed_text("text" * 100)[2:]])
def test_what_is_no_text_is_none(packed: bytes) -> None:
    assert unpacked_text(packed) is None


def test_what_swells_stays_small() -> None:
    assert len(unpacked_text(zlib.compress(b"x" * 50_000_000)) or "") == LONGEST_TEXT


def test_half_characters_are_replaced() -> None:
    assert unpacked_text(packed_text("half \ud800")) == "half ?"
