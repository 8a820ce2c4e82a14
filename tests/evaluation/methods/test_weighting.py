"""Weightings: whole numbers, as defined; document frequencies: bounded, kept in files, learned in order."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawldedup.errors import ConfigurationError
from crawldedup.evaluation.methods.document_frequencies import DocumentFrequencies, TfIdf
from crawldedup.evaluation.methods.weighting import make_weighting
from crawldedup.fingerprinting.features import MAX_WEIGHT
from crawldedup.text.tokenize import word_hashes

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAMES = ["none", "tf", "log-tf", "tf-idf"]
COUNTS = st.lists(st.integers(1, 200_000), min_size=1, max_size=40)


def features(*words: str) -> NDArray[np.uint64]:
    return np.unique(word_hashes(" ".join(words)))


def numbered(count: int, first: int = 0) -> NDArray[np.uint64]:
    return features(*(f"word{number}" for number in range(first, first + count)))


def weigh(spec: str, counts: list[int]) -> list[float]:
    weights = make_weighting(spec).weigh(numbered(len(counts)), np.array(counts, np.intp))
    assert weights.dtype == np.float32
    listed: list[float] = weights.tolist()
    return listed


@pytest.mark.parametrize("spec", NAMES)
@given(counts=COUNTS)
@settings(max_examples=60, deadline=None)
def test_weights_are_whole_numbers_in_bounds(spec: str, counts: list[int]) -> None:
    weights = weigh(spec, counts)
    assert len(weights) == len(counts)
    assert all(weight == int(weight) and 1 <= weight <= MAX_WEIGHT for weight in weights)


def test_a_block_of_the_largest_weights_is_summed_exactly() -> None:
    largest = np.float32(MAX_WEIGHT)
    total = np.float32(0)
    for _ in range(2048):
        total += largest
    assert int(total) == 2048 * MAX_WEIGHT


@given(COUNTS)
@settings(deadline=None)
def test_as_defined(counts: list[int]) -> None:
    assert weigh("none", counts) == [1] * len(counts)
    assert weigh("tf", counts) == [min(count, MAX_WEIGHT) for count in counts]
    assert weigh("log-tf", counts) == [round(8 * (1 + math.log(min(count, 65_535)))) for count in counts]


def test_frequency_weights_are_the_same_on_every_machine() -> None:
    """Rounding would differ between mathematical libraries only if a logarithm lay this close to a border."""
    exact = 8 * (1 + np.log(np.arange(1, 1 << 16)))
    assert np.abs(exact - np.floor(exact) - 0.5).min() > 1e-9


@pytest.mark.parametrize("spec", NAMES)
def test_names(spec: str) -> None:
    assert make_weighting(spec).name == spec


def test_with_nothing_learned_tf_idf_is_tf() -> None:
    assert weigh("tf-idf", [1, 2, 4, 8]) == [1024, 2048, 4096, 8191]


def test_what_many_pages_have_counts_less() -> None:
    weighting = make_weighting("tf-idf")
    template = features("home", "contact", "imprint")
    for page in range(200):
        own = numbered(20, first=20 * page)
        weighting.weigh(np.sort(np.concatenate((template, own))), np.ones(23, np.intp))
    page_features = np.sort(np.concatenate((template, features("news"))))
    weights = weighting.weigh(page_features, np.ones(4, np.intp))
    by_feature = dict(zip(page_features.tolist(), weights.tolist(), strict=True))
    [news] = features("news").tolist()
    assert by_feature[news] == MAX_WEIGHT
    # ln(201 / 1) + 1 = 6.3, against 1.
    assert [by_feature[feature] for feature in template.tolist()] == [pytest.approx(MAX_WEIGHT / 6.3034, abs=8)] * 3


def test_weights_never_collapse() -> None:
    weighting = make_weighting("tf-idf")
    page, counts = numbered(30), np.arange(1, 31)
    for _ in range(300):
        weights = weighting.weigh(page, counts)
    assert weights.max() == MAX_WEIGHT
    assert weights.min() > 0
    assert len(set(weights.tolist())) == 30


def test_a_page_is_weighed_before_it_is_learned() -> None:
    weighting = make_weighting("tf-idf")
    page, counts = features("ferry", "ice"), np.array([1, 1])
    other = features("storm")
    first = weighting.weigh(page, counts)
    weighting.weigh(other, np.array([1]))
    mixed = weighting.weigh(np.sort(np.concatenate((page, features("new")))), np.ones(3, np.intp))
    assert first.tolist() == [MAX_WEIGHT] * 2
    assert sorted(mixed.tolist()) == [
        pytest.approx(MAX_WEIGHT * (math.log(3 / 2) + 1) / (math.log(3) + 1), abs=8)
    ] * 2 + [MAX_WEIGHT]


def test_idf_as_defined() -> None:
    learned = DocumentFrequencies()
    assert learned.idf(numbered(3)).tolist() == [1, 1, 1]
    for page in (["a", "b"], ["a", "c"], ["a"]):
        learned.learn(features(*page))
    assert learned.pages == 3
    seen = [float(learned.idf(features(word))[0]) for word in "abcd"]
    assert seen == pytest.approx([1, math.log(4 / 2) + 1, math.log(4 / 2) + 1, math.log(4) + 1])


def test_idf_in_a_crowd() -> None:
    """A thousand times as many features as counters: what half of the pages have still counts less."""
    learned = DocumentFrequencies(1 << 10)
    generator = np.random.default_rng(3)
    template = np.sort(generator.integers(0, 1 << 64, 20, dtype=np.uint64))
    for page in range(4000):
        own = generator.integers(0, 1 << 64, 256, dtype=np.uint64)
        learned.learn(np.sort(np.concatenate((template, own)) if page % 2 else own))
    rare = learned.idf(generator.integers(0, 1 << 64, 1000, dtype=np.uint64))
    common = learned.idf(template)
    assert rare.min() >= 1
    assert np.median(rare) == pytest.approx(math.log(1024 / 256) + 1, abs=0.3)
    assert common.max() < math.log(2) + 1.01 < np.median(rare)


def test_features_that_share_a_counter_count_a_page_once() -> None:
    learned = DocumentFrequencies(256)
    together = np.arange(5, dtype=np.uint64)
    for _ in range(3):
        learned.learn(together)
    assert learned.idf(together).tolist() == [1.0] * 5


def learned_from(*pages: str, counters: int = 1 << 12) -> DocumentFrequencies:
    learned = DocumentFrequencies(counters)
    for page in pages:
        learned.learn(features(*page.split()))
    return learned


def test_saved_and_loaded(tmp_path: Path) -> None:
    learned = learned_from("a b c", "a b", "a")
    path = tmp_path / "frequencies.npz"
    learned.save(path)
    learned.save(str(path))
    loaded = DocumentFrequencies.load(path)
    assert (loaded.pages, loaded.digest) == (3, learned.digest)
    assert loaded.idf(features("a", "b", "x")).tolist() == learned.idf(features("a", "b", "x")).tolist()
    assert list(tmp_path.iterdir()) == [path]
    loaded.learn(features("a"))
    assert loaded.digest != learned.digest


def test_a_file_is_read_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "frequencies.npz"
    learned_from("a b c", "a b", "a").save(path)
    before = path.read_bytes()
    weighting = make_weighting(f"tf-idf:{path}")
    page, counts = features("a", "b", "new"), np.array([1, 1, 1])
    assert len({weighting.weigh(page, counts).tobytes() for _ in range(5)}) == 1
    assert path.read_bytes() == before
    assert isinstance(weighting, TfIdf)
    assert weighting.document_frequencies.pages == 3


def test_the_name_tells_files_apart(tmp_path: Path) -> None:
    pages = ["a b c", "a b"]
    for name, text in {"one": pages, "copy": pages, "other": [*pages, "a"]}.items():
        learned_from(*text).save(tmp_path / name)
    one, copy, other = (make_weighting(f"tf-idf:{tmp_path / name}").name for name in ("one", "copy", "other"))
    assert one == copy != other
    assert one.startswith("tf-idf:")
    assert str(tmp_path) not in one


def write(path: Path, **arrays: Any) -> None:
    with path.open("wb") as file:
        np.savez(file, **arrays)


FORMAT = np.array("crawldedup document frequencies 1")
COUNTERS = np.zeros(256, np.uint32)


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"weights": COUNTERS}, "not marked as"),
        ({"format": np.array("other"), "pages": np.array(1), "counters": COUNTERS}, "not marked as"),
        ({"format": FORMAT, "pages": np.array(-1), "counters": COUNTERS}, "number of pages is not"),
        ({"format": FORMAT, "pages": np.array(1.5), "counters": COUNTERS}, "number of pages is not"),
        ({"format": FORMAT, "pages": np.array([1]), "counters": COUNTERS}, "number of pages is not"),
        ({"format": FORMAT, "pages": np.array(1), "counters": COUNTERS[:-1]}, "counters are not"),
        ({"format": FORMAT, "pages": np.array(1), "counters": COUNTERS.astype(float)}, "counters are not"),
        ({"format": FORMAT, "pages": np.array(1), "counters": COUNTERS.reshape(2, 128)}, "counters are not"),
        ({"format": FORMAT, "pages": np.array(1), "counters": COUNTERS + np.uint32(2)}, "more pages than it has"),
        ({"format": FORMAT, "pages": np.array(1), "counters": np.array([print])}, "allow_pickle"),
    ],
)
def test_files_of_another_kind_are_refused(tmp_path: Path, arrays: dict[str, Any], reason: str) -> None:
    path = tmp_path / "frequencies.npz"
    write(path, **arrays)
    with pytest.raises(ConfigurationError, match=rf"frequencies\.npz'.*{reason}.*DocumentFrequencies.save` wrote"):
        DocumentFrequencies.load(path)


def test_broken_files_are_refused(tmp_path: Path) -> None:
    whole = tmp_path / "whole.npz"
    learned_from("a b c").save(whole)
    content = whole.read_bytes()
    path = tmp_path / "broken.npz"
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 255
    for broken in (b"", b"\n", content[:50], content[:-30], content[30:], bytes(flipped)):
        path.write_bytes(broken)
        with pytest.raises(ConfigurationError, match="cannot be read from"):
            make_weighting(f"tf-idf:{path}")
    np.save(tmp_path / "single.npy", COUNTERS)
    with pytest.raises(ConfigurationError, match="it is not an npz file"):
        DocumentFrequencies.load(tmp_path / "single.npy")


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="No such file"):
        make_weighting(f"tf-idf:{tmp_path / 'absent.npz'}")
    with pytest.raises(ConfigurationError, match="Is a directory"):
        make_weighting(f"tf-idf:{tmp_path}")
    with pytest.raises(ConfigurationError, match=r"cannot be written to .*No such file"):
        learned_from("a").save(tmp_path / "absent" / "frequencies.npz")
    with pytest.raises(ConfigurationError, match=r"cannot be written to .*Is a directory"):
        learned_from("a").save(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("tfidf", "there is no weighting 'tfidf'; did you mean 'tf-idf'"),
        ("logtf", "did you mean 'log-tf'"),
        ("TF", "did you mean 'tf'"),
        ("bm25", "It is one of none, tf, log-tf, damped-tf, tf-idf, yu, or tf-idf:FILE"),
        ("", "there is no weighting ''"),
        ("tf-idf:", "there is no weighting 'tf-idf:'"),
        ("tf:file.npz", "there is no weighting 'tf:file.npz'"),
        (None, "there is no weighting None"),
    ],
)
def test_weightings_that_do_not_exist(spec: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        make_weighting(spec)


@pytest.mark.parametrize("counters", [0, 255, 1000, 128, 1 << 31, 1024.0])
def test_counters_out_of_range(counters: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"counters is {counters}"):
        DocumentFrequencies(counters)
