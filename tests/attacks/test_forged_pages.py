"""Whoever does not know the key of an index cannot make pages that collide in it.

Each forgery is shown to work without a key first: a test of one that never worked would show
nothing.
"""

import random
from dataclasses import replace
from functools import cache

import mmh3
import numpy as np
import pytest

from crawldedup import Deduplicator, Kind, Page, fingerprint
from crawldedup.fingerprinting.tokenize import word_hashes
from crawldedup.key import Key, salt_of
from crawldedup.marks.address import Address
from crawldedup.marks.exact_keys import exact_keys
from crawldedup.marks.packing import packed, unpacked
from crawldedup.marks.values import Marks, address_marks
from crawldedup.options import Options
from crawldedup.reading.reader import PageReader
from crawldedup.scope import page_key
from crawldedup.stores.contract import DIGEST_MASK
from tests.attacks.forging import ALIKE_FOR_MMH3, WORD_LIKE, page_near

pytestmark = pytest.mark.usefixtures("own_keys")

POOL = [
    "".join(random.Random(number).choices("abcdefghijklmnopqrstuvwxyz", k=7))
    for number in range(4000)
]
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
def test_a_page_of_unrelated_words_takes_the_victims_place_without_a_key_alone() -> None:
    assert verdict_on_the_victim(forged_page(), VICTIM, key=0) is Kind.NEAR_DUPLICATE
    assert verdict_on_the_victim(forged_page(), VICTIM) is Kind.NEW
    # Its bits differ as those of strangers do, and edited pages stay near.
    forged, edited = (
        np.mean([differing_bits(VICTIM, text, Key.random()) for _ in range(30)], axis=0)
        for text in (forged_page(), EDITED)
    )
    assert np.all(np.abs(forged - [32, 128]) < [2, 6])
    assert np.all(edited < [6, 24])


def test_words_that_have_one_hash_without_a_key_have_two_with_one() -> None:
    """A key that is mixed in behind a public hash would not help."""
    one, other = WORD_LIKE
    assert word_hashes(one) == word_hashes(other)
    for key in [Key.random() for _ in range(20)]:
        assert word_hashes(one, key) != word_hashes(other, key)


def test_texts_that_collide_under_every_seed_do_not_under_a_key() -> None:
    one, other = ALIKE_FOR_MMH3
    assert all(
        mmh3.hash_bytes(one, seed=seed) == mmh3.hash_bytes(other, seed=seed) for seed in range(100)
    )
    key = Key.random()
    assert key.number(one, "text") != key.number(other, "text")


MARKED = """
<title>{0} | Shop</title><meta property=og:title content="{0}"><main><h1>{0}</h1><p>{1}</p>
<img src=lamp.jpg><iframe src="/film/7"></iframe><input type=hidden name=size value=m>
<a href="/a">a</a> <a href="/b">b</a> <a href="/c">c</a></main>
"""


def hashes_of(marks: Marks) -> list[int]:
    """Return the hashes in the marks of a page but those of 16 bits, which agree by chance."""
    content, address = marks.content, marks.address
    assert content.text is not None
    assert content.numbers is not None
    assert address is not None
    return [
        *(name.hash for name in content.names),
        *content.pictures,
        *content.players,
        *(datum.value for datum in content.data),
        *(content.text, content.sketch, content.numbers),
        *(address.site, address.path, address.folder, address.parameters, address.views),
        address.canonical,
    ]


def test_every_hash_of_a_page_is_another_with_another_key() -> None:
    url = "https://victim.example/story/a?id=7&print=1"
    text = "Alert: the product catches fire. Recall."
    page = Page(url, html=MARKED.format("Storm lantern", VICTIM))
    reader = PageReader(Options(distinguish="numbers"))
    seen: list[set[int]] = []
    for key in (Key(), Key.random(), Key.random()):
        thin, whole = fingerprint(text, key=key), reader.read_page(page, key).fingerprint
        content = unpacked(whole.marks)
        assert content is not None
        address = Address.of(url)
        assert address is not None
        marks = replace(content, address=address_marks(address, url, whole.links, key))
        seen.append(
            {
                *(thin.digest, whole.digest, page_key("", url, None, key)),
                *salt_of("victim.example", 32, key),
                *hashes_of(marks),
                *filter(None, exact_keys(whole.search, whole.digest & DIGEST_MASK, packed(marks))),
            }
        )
    assert [len(hashes - {0}) for hashes in seen] == [23, 23, 23]
    assert len(set.union(*seen)) == 69
    # A thin page is found again nevertheless.
    assert verdict_on_the_victim(text, text) is Kind.EXACT_DUPLICATE
