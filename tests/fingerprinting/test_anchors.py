"""Paragraphs of texts and their anchors: alike wherever the words stand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from crawldedup.fingerprinting.anchors import (
    ANCHOR_BITS,
    MOST_PARAGRAPHS,
    PARAGRAPH_WORDS,
    Paragraph,
    paragraphs_of,
)
from crawldedup.fingerprinting.tokenize import count_words, words_of_lines
from crawldedup.key import Key
from tests.stories import story

TEXT = story(3, 2000)
WORDS = TEXT.split()
# They are kept in indexes.
GOLDEN = (
    *(
        248117074718064378,
        1117159014878842026,
        663347520875075856,
        685737466472132032,
        36513210626249852,
    ),
    *(
        855097268592086624,
        588720635539184993,
        463419786620754167,
        651632812371726044,
        5025150902252586,
    ),
)


def anchors_of(text: str) -> set[int]:
    return {anchor for paragraph in paragraphs_of(text) for anchor in paragraph.anchors}


def wrapped(words: list[str], width: int) -> str:
    return "\n".join(" ".join(words[at : at + width]) for at in range(0, len(words), width))


def test_one_in_sixteen_is_kept_and_stays_the_same() -> None:
    found = anchors_of(TEXT)
    assert 0.75 < len(found) / (len(WORDS) / 16) < 1.25
    assert max(found) < 1 << ANCHOR_BITS
    numbers = " ".join(map(str, range(100)))
    assert list(paragraphs_of(numbers)) == [Paragraph(numbers[:79], 100, GOLDEN)]


def test_a_passage_has_its_anchors_in_any_frame_and_with_any_line_breaks() -> None:
    assert all(anchors_of(wrapped(WORDS, width)) == anchors_of(TEXT) for width in (9, 12, 40, 500))
    passage = anchors_of(" ".join(WORDS[500:800]))
    assert passage <= anchors_of(TEXT)
    assert passage <= anchors_of(
        "\n".join(["Another headline", " ".join(WORDS[500:800]), *WORDS[1500:1600]])
    )


def test_without_its_key_nobody_can_tell_the_anchors_of_a_text() -> None:
    keyed = {anchor for each in paragraphs_of(TEXT, Key(bytes(16))) for anchor in each.anchors}
    assert keyed
    assert not keyed & anchors_of(TEXT)


def test_a_long_text_is_looked_at_up_to_a_limit() -> None:
    paragraphs = paragraphs_of(wrapped(WORDS * 20, PARAGRAPH_WORDS))
    assert [paragraph.words for paragraph in paragraphs] == [PARAGRAPH_WORDS] * MOST_PARAGRAPHS
    (cut, *_) = longest = paragraphs_of(wrapped(WORDS * 50, 79 + 159))
    assert (len(longest), cut.words) == (MOST_PARAGRAPHS, 119)
    assert all(paragraph.anchors for paragraph in longest)


@given(
    st.text(st.sampled_from("ab 1\n\r\x0b\u2028é\u0301日本한ﬁ\xad\u0378\ud800😀.,"), max_size=60)
)
def test_words_are_counted_by_line(text: str) -> None:
    assert words_of_lines(text).tolist() == [count_words(line) for line in text.split("\n")]
    assert sum(paragraph.words for paragraph in paragraphs_of(text)) == count_words(text)
