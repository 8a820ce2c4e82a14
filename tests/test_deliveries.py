"""Pages that are remembered before they are delivered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from crawldedup import Deduplicator, Kind, Page
from crawldedup.errors import ClosedError, PageError, StoreError, StoreUnavailableError
from crawldedup.stores.base import Answer, Query
from tests.stores.backends import Backend

A, B, C = "https://example.com/a", "https://example.com/b", "https://example.com/c"
TEXT = " ".join(f"word{number}" for number in range(100))
OTHER = " ".join(f"other{number}" for number in range(100))


@pytest.fixture
def shared_backend(tmp_path: Path) -> Backend:
    """A store that several crawlers can share: what another kind does is told by the contract of stores."""
    return Backend("sqlite", f"sqlite:///{tmp_path}/index.sqlite")


def ask_as_a_batch(dedup: Deduplicator) -> object:
    return list(dedup.check_many([Page(C, text=OTHER)]))


def ask_for_one(dedup: Deduplicator) -> object:
    return dedup.check(C, text=OTHER)


TELLING: list[Callable[[Deduplicator], object]] = [ask_as_a_batch, ask_for_one, Deduplicator.heartbeat]


def is_kept(backend: Backend, *, text: str = TEXT) -> bool:
    """True if a copy of the page is known as one, now that its crawler has left."""
    with Deduplicator(backend.url) as successor:
        return successor.check(B, text=text).is_duplicate


@pytest.mark.parametrize("tell", TELLING)
def test_a_page_is_delivered_when_the_next_call_has_told_it(
    shared_backend: Backend, tell: Callable[[Deduplicator], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    dedup = Deduplicator(shared_backend.url)
    dedup.check(A, text=TEXT, delivered=False)
    dedup.deliver(A)
    tell(dedup)
    monkeypatch.setattr(dedup._store, "deliver", lambda url_keys: None)
    dedup.close()
    assert is_kept(shared_backend)


def test_closing_tells_what_was_delivered_and_abandons_the_rest(shared_backend: Backend) -> None:
    with Deduplicator(shared_backend.url) as dedup:
        for url, text in ((A, TEXT), (C, OTHER)):
            dedup.check(url, text=text, delivered=False)
        dedup.deliver(A)
    assert is_kept(shared_backend)
    assert not is_kept(shared_backend, text=OTHER)


def test_the_url_of_an_abandoned_page_is_a_revisit_that_says_so(shared_backend: Backend) -> None:
    with Deduplicator(shared_backend.url) as dedup:
        dedup.check(A, text=TEXT, delivered=False)
    with Deduplicator(shared_backend.url) as successor:
        first, second = (successor.check(A, text=TEXT) for _ in range(2))
    assert (first.kind, first.abandoned) == (Kind.REVISIT, True)
    assert (second.kind, second.abandoned) == (Kind.REVISIT, False)


def test_a_batch_without_a_readable_page_tells_nothing_and_forgets_nothing(shared_backend: Backend) -> None:
    with Deduplicator(shared_backend.url) as dedup:
        dedup.check(A, text=TEXT, delivered=False)
        dedup.deliver(A)
        unreadable: list[PageError] = []
        verdicts = dedup.check_many([Page(C, text="")], on_unreadable=lambda _, error: unreadable.append(error))
        assert list(verdicts) == []
        assert unreadable
    assert is_kept(shared_backend)


@pytest.mark.parametrize("error", [StoreError("this page"), StoreUnavailableError("all pages")])
def test_what_the_store_did_not_hear_is_told_again(
    shared_backend: Backend, error: StoreError, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Deduplicator(shared_backend.url) as dedup:
        dedup.check(A, text=TEXT, delivered=False)
        dedup.deliver(A)

        ask = dedup._store.check

        def fail_at_the_first(queries: Sequence[Query]) -> list[Answer | StoreError]:
            return [error, *(ask(queries[1:]) if type(error) is StoreError else [error])]

        monkeypatch.setattr(dedup._store, "check", fail_at_the_first)
        verdicts = dedup.check_many([Page(B + "2", text=OTHER), Page(C, text=OTHER)])
        with pytest.raises(StoreError):
            next(verdicts)
        if type(error) is StoreError:
            assert next(verdicts).kind is Kind.NEW
    assert is_kept(shared_backend)


def test_a_closed_one_is_told_of_no_delivery() -> None:
    dedup = Deduplicator()
    dedup.close()
    with pytest.raises(ClosedError):
        dedup.deliver(A)
