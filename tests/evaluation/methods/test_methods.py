"""Every method, on every store: copies and near duplicates are found, others are not."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from crawldedup import Deduplicator
from crawldedup.errors import ConfigurationError, ProfileMismatchError
from crawldedup.evaluation.methods.spec import METHODS, make_method
from crawldedup.search.limits import MAX_CANDIDATES, PROBE_BUDGET
from crawldedup.verdict import Kind
from tests.fingerprinting.golden import TEXTS

if TYPE_CHECKING:
    from crawldedup.search.method import Method

SYLLABLES = [f"{first}{second}" for first in "bdfgklmnprst" for second in ("al", "en", "ir", "os", "un", "ek", "im")]
WORDS = [first + second for first in SYLLABLES for second in SYLLABLES]
SPECS = [
    "two-stage",
    "two-stage?features=words",
    "simhash",
    "simhash?distance=3&blocks=4",
    "simhash?distance=6&blocks=9&features=words",
    "psm?distance=6",
    "minhash",
    "minhash?permutations=64&bands=16&rows=4&shingle=2",
    "brute-force",
]
WEIGHTINGS = ["none", "tf", "log-tf", "damped-tf", "tf-idf", "yu?tagger=words"]


def text_of(seed: int, words: int = 300) -> list[str]:
    return random.Random(seed).choices(WORDS, k=words)


def edited(words: list[str]) -> list[str]:
    """The same with one sentence more at its end: Jaccard similarity .96."""
    return [*words, *text_of(999, 12)]


@pytest.mark.parametrize("spec", SPECS)
def test_a_method_finds_what_is_alike_and_nothing_else(store_url: str, spec: str) -> None:
    with Deduplicator(store_url, method=make_method(spec)) as dedup:
        for number in range(40):
            assert dedup.check(f"http://a/{number}", text=" ".join(text_of(number))).kind is Kind.NEW
        for number in range(40):
            copy = dedup.check(f"http://b/{number}", text=" ".join(text_of(number)))
            assert (copy.kind, copy.original) == (Kind.EXACT_DUPLICATE, f"http://a/{number}")
        near = [dedup.check(f"http://c/{number}", text=" ".join(edited(text_of(number)))) for number in range(40)]
        found = [verdict for verdict in near if verdict.kind is Kind.NEAR_DUPLICATE]
        assert {verdict.original for verdict in found} <= {f"http://a/{number}" for number in range(40)}
        # Simhash over shingles with three bits misses many, as the literature says; others miss next to none.
        assert len(found) >= (8 if spec.startswith("simhash") else 30)
        assert all(0.7 < (verdict.similarity or 0) <= 1 for verdict in found)


@pytest.mark.parametrize("spec", SPECS)
def test_a_page_with_new_text_is_filed_anew(store_url: str, spec: str) -> None:
    old, new = " ".join(text_of(1)), " ".join(text_of(2))
    with Deduplicator(store_url, method=make_method(spec)) as dedup:
        dedup.check("http://a/", text=old)
        assert dedup.check("http://a/", text=new).changed
        assert dedup.find(text=old) == []
        assert [match.url for match in dedup.find(text=new)] == ["http://a/"]
        assert dedup.forget("http://a/") == 1
        assert dedup.find(text=new) == []


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("spec", ["two-stage", "simhash", "psm"])
def test_weightings(spec: str, weighting: str) -> None:
    with Deduplicator(method=make_method(spec, weighting)) as dedup:
        # A tf-idf that learns weighs the same page otherwise once it has seen more; after some pages it settles.
        for number in range(60):
            dedup.check(f"http://a/{number}", text=" ".join(text_of(number)))
        last = dedup.check("http://b/", text=" ".join(text_of(59)))
        assert (last.kind, last.original) == (Kind.EXACT_DUPLICATE, "http://a/59")
        assert dedup.check("http://c/", text=" ".join(text_of(1000))).kind is Kind.NEW


def test_work_is_reported() -> None:
    with Deduplicator(expected_pages=10_000_000) as dedup:
        first = dedup.check("http://a/", text=" ".join(text_of(1)))
        second = dedup.check("http://b/", text=" ".join(edited(text_of(1))))
    assert (first.candidates, second.candidates) == (0, 1)
    assert 1 <= second.probes <= PROBE_BUDGET


def test_a_larger_index_is_expected_from_the_start() -> None:
    text = " ".join(text_of(1))
    probes = []
    for pages in (0, 1_000_000, 1_000_000_000):
        with Deduplicator(expected_pages=pages) as dedup:
            probes.append(dedup.check("http://a/", text=text).probes)
    assert probes == sorted(probes)
    assert probes[0] < probes[1]


def test_brute_force_compares_with_every_page() -> None:
    with Deduplicator(method=make_method("brute-force")) as dedup:
        for number in range(2 * MAX_CANDIDATES):
            assert dedup.check(f"http://a/{number}", text=" ".join(text_of(number))).candidates == number


@pytest.mark.parametrize("other", [make_method("simhash"), make_method("two-stage", "tf")])
def test_indexes_of_other_methods_are_refused(tmp_path: Path, other: Method) -> None:
    store = f"sqlite:///{tmp_path}/index.sqlite"
    with Deduplicator(store):
        pass
    with pytest.raises(ProfileMismatchError), Deduplicator(store, method=other):
        pass


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("simhsh", "did you mean 'simhash'"),
        ("", "one of two-stage"),
        (7, "must be a name"),
        ("simhash?blocks", "name=value"),
        ("simhash?block=5", "no option 'block'"),
        ("simhash?blocks=five", "must be a number"),
        ("simhash?blocks=3&distance=3", "more blocks"),
        ("simhash?blocks=4&distance=1", "prefixes of 48 bits"),
        ("simhash?distance=-1", "must lie between"),
        ("psm?features=letters", "features is 'letters'"),
        ("minhash?permutations=4", "permutations is 4"),
        ("minhash?bands=8", "both bands and rows"),
        ("minhash?bands=64&rows=8", "do not fit"),
        ("minhash?threshold=2", "threshold is 2"),
        ("minhash?shingle=0", "shingle is 0"),
        ("two-stage?distance=3", "no option 'distance'"),
    ],
)
def test_a_wrong_method_says_what_is_right(spec: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message.replace("?", r"\?")):
        make_method(spec)


@pytest.mark.parametrize("weighting", ["bm25", "tf-idf:/nowhere/df.npz", "yu?tagger=nowhere.tag"])
def test_a_wrong_weighting_is_refused(weighting: str) -> None:
    with pytest.raises(ConfigurationError):
        make_method("two-stage", weighting)


def test_minhash_takes_no_weighting() -> None:
    with pytest.raises(ConfigurationError, match="compares sets"):
        make_method("minhash", "tf")


@pytest.mark.parametrize("pages", [-1, 1.5, True, "many"])
def test_expected_pages_are_checked(pages: object) -> None:
    with pytest.raises(ConfigurationError, match="expected_pages"):
        Deduplicator(expected_pages=pages)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("spec", "weighting", "digest"),
    [
        ("two-stage?features=words", "log-tf", "f11d17c26c94042d"),
        ("two-stage", "yu?tagger=words", "6e240bdbcc01901e"),
        ("simhash", "damped-tf", "a8c07ef5c52b784b"),
        ("simhash?features=words", "tf", "3a4fbb9df2d35df9"),
        ("simhash", "tf-idf", "83c968060e2a4084"),
        ("psm?features=words+pairs", "none", "b96cac9568ebcc21"),
        ("minhash", "damped-tf", "dd4e9acfa6edcaca"),
    ],
)
def test_frozen_fingerprints(spec: str, weighting: str, digest: str) -> None:
    method, state = make_method(spec, weighting), hashlib.sha256()
    for text in TEXTS.values():
        page = method.fingerprint(text, min_words=8, identity=None, facts=None)
        state.update(page.search.to_bytes(8, "big") + page.verify + page.search_weights.astype("<f4").tobytes())
    assert state.hexdigest()[:16] == digest


def test_a_name_is_not_a_method() -> None:
    with pytest.raises(ConfigurationError, match=r"method is 'simhash'; .*make_method"):
        Deduplicator(method="simhash")  # type: ignore[arg-type]


def test_names_tell_methods_apart() -> None:
    profiles = [make_method(spec).profile for spec in SPECS]
    assert len(set(profiles)) == len(profiles)
    assert set(METHODS) == {spec.partition("?")[0] for spec in SPECS}
