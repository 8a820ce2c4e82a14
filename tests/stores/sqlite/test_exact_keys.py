"""How the tables of exact keys follow the pages of a file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from crawldedup.marks.exact_keys import MOST_PER_KEY, exact_keys
from crawldedup.marks.packing import packed
from crawldedup.marks.relation import Conflict
from crawldedup.marks.values import FIRST_PART, HEADLINE, AddressMarks, ContentMarks, Marks, Name
from crawldedup.stores.contract import Answer, Query
from crawldedup.stores.sqlite.candidates import single_candidates
from crawldedup.stores.sqlite.index import EXACT_TABLES, SqliteIndex, stored_exact_key
from crawldedup.stores.sqlite.store import MemoryStore
from crawldedup.verdict import Kind
from tests.stores.pages import (
    LAYOUT,
    NO_PROBES,
    Page,
    checked,
    found,
    name_of,
    query,
    random_page,
)

DIGEST, IDENTITY, ADDRESS = range(3)


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with contextlib.closing(MemoryStore("memory://", LAYOUT)) as store:
        store.open()
        yield store


@pytest.fixture
def page() -> Page:
    return random_page(np.random.default_rng(1))


def url_of(number: int) -> str:
    return f"https://example.com/{number}"


def shown(name: int = 0, picture: int = 0, *, path: int = 1, view: int = 0) -> bytes:
    """Marks of a page; without a name or picture if these are 0."""
    content = ContentMarks(
        names=(Name(name, HEADLINE | FIRST_PART),) if name else (),
        pictures=(picture,) if picture else (),
        has_lead=bool(picture),
    )
    address = AddressMarks(
        site=7, path=path, folder=path, names=0, parameters=0, views=view, canonical=path
    )
    return packed(Marks(content, address))


def asked(page: Page, number: int, marks: bytes = b"", *, rank: int = 0) -> Query:
    """A question that exact keys alone can answer."""
    question = replace(query(page, url_of(number)), plan=NO_PROBES)
    return replace(question, record=replace(question.record, marks=marks, rank=rank))


def index_of(store: MemoryStore) -> SqliteIndex:
    assert store._index is not None
    return store._index


def assert_filed(store: MemoryStore) -> int:
    """Each page is filed under its exact keys and nothing else is; return how many pages."""
    index = index_of(store)
    pages = index.pages_after(0, 10_000)
    for table, name in enumerate(EXACT_TABLES):
        numbers: dict[int, list[int]] = {}
        for page in pages:
            key = page.exact_keys[table]
            if key is not None:
                numbers.setdefault(key, []).append(page.number)
        (rows,) = index.db.execute(f"SELECT count(*) FROM {name}_{index.number}").fetchone()
        assert rows == sum(map(len, numbers.values()))
        newest = {key: of_key[-MOST_PER_KEY:] for key, of_key in numbers.items()}
        assert index.newest_with(table, list(numbers)) == newest
    return len(pages)


def test_a_page_is_filed_under_the_keys_that_it_has(store: MemoryStore, page: Page) -> None:
    checked(store, asked(page, 1))
    checked(store, asked(random_page(np.random.default_rng(2)), 2, shown(5, path=2)))
    assert assert_filed(store) == 2
    index = index_of(store)
    counts = [
        index.db.execute(f"SELECT count(*) FROM {name}_{index.number}").fetchone()[0]
        for name in EXACT_TABLES
    ]
    assert counts == [2, 1, 1, 0]


def test_keys_that_differ_in_their_last_bits_stay_apart(store: MemoryStore) -> None:
    index = index_of(store)
    keys = [5 << 16 | parameters for parameters in range(2000)]
    sql = f"INSERT INTO exact_address_{index.number} VALUES (?)"
    rows = [(stored_exact_key(key, number),) for number, key in enumerate(keys, 1)]
    index.db.executemany(sql, rows)
    assert index.newest_with(ADDRESS, keys) == {key: [number] for number, key in enumerate(keys, 1)}


@pytest.mark.parametrize("batch", [1, 9, 40])
def test_of_each_key_those_added_last_are_compared(
    store: MemoryStore, page: Page, batch: int
) -> None:
    siblings = [asked(page, number, shown(number, path=number)) for number in range(1, 41)]
    answers = []
    for start in range(0, 40, batch):
        answers += store.check(siblings[start : start + batch])
    assert all(isinstance(answer, Answer) and answer.kind is Kind.NEW for answer in answers)
    assert [getattr(answer, "candidates", None) for answer in answers] == [
        min(number, MOST_PER_KEY) for number in range(40)
    ]
    told = [getattr(answer, "rejected", None) for answer in answers[1:]]
    assert [record.url for record in told if record] == [
        url_of(max(1, number - MOST_PER_KEY)) for number in range(2, 41)
    ]
    numbers = {candidate.number for candidate in single_candidates(index_of(store), siblings[0])}
    assert numbers == {1, *range(41 - MOST_PER_KEY, 41)}
    assert assert_filed(store) == 40


@pytest.mark.parametrize("at_once", [False, True])
def test_siblings_hide_no_copy(store: MemoryStore, page: Page, at_once: bool) -> None:
    """The copy is filed by its name and its address among more pages than a key is read for."""
    siblings = [asked(page, number, shown(number, path=number)) for number in range(1, 41)]
    by_name = asked(page, 100, shown(3, path=100))
    by_address = asked(page, 101, shown(path=5, view=1))
    questions = [*siblings, by_name, by_address]
    answers = store.check(questions) if at_once else [checked(store, each) for each in questions]
    kinds = [answer.kind for answer in answers if isinstance(answer, Answer)]
    assert kinds == [Kind.NEW] * 40 + [Kind.EXACT_DUPLICATE] * 2
    originals = [getattr(answer, "record", None) for answer in answers[-2:]]
    assert next(record.url for record in originals if record) == url_of(3)
    assert store.info().pages == 40
    assert url_of(3) in [record.url for record in found(store, by_name)]


@pytest.mark.parametrize("at_once", [False, True])
def test_a_record_learns_from_its_copy_and_is_filed_anew(
    store: MemoryStore, page: Page, at_once: bool
) -> None:
    bare, copy = asked(page, 1, shown(5, path=1)), asked(page, 2, shown(5, 9, path=2))
    other_picture = asked(page, 3, shown(5, 8, path=3))
    questions = [bare, copy, other_picture]
    answers = store.check(questions) if at_once else [checked(store, each) for each in questions]
    kinds = [answer.kind for answer in answers if isinstance(answer, Answer)]
    assert kinds == [Kind.NEW, Kind.EXACT_DUPLICATE, Kind.NEW]
    assert isinstance(answers[2], Answer)
    assert answers[2].conflict is Conflict.PICTURE
    assert assert_filed(store) == 2
    learned = exact_keys(page.search, page.digest & 0xFFFF_FFFF, shown(5, 9, path=1))
    assert learned.identity is not None
    assert index_of(store).newest_with(IDENTITY, [learned.identity]) == {learned.identity: [1]}


@pytest.mark.parametrize("at_once", [False, True])
def test_a_better_copy_learns_from_what_it_replaces(
    store: MemoryStore, page: Page, at_once: bool
) -> None:
    questions = [
        asked(page, 1, shown(5, 9, path=1), rank=1),
        asked(page, 2, shown(5, path=2)),
        asked(page, 3, shown(5, 8, path=3)),
    ]
    answers = store.check(questions) if at_once else [checked(store, each) for each in questions]
    assert [getattr(answer, "replaces", None) for answer in answers] == [False, True, False]
    assert isinstance(answers[2], Answer)
    assert (answers[2].kind, answers[2].conflict) == (Kind.NEW, Conflict.PICTURE)
    assert assert_filed(store) == 2


def test_pages_that_change_and_go_leave_no_keys(store: MemoryStore) -> None:
    rng = np.random.default_rng(5)
    texts = [random_page(rng) for _ in range(3)]
    for _ in range(30):
        batch = []
        for number in rng.integers(1, 30, size=12).tolist():
            name, picture = rng.integers(0, 4, size=2).tolist()
            marks = shown(name, picture, path=int(rng.integers(1, 9)), view=int(rng.integers(2)))
            text = texts[int(rng.integers(3))]
            batch.append(asked(text, number, marks, rank=int(rng.integers(2))))
        assert all(isinstance(answer, Answer) for answer in store.check(batch))
        store.forget(name_of(url_of(int(rng.integers(1, 30)))))
        assert assert_filed(store) == store.info().pages


def test_evicted_and_expired_pages_leave_no_keys() -> None:
    now = [1000.0]
    with contextlib.closing(MemoryStore("memory://", LAYOUT, clock=lambda: now[0])) as store:
        store.open()
        rng = np.random.default_rng(6)
        for start in range(0, 60, 6):
            batch = [
                asked(random_page(rng), start + place, shown(start + place + 1))
                for place in range(6)
            ]
            retention = replace(batch[0].retention, ttl_seconds=25, max_pages=20)
            store.check([replace(each, retention=retention) for each in batch])
            now[0] += 10
            assert assert_filed(store) == store.info().pages <= 20
