"""Whoever does not know the key of an index cannot make pages that collide in it.

Each forgery is shown to work without a key first: a test of one that never worked would show nothing.
"""

from __future__ import annotations

import random
from functools import cache

import mmh3
import numpy as np
import pytest

from crawldedup import Deduplicator, Kind, fingerprint
from crawldedup.reading.keys import Key
from crawldedup.reading.tokenize import word_hashes
from crawldedup.scope import page_key, salt_of
from tests.attacks.forging import WORD_LIKE, page_near, texts_of_every_seed

pytestmark = pytest.mark.usefixtures("own_keys")

POOL = ["".join(random.Random(number).choices("abcdefghijklmnopqrstuvwxyz", k=7)) for number in range(4000)]
VICTIM = " ".join(random.Random(5).choices([f"fact{number}" for number in range(3000)], k=300))
EDITED = VICTIM.replace(" ", " new ", 1)


@cache
def forged_page() -> str:
    return page_near(fingerprint(VICTIM), POOL)


def differing_bits(one: str, other: str, key: Key) -> tuple[int, int]:
    first, second = (fingerprint(text, key=key) for text in (one, other))
    verify = int.from_bytes(first.verify, "big") ^ int.from_bytes(second.verify, "big")
    return (first.search ^ second.search).bit_count(), verify.bit_count()


def verdict_on_the_victim(forged: str, victim: str, **options: object) -> Kind:
    with Deduplicator(**options) as dedup:  # type: ignore[arg-type]
        dedup.check("https://evil.example/", text=forged)
        return dedup.check("https://victim.example/story", text=victim).kind


@pytest.mark.nightly
class TestNearDuplicates:
    def test_a_page_of_unrelated_words_takes_the_victims_place_without_a_key(self) -> None:
        assert verdict_on_the_victim(forged_page(), VICTIM, key=0) is Kind.NEAR_DUPLICATE

    def test_it_is_a_stranger_with_one(self) -> None:
        assert verdict_on_the_victim(forged_page(), VICTIM) is Kind.NEW

    def test_its_bits_differ_as_those_of_strangers_do_and_edited_pages_stay_near(self) -> None:
        forged, edited = (
            np.mean([differing_bits(VICTIM, text, Key.random()) for text in [text] * 30], axis=0)
            for text in (forged_page(), EDITED)
        )
        assert 30 < forged[0] < 34
        assert 122 < forged[1] < 134
        assert edited[0] < 6
        assert edited[1] < 24


class TestWords:
    """A key that is mixed in behind a public hash would not help: these words have one hash before that."""

    def test_they_have_one_hash_without_a_key_alone(self) -> None:
        one, other = WORD_LIKE
        assert word_hashes(one) == word_hashes(other)
        for _ in range(20):
            key = Key.random()
            assert word_hashes(one, key) != word_hashes(other, key)

    def test_no_letter_keeps_its_value(self) -> None:
        alike = [(word_hashes("a b", key) == word_hashes("a b")).any() for key in (Key.random() for _ in range(5))]
        assert not any(alike)


class TestDigests:
    def test_texts_that_collide_under_every_seed_do_not_under_a_key(self) -> None:
        one, other = texts_of_every_seed()
        assert one != other
        assert all(mmh3.hash_bytes(one, seed=seed) == mmh3.hash_bytes(other, seed=seed) for seed in range(100))
        key = Key.random()
        assert key.number(one, "text") != key.number(other, "text")

    def test_every_hash_of_a_page_is_another_with_another_key(self) -> None:
        url, text = "https://victim.example/story", "Alert: the product catches fire. Recall."
        seen = set()
        for key in (Key(), Key.random(), Key.random()):
            thin, whole = fingerprint(text, key=key), fingerprint(VICTIM, facts="price 9", key=key)
            salt = salt_of("victim.example", 32, key)
            seen |= {thin.digest, whole.digest, whole.facts, page_key("", url, None, key), salt.number, salt.signature}
        assert len(seen) == 18

    def test_a_thin_page_is_found_again_and_no_digest_tells_it_elsewhere(self) -> None:
        text = "hardly any words"
        assert verdict_on_the_victim(text, text) is Kind.EXACT_DUPLICATE
        assert fingerprint(text, key=Key.random()).search != fingerprint(text, key=Key.random()).search


@pytest.mark.nightly
def test_the_scope_of_a_site_is_a_wall() -> None:
    """The salts are public without a key: a target shifted by two of them makes the forged page one of another site."""
    evil, victim = (salt_of(site, 32) for site in ("evil.example", "victim.example"))
    seen = fingerprint(VICTIM)
    shifted = int.from_bytes(seen.verify, "big") ^ evil.signature ^ victim.signature
    target = Shifted(seen.search ^ evil.number ^ victim.number, shifted.to_bytes(32, "big"))
    forged = page_near(target, POOL, 700)  # type: ignore[arg-type]
    assert verdict_on_the_victim(forged, VICTIM, scope="site", key=0) is Kind.NEAR_DUPLICATE
    assert verdict_on_the_victim(forged, VICTIM, scope="site") is Kind.NEW


class Shifted:
    """The bits that a forger aims at."""

    def __init__(self, search: int, verify: bytes) -> None:
        self.search = search
        self.verify = verify
