"""The key of an index: who makes it, who takes it along, and what happens to those who have
another.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from crawldedup import Deduplicator, Kind, Page
from crawldedup.errors import ConfigurationError, KeyMismatchError, ProfileMismatchError
from crawldedup.key import NO_KEY, Key
from crawldedup.stores.contract import Answer, Store
from tests.stores import pages as stored
from tests.stores.backends import Backend

pytestmark = pytest.mark.usefixtures("own_keys")

A, B, C = (f"https://example.com/{name}" for name in "abc")
TEXT = " ".join(f"word{number}" for number in range(100))
SECRET = bytes(range(32))


def test_a_new_index_gets_a_random_key_and_keeps_it(shared_backend: Backend) -> None:
    seen = []
    for namespace in ("one", "two", "one", "two"):
        with Deduplicator(shared_backend.url, namespace=namespace) as dedup:
            seen.append(dedup.key)
    assert seen[:2] == seen[2:]
    assert len({key.id for key in seen} | {0}) == 3
    assert all(len(key.secret) == 16 for key in seen)


def test_the_library_may_give_a_key(shared_backend: Backend) -> None:
    for key in (SECRET, None, SECRET):
        with Deduplicator(shared_backend.url, key=key) as dedup:
            assert dedup.key == Key(SECRET)
            assert dedup.info().profile.endswith(f"/key.{Key(SECRET).id:016x}")
            assert all(
                repr(SECRET)[2:20] not in repr(shown) for shown in (dedup, dedup.options, dedup.key)
            )
    for wrong, name in ((0, "/key.0'"), (5, f"/key.{Key((5).to_bytes(16, 'big')).id:016x}'")):
        with pytest.raises(ProfileMismatchError, match=f"leave out `key`.*{name}") as caught:
            Deduplicator(shared_backend.url, key=wrong).open()
        assert SECRET.hex() not in str(caught.value)
    with Deduplicator(shared_backend.url, namespace="none", key=0) as dedup:
        assert dedup.key == NO_KEY


@pytest.mark.parametrize("key", [b"short", -1, 1 << 128, True, "text", bytes(65)])
def test_what_is_no_key_is_refused_unshown(key: object) -> None:
    with pytest.raises(
        ConfigurationError, match="key must be None, 16 to 64 bytes, or a whole number"
    ) as caught:
        Deduplicator(key=key)  # type: ignore[arg-type]
    assert "short" not in str(caught.value)


def test_those_who_begin_one_index_at_once_have_one_key(shared_backend: Backend) -> None:
    crawlers = [Deduplicator(shared_backend.url) for _ in range(8)]
    start = threading.Barrier(len(crawlers))

    def crawl(number: int) -> Kind:
        start.wait()
        return crawlers[number].check(f"{A}{number}", text=TEXT).kind

    with ThreadPoolExecutor(8) as threads:
        assert sorted(threads.map(crawl, range(8))) == [*[Kind.EXACT_DUPLICATE] * 7, Kind.NEW]
    assert len({dedup.key for dedup in crawlers}) == 1
    for dedup in crawlers:
        dedup.close()


class TestBegunAgain:
    """An index that was cleared or lost, and begun again by a crawler that had never seen it."""

    @pytest.fixture
    def crawler(self, shared_backend: Backend) -> Iterator[Deduplicator]:
        with contextlib.closing(Deduplicator(shared_backend.url)) as dedup:
            dedup.check(A, text=TEXT)
            with contextlib.closing(Deduplicator(shared_backend.url)) as other:
                other.clear()
            yield dedup

    def test_where_another_was_faster_each_page_is_read_again(
        self, crawler: Deduplicator, shared_backend: Backend
    ) -> None:
        old, page = crawler.key, crawler.fingerprint(text=TEXT)
        with Deduplicator(shared_backend.url) as newcomer:
            newcomer.check(B, text=TEXT)
            assert newcomer.key != old
        # A fingerprint of before is never compared.
        for call in (lambda: crawler.check(C, fingerprint=page), lambda: crawler.forget(page)):
            with pytest.raises(
                KeyMismatchError, match=r"the key \w{16} and the index has the key \w{16}"
            ):
                call()
        pages = (Page(f"{C}{number}", text=TEXT) for number in range(4))
        assert [verdict.original for verdict in crawler.check_many(pages, batch=2)] == [B] * 4
        assert crawler.key == newcomer.key


def test_only_the_pages_of_a_batch_with_another_key_are_rejected(
    store: Store, page: stored.Page, other: stored.Page
) -> None:
    refused = replace(stored.query(other, B), key_id=7)
    first, last = (stored.query(page, url) for url in (A, C))
    answers = [*store.check([refused]), *store.check([first]), *store.check([first, refused, last])]
    assert list(map(type, answers)) == [KeyMismatchError, Answer, Answer, KeyMismatchError, Answer]
    with pytest.raises(KeyMismatchError):
        store.find([first, refused])
