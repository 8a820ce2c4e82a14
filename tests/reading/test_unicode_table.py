"""The frozen table of character classes."""

from __future__ import annotations

import json
import unicodedata
from importlib import resources

import numpy as np
import pytest

from crawldedup.reading.tokenize import DATA_FILE, LETTER, MARK, SEPARATOR, SOLO, UNKNOWN, class_table
from tests.reading.make_unicode_table import build_runs, classify


def test_table_equals_the_running_unicode_database_for_all_that_unicode_14_knew() -> None:
    table = class_table()
    running = np.array([classify(code_point) for code_point in range(0x110000)], np.uint8)
    differing = np.flatnonzero(table != running)
    known = differing[table[differing] != UNKNOWN]
    assert known.tolist() == []
    if unicodedata.unidata_version.startswith("14."):
        assert differing.tolist() == []


def test_data_file_is_what_the_module_would_print_again() -> None:
    data = json.loads(resources.files("crawldedup.reading").joinpath(DATA_FILE).read_text("ascii"))
    assert data["unicode"] == "14.0.0"
    assert sum(data["run_lengths"]) == 0x110000
    assert len(data["run_lengths"]) == len(data["run_classes"])
    assert all(before != after for before, after in zip(data["run_classes"], data["run_classes"][1:], strict=False))
    if unicodedata.unidata_version.startswith("14."):
        assert build_runs() == data


def test_table_cannot_be_changed_by_accident() -> None:
    with pytest.raises(ValueError, match="read-only"):
        class_table()[0] = LETTER


@pytest.mark.parametrize(
    ("expected", "characters"),
    [
        (SEPARATOR, " \n\t\u3000.,;!?'’\"«»“”-–—/()[]{}@#€$%&*+=<>|~^。、「」・，！\u200b\ufeff\x00😀→©"),
        (LETTER, "aZéßñøłœΩжשعकতத한글ㅏ09_²½ºªⅫ٣५"),
        (SOLO, "漢字仮名ひらカタㇰー々〇豈กขໜកខမက\U00020000"),
        (MARK, "\u0301\u0308\u093f\u094d\u0e31\u0e48\u17b6\u17d2\u102d\u3099\u05b7\u064e\u200c\u200d\ufe0f"),
        (UNKNOWN, "\u0378\u1acf\U000323b0\U0001fae8\U000e0080\uffff"),
    ],
)
def test_characters_of_each_class(expected: int, characters: str) -> None:
    table = class_table()
    assert {character: int(table[ord(character)]) for character in characters} == dict.fromkeys(characters, expected)
