from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import signal
import sqlite3
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pytest

from crawldedup.errors import ConfigurationError, ForeignStoreError, StoreError, StoreFullError, StoreUnavailableError
from crawldedup.stores.base import Answer, PageName, Query, Status
from crawldedup.stores.sqlite.store import SqliteStore
from tests.stores.backends import Clock
from tests.stores.pages import LAYOUT, OTHER_NAMESPACE, Page, checked, found, query, random_page

PROCESSES = multiprocessing.get_context("spawn")


def page_number(number: int) -> Page:
    return random_page(np.random.default_rng(number))


def add(store: SqliteStore, number: int) -> int:
    answer = checked(store, question(number))
    assert answer.status is Status.NEW
    return answer.pages


def question(number: int) -> Query:
    return query(page_number(number), f"https://example.com/{number}")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.sqlite"


def assert_whole(path: Path, pages: int, *, absent: int | None = None) -> None:
    """The file is sound, and holds pages 0.. in full and nothing else."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for table in ("pages_1", "urls_1", "keys0_1", "keys1_1"):
            assert db.execute(f"SELECT count(*) FROM {table}").fetchone() == (pages,), table
    store = SqliteStore(f"sqlite:///{path}", LAYOUT)
    assert store.open() == pages
    for number in range(pages):
        (record,) = found(store, query(page_number(number), ""))
        assert record.url == f"https://example.com/{number}"
    if absent is not None:
        assert found(store, query(page_number(absent), "")) == []
    store.close()


def test_a_folder_that_is_missing_is_refused(tmp_path: Path) -> None:
    store = SqliteStore(f"sqlite:///{tmp_path}/jbo/index.sqlite", LAYOUT)
    with pytest.raises(ConfigurationError, match=r"there is no folder '.*jbo'; make it first"):
        store.open()
    assert not list(tmp_path.iterdir())


def test_closing_leaves_one_file(path: Path) -> None:
    store = SqliteStore(f"sqlite:///{path}", LAYOUT)
    store.open()
    add(store, 0)
    store.close()
    assert list(path.parent.iterdir()) == [path]
    assert_whole(path, 1)


def test_an_empty_file_is_taken_into_use(path: Path) -> None:
    path.touch()
    assert SqliteStore(f"sqlite:///{path}", LAYOUT).open() == 0


def database(path: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as db:
        for statement in statements:
            db.execute(statement)
        db.commit()


def of_layout(path: Path, layout: int) -> None:
    store = SqliteStore(f"sqlite:///{path}", LAYOUT)
    store.open()
    store.close()
    database(path, f"PRAGMA user_version = {layout}")


PRECIOUS = ("CREATE TABLE precious (data)", "INSERT INTO precious VALUES (1)")
OF_ANOTHER, NO_DATABASE = "SQLite file of another program", "not a SQLite file; choose another path"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: database(path, *PRECIOUS), OF_ANOTHER),
        (lambda path: database(path, "PRAGMA journal_mode = wal", *PRECIOUS), OF_ANOTHER),
        (lambda path: database(path, "PRAGMA application_id = 1234"), OF_ANOTHER),
        (lambda path: of_layout(path, 7), "a newer version of crawldedup .*; upgrade crawldedup, or"),
        (lambda path: of_layout(path, 4), "an older version .*; crawl again, or"),
        (lambda path: path.write_bytes(b"hello"), NO_DATABASE),
        (lambda path: path.write_bytes(b"hello world\n" * 1000), NO_DATABASE),
        (lambda path: path.write_bytes(bytes(range(256)) * 64), NO_DATABASE),
    ],
)
def test_a_file_of_others_is_refused_unmodified(path: Path, make: Callable[[Path], object], said: str) -> None:
    make(path)
    before = path.read_bytes()
    store = SqliteStore(f"sqlite:///{path}", LAYOUT)
    for call in (store.open, store.clear):
        with pytest.raises(ForeignStoreError, match=said) as caught:
            call()
        assert str(path) in str(caught.value)
    store.close()
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("place", [".", "file/index.sqlite", "x" * 300], ids=["a folder", "under a file", "too long"])
def test_a_path_that_cannot_be_written_is_unavailable(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    store = SqliteStore(f"sqlite:///{tmp_path / place}", LAYOUT)
    with pytest.raises(StoreUnavailableError, match=str(tmp_path)):
        store.open()
    store.close()


def test_a_damaged_file_is_a_store_error(path: Path) -> None:
    store = SqliteStore(f"sqlite:///{path}", LAYOUT)
    store.open()
    for number in range(50):
        add(store, number)
    store.close()
    damaged = bytearray(path.read_bytes())
    damaged[4096:] = b"\xff" * (len(damaged) - 4096)
    path.write_bytes(damaged)
    with pytest.raises(StoreError, match="malformed"):
        store.open()


def test_a_file_locked_by_another_program_is_unavailable_until_it_is_released(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawldedup.stores.sqlite.schema.BUSY_SECONDS", 0.05)
    store = SqliteStore(f"sqlite:///{path}", LAYOUT)
    store.open()
    add(store, 0)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailableError, match="locked"):
            checked(store, query(page_number(1), "https://example.com/1"))
        assert len(found(store, query(page_number(0), ""))) == 1
    add(store, 1)
    store.close()
    assert_whole(path, 2)


class TestFullDisk:
    def test_of_many_pages_those_that_found_room_are_answered_and_kept(self, path: Path) -> None:
        store = SqliteStore(f"sqlite:///{path}", LAYOUT)
        store.open()
        add(store, 0)
        assert store._db is not None
        (size,) = store._db.execute("PRAGMA page_count").fetchone()
        store._db.execute(f"PRAGMA max_page_count = {size + 15}")
        answered = store.check([question(number) for number in range(800)])
        answers = [answer for answer in answered if isinstance(answer, Answer)]
        kept = len(answers)
        assert answered[:kept] == answers
        assert all(isinstance(error, StoreFullError) and "no room left" in str(error) for error in answered[kept:])
        assert [answer.pages for answer in answers] == list(range(1, kept + 1))
        assert [answer.status for answer in answers] == [Status.REVISIT] + [Status.NEW] * (kept - 1)
        assert 50 < kept < 800
        with pytest.raises(StoreFullError, match=f"no room left for {path}"):
            add(store, kept)
        assert len(found(store, query(page_number(0), ""))) == 1
        store._db.execute(f"PRAGMA max_page_count = {size + 1000}")
        assert checked(store, question(0)).status is Status.REVISIT
        store.close()
        assert_whole(path, kept, absent=kept)

    @pytest.mark.nightly
    def test_a_disk_that_refuses_to_write_costs_no_page_that_was_kept(self, path: Path) -> None:
        pipe, far_end = PROCESSES.Pipe()
        process = PROCESSES.Process(target=fill_until_refused, args=(str(path), far_end))
        process.start()
        far_end.close()
        refused, recovered = pipe.recv()
        process.join()
        assert refused == recovered - 1 > 0
        assert_whole(path, recovered)


def fill_until_refused(path: str, pipe: Connection) -> None:
    store = SqliteStore(f"sqlite:///{path}", LAYOUT)
    store.open()
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
    pages = 0
    with contextlib.suppress(StoreError):
        while True:
            pages = add(store, pages)
    with pytest.raises(StoreError):
        add(store, pages)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    pipe.send((pages, add(store, pages)))


@pytest.mark.nightly
def test_a_killed_writer_leaves_every_page_it_was_told_of(path: Path) -> None:
    pipe, far_end = PROCESSES.Pipe()
    process = PROCESSES.Process(target=write_for_ever, args=(str(path), far_end))
    process.start()
    far_end.close()
    while pipe.recv() < 100:
        pass
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    told = 100
    with contextlib.suppress(EOFError):
        while True:
            told = pipe.recv()
    store = SqliteStore(f"sqlite:///{path}", LAYOUT)
    pages = store.open()
    store.close()
    # The last page may be kept without our being told.
    assert told <= pages <= told + 1
    assert_whole(path, pages)


def write_for_ever(path: str, pipe: Connection) -> None:
    store = SqliteStore(f"sqlite:///{path}", LAYOUT)
    store.open()
    pages = 0
    while True:
        pages = add(store, pages)
        pipe.send(pages)


def test_clearing_one_namespace_gives_its_room_back_and_leaves_the_other(path: Path) -> None:
    one, two = SqliteStore(f"sqlite:///{path}", LAYOUT), SqliteStore(f"sqlite:///{path}", OTHER_NAMESPACE)
    one.open()
    two.open()
    add(two, 0)
    size = 0
    for _ in range(4):
        one.clear()
        for number in range(200):
            add(one, number)
        size = size or one.info().bytes
    assert one.info().bytes < 1.5 * size
    assert len(found(two, query(page_number(0), ""))) == 1


def test_the_number_of_a_page_is_not_given_again(path: Path) -> None:
    store = SqliteStore(f"sqlite:///{path}", LAYOUT)
    store.open()
    for number in range(3):
        add(store, number)
    for number in (2, 1):
        assert store.forget(PageName(question(number).record.url_key))
    assert add(store, 3) == 2
    assert store._db is not None
    assert store._db.execute("SELECT number FROM pages_1").fetchall() == [(1,), (4,)]
    store.forget(PageName(question(0).record.url_key))
    store.forget(PageName(question(3).record.url_key))
    assert store.info().pages == 0
    assert add(store, 4) == 1
    store.close()


def test_a_store_without_page_numbers_left_is_full(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SqliteStore(f"sqlite:///{path}", LAYOUT, clock=Clock())
    store.open()
    for number in range(3):
        add(store, number)
    monkeypatch.setattr("crawldedup.stores.sqlite.index.MAX_PAGES", 4)
    with pytest.raises(StoreFullError, match="page numbers"):
        add(store, 3)
    assert checked(store, question(0)).status is Status.REVISIT
    first, error, last = store.check([question(0), question(3), question(2)])
    assert isinstance(error, StoreFullError)
    assert [first, last] == [checked(store, question(number)) for number in (0, 2)]
    store.close()
    assert_whole(path, 3, absent=3)


@pytest.mark.nightly
def test_one_that_checks_many_pages_without_a_rest_leaves_others_their_turn(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawldedup.stores.sqlite.schema.BUSY_SECONDS", 1.0)
    store = SqliteStore(f"sqlite:///{path}", LAYOUT)
    store.open()
    pipe, far_end = PROCESSES.Pipe()
    process = PROCESSES.Process(target=check_for_ever, args=(str(path), far_end), daemon=True)
    process.start()
    far_end.close()
    assert pipe.recv() == 200
    try:
        for number in range(200, 250):
            add(store, number)
    finally:
        process.kill()
        process.join()
    store.close()
    assert_whole(path, 250)


def check_for_ever(path: str, pipe: Connection) -> None:
    store = SqliteStore(f"sqlite:///{path}", LAYOUT)
    store.open()
    questions = [question(number) for number in range(200)]
    pipe.send(len(store.check(questions)))
    while True:
        store.check(questions)
