"""The key of an index: who makes it, who takes it along, and what happens to those who have another."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from crawldedup import Deduplicator, Kind, Page
from crawldedup.errors import ConfigurationError, KeyMismatchError, ProfileMismatchError
from crawldedup.reading.keys import NO_KEY, Key
from crawldedup.stores.base import Answer
from tests.stores.pages import Page as StoredPage
from tests.stores.pages import query

if TYPE_CHECKING:
    from crawldedup.stores.base import Store
    from tests.servers import RedisServer
    from tests.stores.backends import Backend

pytestmark = pytest.mark.usefixtures("own_keys")

A, B, C = (f"https://example.com/{name}" for name in "abc")
TEXT = " ".join(f"word{number}" for number in range(100))
SECRET = bytes(range(32))


class TestWhichKey:
    def test_a_new_index_gets_a_random_one_and_keeps_it(self, shared_backend: Backend) -> None:
        seen = []
        for namespace in ("one", "two", "one", "two"):
            with Deduplicator(shared_backend.url, namespace=namespace) as dedup:
                seen.append(dedup.key)
        assert seen[:2] == seen[2:]
        assert len({key.id for key in seen} | {0}) == 3
        assert all(len(key.secret) == 16 for key in seen)

    def test_the_library_may_give_one(self, shared_backend: Backend) -> None:
        for key in (SECRET, None, SECRET):
            with Deduplicator(shared_backend.url, key=key) as dedup:
                assert dedup.key == Key(SECRET)
                assert dedup.info().profile.endswith(f"/key.{Key(SECRET).id:016x}")
        for wrong, name in ((0, "/key.0'"), (5, f"/key.{Key((5).to_bytes(16, 'big')).id:016x}'")):
            with pytest.raises(ProfileMismatchError, match=name) as caught:
                Deduplicator(shared_backend.url, key=wrong).open()
            assert SECRET.hex() not in str(caught.value)
            assert "leave `key` out" in str(caught.value)

    def test_zero_is_none(self, store_url: str) -> None:
        with Deduplicator(store_url, key=0) as dedup:
            assert dedup.key == NO_KEY
            assert dedup.info().profile.endswith("/key.0")

    def test_a_secret_is_not_shown(self) -> None:
        dedup = Deduplicator(key=SECRET)
        assert all(repr(SECRET)[2:20] not in shown for shown in (repr(dedup), repr(dedup.options), repr(dedup.key)))

    @pytest.mark.parametrize("key", [b"short", -1, 1 << 128, True, "text", bytes(65)])
    def test_what_is_no_key_is_refused_unshown(self, key: object) -> None:
        with pytest.raises(ConfigurationError, match="key must be None, 16 to 64 bytes, or a whole number") as caught:
            Deduplicator(key=key)  # type: ignore[arg-type]
        assert "short" not in str(caught.value)

    def test_looking_begins_no_index_and_its_key_is_the_one_that_begins_it(self, shared_backend: Backend) -> None:
        with contextlib.closing(Deduplicator(shared_backend.url)) as dedup:
            page = dedup.fingerprint(text=TEXT)
            assert dedup.find(text=TEXT) == []
            assert dedup.check(A, fingerprint=page).kind is Kind.NEW
            assert page.key_id == dedup.key.id

    def test_those_who_begin_one_index_at_once_have_one_key(self, shared_backend: Backend) -> None:
        crawlers = [Deduplicator(shared_backend.url) for _ in range(8)]
        start = threading.Barrier(len(crawlers))
        kinds: list[Kind] = []

        def crawl(dedup: Deduplicator, number: int) -> None:
            start.wait()
            kinds.append(dedup.check(f"{A}{number}", text=TEXT).kind)

        threads = [threading.Thread(target=crawl, args=(dedup, place)) for place, dedup in enumerate(crawlers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({dedup.key for dedup in crawlers}) == 1
        assert sorted(kinds) == [*[Kind.EXACT_DUPLICATE] * 7, Kind.NEW]
        for dedup in crawlers:
            dedup.close()


class TestBegunAgain:
    """An index that was cleared or lost, and begun again by a crawler that had never seen it."""

    @pytest.fixture
    def crawler(self, shared_backend: Backend) -> Deduplicator:
        dedup = Deduplicator(shared_backend.url)
        dedup.check(A, text=TEXT)
        with contextlib.closing(Deduplicator(shared_backend.url)) as other:
            other.clear()
        return dedup

    def test_the_first_to_go_on_keeps_the_key(self, crawler: Deduplicator, shared_backend: Backend) -> None:
        key = crawler.key
        assert crawler.check(B, text=TEXT).kind is Kind.NEW
        assert crawler.key == key
        with Deduplicator(shared_backend.url) as newcomer:
            assert newcomer.key == key
            assert newcomer.check(C, text=TEXT).kind is Kind.EXACT_DUPLICATE
        crawler.close()

    def test_where_another_was_faster_the_page_is_read_again(
        self, crawler: Deduplicator, shared_backend: Backend
    ) -> None:
        old = crawler.key
        with Deduplicator(shared_backend.url) as newcomer:
            newcomer.check(B, text=TEXT)
            assert newcomer.key != old
            assert crawler.check(C, text=TEXT).original == B
            assert crawler.key == newcomer.key
        crawler.close()

    def test_a_fingerprint_of_before_is_refused_and_never_compared(
        self, crawler: Deduplicator, shared_backend: Backend
    ) -> None:
        page = crawler.fingerprint(text=TEXT)
        with Deduplicator(shared_backend.url) as newcomer:
            newcomer.check(B, text=TEXT)
        for _ in range(2):
            with pytest.raises(KeyMismatchError):
                crawler.check(C, fingerprint=page)
        with pytest.raises(KeyMismatchError, match=r"the key [0-9a-f]{16} and the index has the key [0-9a-f]{16}"):
            crawler.forget(page)
        assert [match.url for match in crawler.find(text=TEXT)] == [B]
        crawler.close()

    def test_of_many_pages_each_is_read_again(self, crawler: Deduplicator, shared_backend: Backend) -> None:
        with Deduplicator(shared_backend.url) as newcomer:
            newcomer.check(B, text=TEXT)
        verdicts = crawler.check_many((Page(f"{C}{number}", text=TEXT) for number in range(4)), batch=2)
        assert [verdict.original for verdict in verdicts] == [B] * 4
        crawler.close()


def test_an_index_lost_with_its_server_is_begun_again_with_the_key_of_the_crawl(session_redis: RedisServer) -> None:
    crawlers = [Deduplicator(session_redis.url, namespace="lost") for _ in range(2)]
    crawlers[0].check(A, text=TEXT)
    assert crawlers[0].key == crawlers[1].key
    session_redis.client.flushall()
    pages = [crawler.fingerprint(text=TEXT) for crawler in crawlers]
    kinds = [
        crawler.check(url, fingerprint=page).kind for crawler, url, page in zip(crawlers, (B, C), pages, strict=True)
    ]
    assert kinds == [Kind.NEW, Kind.EXACT_DUPLICATE]
    for crawler in crawlers:
        crawler.close()


def test_pages_of_one_batch_that_have_another_key_are_refused_and_no_others(
    store: Store, page: StoredPage, other: StoredPage
) -> None:
    refused = replace(query(other, B), key_id=7)
    error, answer = store.check([refused]), store.check([query(page, A)])
    assert isinstance(error[0], KeyMismatchError)
    assert isinstance(answer[0], Answer)
    mixed = store.check([query(page, A), refused, query(page, C)])
    assert [type(each) for each in mixed] == [Answer, KeyMismatchError, Answer]
    with pytest.raises(KeyMismatchError):
        store.find([query(page, A), refused])
