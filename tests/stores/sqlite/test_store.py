"""What a SQLite file brings: foreign, damaged and locked files, full disks, killed writers, numbers
of pages.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pytest

from crawldedup.errors import (
    ConfigurationError,
    ForeignStoreError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
)
from crawldedup.stores.contract import Answer, Query
from crawldedup.stores.sqlite.store import SqliteStore
from crawldedup.verdict import Kind
from tests.stores.backends import CONTEXT
from tests.stores.pages import LAYOUT, checked, found, query, random_page

nightly = pytest.mark.nightly


def store_at(path: Path | str) -> SqliteStore:
    return SqliteStore(f"sqlite:///{path}", LAYOUT)


def url_of(number: int) -> str:
    return f"https://example.com/{number}"


def question(number: int) -> Query:
    return query(random_page(np.random.default_rng(number)), url_of(number))


def add(store: SqliteStore, number: int) -> int:
    answer = checked(store, question(number))
    assert answer.kind is Kind.NEW
    return answer.pages


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with contextlib.closing(store_at(path)) as store:
        store.open()
        yield store


def assert_whole(path: Path, pages: int, *, absent: int | None = None) -> None:
    """The file is sound, and holds pages 0.. in full and nothing else."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for table in ("pages_1", "urls_1", "keys0_1", "keys1_1"):
            assert db.execute(f"SELECT count(*) FROM {table}").fetchone() == (pages,), table
    with contextlib.closing(store_at(path)) as store:
        assert store.open() == pages
        for number in range(pages):
            assert [record.url for record in found(store, question(number))] == [url_of(number)]
        assert absent is None or found(store, question(absent)) == []


def database(path: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as db:
        for statement in statements:
            db.execute(statement)
        db.commit()


def of_layout(path: Path, layout: int) -> None:
    with contextlib.closing(store_at(path)) as store:
        store.open()
    database(path, f"PRAGMA user_version = {layout}")


PRECIOUS = ("CREATE TABLE precious (data)", "INSERT INTO precious VALUES (1)")
OF_ANOTHER, NO_DATABASE = "SQLite file of another program", "not a SQLite file; choose another path"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: database(path, *PRECIOUS), OF_ANOTHER),
        (lambda path: database(path, "PRAGMA journal_mode = wal", *PRECIOUS), OF_ANOTHER),
        (
            lambda path: of_layout(path, 7),
            "a newer version of crawldedup .*; upgrade crawldedup, or",
        ),
        (lambda path: of_layout(path, 5), "an older version .*; crawl again, or"),
        (lambda path: path.write_bytes(b"hello"), NO_DATABASE),
    ],
)
def test_a_file_of_others_is_refused_unmodified(
    path: Path, make: Callable[[Path], object], said: str
) -> None:
    make(path)
    before = path.read_bytes()
    with contextlib.closing(store_at(path)) as store:
        for call in (store.open, store.clear):
            with pytest.raises(ForeignStoreError, match=said) as caught:
                call()
            assert str(path) in str(caught.value)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_path_that_cannot_be_written_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailableError, match=str(tmp_path)):
        store_at(tmp_path).open()
    with pytest.raises(ConfigurationError, match=r"there is no folder '.*missing'; make it first"):
        store_at(tmp_path / "missing" / "index.sqlite").open()


def test_a_damaged_file_is_a_store_error(path: Path, store: SqliteStore) -> None:
    store.check(list(map(question, range(50))))
    store.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    with pytest.raises(StoreError, match="malformed"):
        store.open()


def test_a_file_locked_by_another_program_is_unavailable_until_it_is_released(
    path: Path, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawldedup.stores.sqlite.schema.BUSY_SECONDS", 0.05)
    store.close()
    store.open()
    add(store, 0)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailableError, match="locked"):
            add(store, 1)
        assert len(found(store, question(0))) == 1
    add(store, 1)
    store.close()
    assert list(path.parent.iterdir()) == [path]
    assert_whole(path, 2)


def test_of_many_pages_on_a_full_disk_those_that_found_room_are_answered_and_kept(
    path: Path, store: SqliteStore
) -> None:
    add(store, 0)
    assert store._db is not None
    (size,) = store._db.execute("PRAGMA page_count").fetchone()
    store._db.execute(f"PRAGMA max_page_count = {size + 15}")
    answered = store.check([question(number) for number in range(800)])
    answers = [answer for answer in answered if isinstance(answer, Answer)]
    kept = len(answers)
    assert 50 < kept < 800
    assert answered[:kept] == answers
    assert all(
        isinstance(error, StoreFullError) and "no room left" in str(error)
        for error in answered[kept:]
    )
    assert [answer.pages for answer in answers] == list(range(1, kept + 1))
    assert [answer.kind for answer in answers] == [Kind.REVISIT] + [Kind.NEW] * (kept - 1)
    with pytest.raises(StoreFullError, match=f"no room left for {path}"):
        add(store, kept)
    assert len(found(store, question(0))) == 1
    store._db.execute(f"PRAGMA max_page_count = {size + 1000}")
    assert checked(store, question(0)).kind is Kind.REVISIT
    store.close()
    assert_whole(path, kept, absent=kept)


@contextlib.contextmanager
def process_of(work: Callable[[str, Connection], None], path: Path) -> Iterator[Connection]:
    """Run something with a file in another process, which is killed in the end; yield what it sends
    through.
    """
    pipe, far_end = CONTEXT.Pipe()
    process = CONTEXT.Process(target=work, args=(str(path), far_end), daemon=True)
    process.start()
    far_end.close()
    yield pipe
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()


def write_for_ever(path: str, pipe: Connection) -> None:
    store, pages = store_at(path), 0
    store.open()
    while True:
        pages = add(store, pages)
        pipe.send(pages)


@nightly
def test_a_killed_writer_leaves_every_page_it_was_told_of(path: Path) -> None:
    with process_of(write_for_ever, path) as pipe:
        while (told := pipe.recv()) < 100:
            pass
    with contextlib.suppress(EOFError):
        while True:
            told = pipe.recv()
    with contextlib.closing(store_at(path)) as store:
        pages = store.open()
    # The last page may be kept without our being told.
    assert told <= pages <= told + 1
    assert_whole(path, pages)


def test_a_store_without_page_numbers_left_is_full(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawldedup.stores.sqlite.index.MAX_PAGES", 2)
    add(store, 0)
    with pytest.raises(StoreFullError, match="page numbers"):
        add(store, 1)
