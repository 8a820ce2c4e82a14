"""Word scores of Yu, Hu & Zhang: the formula, Chinese words, own taggers, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from typing import TYPE_CHECKING, Any

import mmh3
import numpy as np
import pytest

from crawldedup.errors import ConfigurationError, MissingDependencyError, PageError
from crawldedup.evaluation.methods.word_scores import WordScorer, make_word_scorer, tag_chinese, tag_words
from crawldedup.fingerprinting.features import MAX_WEIGHT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHINESE = "我们在北京大学学习机器学习，学习很有趣。"


def tag_by_slash(text: str) -> Iterator[tuple[str, str]]:
    """Text that brings its tags: ferry/n sails/v."""
    for token in text.split():
        word, _, tag = token.partition("/")
        yield word, tag


NOT_A_TAGGER = 7


def fail(text: str) -> list[tuple[str, str]]:
    raise RuntimeError("no model")


def give_bare_words(text: str) -> list[str]:
    return text.split()


def scorer(**parameters: str) -> WordScorer:
    query = {"tagger": f"{__name__}.tag_by_slash", **parameters}
    return make_word_scorer("yu?" + "&".join(f"{name}={value}" for name, value in query.items()))


def weights_by_word(made_by: WordScorer, text: str, words: str) -> dict[str, float]:
    hashes, weights = made_by.features(text)
    by_hash = dict(zip(hashes.tolist(), weights.tolist(), strict=True))
    return {word: by_hash[mmh3.hash64(word.encode(), signed=False)[0]] for word in words.split()}


def in_proportion(scores: dict[str, float]) -> dict[str, Any]:
    largest = max(scores.values())
    return {word: pytest.approx(MAX_WEIGHT * score / largest, abs=0.5) for word, score in scores.items()}


@pytest.mark.parametrize("lambda_", [0, 0.5, 3, 10])
def test_score_is_frequency_and_lambda_times_length_and_noun(lambda_: float) -> None:
    text = "ice/n ice/n ice/n ferry/n ferry/n sails/v to/p to/p to/p to/p"
    weights = weights_by_word(scorer(**{"lambda": str(lambda_)}), text, "ice ferry sails to")
    assert weights == in_proportion({"ice": 3 + lambda_, "ferry": 2 + 2 * lambda_, "sails": 1 + lambda_, "to": 4})


@pytest.mark.parametrize(
    ("tag", "value"),
    [
        ("n", 1), ("nr", 1), ("nz", 1), ("NN", 1), ("NNPS", 1), ("NOUN", 1), ("PROPN", 1),
        ("v", 0), ("vn", 0), ("NUM", 0), ("PRON", 0), ("a", 0), ("x", 0), ("", 0),
    ],
)  # fmt: skip
def test_nouns_by_their_tags(tag: str, value: int) -> None:
    weights = weights_by_word(scorer(**{"lambda": "1"}), f"ice/{tag} elm/v elm/v elm/v elm/v", "ice elm")
    assert weights == in_proportion({"ice": 1 + value, "elm": 4})


@pytest.mark.parametrize(("word", "value"), [("elm", 0), ("elms", 1), ("机器学习", 1), ("计算机", 0), ("3.14", 0)])
def test_words_from_four_characters_on_are_long(word: str, value: int) -> None:
    hashes, weights = scorer(**{"lambda": "1"}).features(f"{word}/v a/v a/v a/v a/v")
    assert len(hashes) == 2
    assert min(weights) == in_proportion({"word": 1 + value, "a": 4})["word"]


def test_one_word_with_two_parts_of_speech_is_a_noun() -> None:
    made_by = scorer(**{"lambda": "1"})
    for text in ("dock/v dock/n a/v", "dock/n dock/v a/v"):
        assert weights_by_word(made_by, text, "dock a") == in_proportion({"dock": 4, "a": 1})


def test_words_are_compared_normalised() -> None:
    made_by = scorer()
    assert weights_by_word(made_by, "Ferry/n FERRY/n ｆｅｒｒｙ/n a/v", "ferry a") == in_proportion(
        {"ferry": 9, "a": 1}
    )
    hashes, _ = made_by.features("3.14/m 314/m")
    assert len(hashes) == 2


@pytest.mark.parametrize("text", ["", " \n", ",/x ./x -/x", "。/x"])
def test_texts_without_words(text: str) -> None:
    with pytest.raises(PageError, match="found no word") as caught:
        scorer().features(text)
    assert caught.value.reason == "empty"


def test_features_are_sorted_distinct_and_weights_whole_numbers() -> None:
    text = " ".join(f"word{number * number % 300}" for number in range(2000))
    hashes, weights = make_word_scorer("yu?tagger=words").features(text)
    assert (hashes.dtype, weights.dtype) == (np.dtype(np.uint64), np.dtype(np.float32))
    assert (hashes[1:] > hashes[:-1]).all()
    assert (weights == np.rint(weights)).all()
    assert weights.max() == MAX_WEIGHT
    assert weights.min() >= 1
    assert len(hashes) == len(weights) == len({number * number % 300 for number in range(2000)})


def test_a_rare_word_beside_a_very_frequent_one_keeps_a_weight() -> None:
    _, weights = make_word_scorer("yu?tagger=words&lambda=0").features("once " + "again " * 50_000)
    assert sorted(weights) == [1, MAX_WEIGHT]


def test_hostile_text() -> None:
    made_by = make_word_scorer("yu?tagger=words")
    for text in ("a \ud800 \udfff", "\0a\0", "a" * 200_000, "é" * 1000, "字" * 5000):
        hashes, weights = made_by.features(text)
        assert (len(hashes), weights.tolist()) == (1, [MAX_WEIGHT])


def test_words_of_any_language() -> None:
    assert list(tag_words("Der Fluß, 冬の港")) == [(word, "x") for word in ("der", "fluss", "冬", "の", "港")]


@pytest.mark.exhaustive
def test_chinese_words_and_parts_of_speech() -> None:
    tagged = list(tag_chinese(CHINESE))
    assert ("北京大学", "nt") in tagged
    assert ("机器", "n") in tagged
    assert tagged.count(("学习", "v")) == 3
    assert ("，", "x") not in tagged


@pytest.mark.exhaustive
def test_what_the_dictionary_lacks_is_taken_by_the_character() -> None:
    assert [word for word, _ in tag_chinese("张晓霞昨天来了")] == ["张", "晓", "霞", "昨天", "来", "了"]


def test_chinese_scores() -> None:
    words = "北京大学 机器 学习 很"
    keys = {word: " ".join(word) for word in words.split()}
    hashes, weights = make_word_scorer("yu?lambda=1").features(CHINESE)
    by_hash = dict(zip(hashes.tolist(), weights.tolist(), strict=True))
    found = {word: by_hash[mmh3.hash64(key.encode(), signed=False)[0]] for word, key in keys.items()}
    assert found == in_proportion({"北京大学": 3, "机器": 2, "学习": 3, "很": 1})


def test_other_languages_beside_chinese() -> None:
    tagged = list(tag_chinese("Привет, мир! 北京 Straße 3.14"))
    assert tagged == [("привет", "x"), ("мир", "x"), ("北京", "ns"), ("strasse", "x"), ("3", "x"), ("14", "x")]
    assert list(tag_chinese("no Chinese here")) == list(tag_words("no Chinese here"))


def test_an_edit_changes_the_features_around_it_only() -> None:
    made_by = make_word_scorer("yu")
    # From mostly Chinese to mostly English, sentence by sentence.
    pages = [CHINESE * (20 - number) + " a sentence in English." * number for number in (9, 10, 11)]
    first, second, third = (set(made_by.features(page)[0].tolist()) for page in pages)
    assert first == second == third


@pytest.mark.exhaustive
def test_words_that_others_taught_jieba_are_not_known() -> None:
    import jieba

    before = [word for word, _ in tag_chinese("乒乓球拍卖完了")]
    jieba.add_word("乒乓球拍卖完了")
    try:
        assert "乒乓球拍卖完了" in jieba.lcut("乒乓球拍卖完了")
        assert [word for word, _ in tag_chinese("乒乓球拍卖完了")] == before
    finally:
        jieba.del_word("乒乓球拍卖完了")


PROGRAM = f"""
import sys
from crawldedup.evaluation.methods.word_scores import make_word_scorer
assert "jieba" not in sys.modules
scorer = make_word_scorer("yu")
scorer.features("no Chinese here")
assert "jieba" not in sys.modules
hashes, _ = scorer.features({CHINESE!r})
import jieba
assert not jieba.dt.initialized
print(hashes.tolist())
"""


@pytest.mark.exhaustive
def test_jieba_is_loaded_late_and_says_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == str(make_word_scorer("yu").features(CHINESE)[0].tolist())
    assert list(tmp_path.iterdir()) == []


def test_names_hold_all_that_decides() -> None:
    own = f"{__name__}.tag_by_slash"
    assert scorer().name == f"yu?lambda=3.0&tagger={own}"
    assert make_word_scorer("yu?tagger=words&lambda=0.1234567891").name == "yu?lambda=0.1234567891&tagger=words"
    assert make_word_scorer("yu?lambda=1&tagger=words").name == make_word_scorer("yu?tagger=words&lambda=1.0").name


def test_the_name_holds_the_version_of_the_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "version", lambda name: "7.8")
    assert make_word_scorer("yu").name == "yu?lambda=3.0&tagger=jieba-7.8"


def test_jieba_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", absent)
    with pytest.raises(MissingDependencyError, match=r"pip install 'crawldedup\[zh\]'.*yu\?tagger=words"):
        make_word_scorer("yu")
    make_word_scorer("yu?tagger=words")


@pytest.mark.parametrize(
    ("tagger", "message"),
    [("fail", "RuntimeError: no model"), ("give_bare_words", "ValueError: too many values")],
)
def test_taggers_that_fail_break_a_page_and_no_more(tagger: str, message: str) -> None:
    made_by = scorer(tagger=f"{__name__}.{tagger}")
    with pytest.raises(PageError, match=message) as caught:
        made_by.features("three words here")
    assert caught.value.reason == "broken"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("yuu", "there is no word score 'yuu'"),
        ("", "there is no word score ''"),
        ("yu?lamda=1", "no parameter 'lamda'; did you mean 'lambda'"),
        ("yu?alpha=1", "It has lambda and tagger"),
        ("yu?lambda", "cannot be read; write yu"),
        ("yu?lambda=1&lambda=2", "gives a parameter twice"),
        ("yu?lambda=", "lambda is ''"),
        ("yu?lambda=much", "lambda is 'much'; it must be a number from 0 to 1000"),
        ("yu?lambda=-1", "lambda is '-1'"),
        ("yu?lambda=nan", "lambda is 'nan'"),
        ("yu?lambda=inf", "lambda is 'inf'"),
        ("yu?tagger=jeiba", "there is no tagger 'jeiba'; did you mean 'jieba'"),
        ("yu?tagger=", "It is one of jieba, words, or the dotted path"),
        ("yu?tagger=no.such.module", "'no.such.module' cannot be used: ModuleNotFoundError"),
        (f"yu?tagger={__name__}.no_such_function", "cannot be used: AttributeError"),
        (f"yu?tagger={__name__}.NOT_A_TAGGER", "is a int; it must be a callable"),
        ("yu?tagger=..", "cannot be used: ValueError"),
    ],
)
def test_word_scores_that_do_not_exist(spec: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make_word_scorer(spec)
