"""Word scores of Yu, Hu & Zhang: the formula, Chinese words, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from crawldedup.errors import ConfigurationError, MissingDependencyError
from crawldedup.literature import word_scores
from crawldedup.literature.word_scores import is_noun, score_words, tag_chinese, tag_words

CHINESE = "我们在北京大学学习机器学习，学习很有趣。"


def tagged(text: str) -> Iterator[tuple[str, str]]:
    """Read a text that brings its tags: ferry/n sails/v."""
    for token in text.split():
        word, _, tag = token.partition("/")
        yield word, tag


def in_proportion(scores: dict[str, float]) -> dict[str, float]:
    return {word: score / max(scores.values()) for word, score in scores.items()}


@pytest.mark.parametrize("lambda_", [0, 0.5, 3, 10])
def test_score_is_frequency_and_lambda_times_length_and_noun(lambda_: float) -> None:
    text = "ice/n ice/n ice/n ferry/n ferry/n sails/v to/p to/p to/p to/p"
    expected = {"ice": 3 + lambda_, "ferry": 2 + 2 * lambda_, "sails": 1 + lambda_, "to": 4}
    assert score_words(tagged(text), lambda_) == pytest.approx(in_proportion(expected))


def test_nouns_are_known_by_their_tags_and_long_words_by_their_characters() -> None:
    assert all(map(is_noun, ["n", "nr", "nz", "NN", "NNPS", "NOUN", "PROPN"]))
    assert not any(map(is_noun, ["v", "vn", "NUM", "PRON", "a", "x", ""]))
    for word, value in (("elm", 0), ("elms", 1), ("机器学习", 1), ("计算机", 0), ("3.14", 0)):
        assert min(score_words(tagged(f"{word}/v a/v a/v a/v a/v"), 1).values()) == (1 + value) / 4


def test_words_are_normalized_and_count_as_nouns_if_they_ever_are() -> None:
    assert score_words(tagged("Ferry/n FERRY/v ｆｅｒｒｙ/n a/v"), 1) == in_proportion(
        {"ferry": 5, "a": 1}
    )
    assert len(score_words(tagged("3.14/m 314/m"))) == 2
    assert score_words(tagged("dock/v dock/n a/v"), 1) == score_words(
        tagged("dock/n dock/v a/v"), 1
    )


def test_texts_without_words_have_no_scores_and_lambda_is_from_0_on() -> None:
    assert all(score_words(tagged(text)) == {} for text in ("", " \n", ",/x ./x -/x", "。/x"))
    for lambda_ in (-1, float("nan")):
        with pytest.raises(ConfigurationError, match="lambda_ is"):
            score_words([], lambda_)


def test_chinese_words_and_parts_of_speech() -> None:
    found = list(tag_chinese(CHINESE))
    assert ("北京大学", "nt") in found
    assert ("机器", "n") in found
    assert found.count(("学习", "v")) == 3
    assert [word for word, _ in tag_chinese("张晓霞昨天来了")] == [
        "张",
        "晓",
        "霞",
        "昨天",
        "来",
        "了",
    ]
    scores = score_words(found, 1)
    expected = in_proportion({"北京大学": 3, "机器": 2, "学习": 3, "很": 1})
    assert {word: scores[word] for word in expected} == expected


def test_other_languages_beside_chinese() -> None:
    assert list(tag_words("Der Fluß, 冬の港")) == [
        (word, "x") for word in ("der", "fluss", "冬", "の", "港")
    ]
    found = list(tag_chinese("Привет, мир! 北京 Straße 3.14"))
    assert found == [
        ("привет", "x"),
        ("мир", "x"),
        ("北京", "ns"),
        ("strasse", "x"),
        ("3", "x"),
        ("14", "x"),
    ]


@pytest.mark.nightly
def test_jieba_is_loaded_late_and_says_nothing(tmp_path: Path) -> None:
    program = (
        "import sys; from crawldedup.literature.word_scores import tag_chinese; "
        "list(tag_chinese('no Chinese'))\n"
        f"assert 'jieba' not in sys.modules; print(list(tag_chinese({CHINESE!r})))"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == str(list(tag_chinese(CHINESE)))
    assert list(tmp_path.iterdir()) == []


def test_jieba_that_is_not_installed() -> None:
    word_scores._segmenter.cache_clear()
    absent = mock.patch.dict(sys.modules, {"jieba": None})
    with absent, pytest.raises(MissingDependencyError, match=r"pip install 'crawldedup\[zh\]'"):
        list(tag_chinese(CHINESE))
    assert list(tag_chinese("none here")) == list(tag_words("none here"))
