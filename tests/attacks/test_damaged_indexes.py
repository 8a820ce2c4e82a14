"""Values of any type in a SQLite index, and lies in the head of one on Redis: no call hangs, and
errors are ours.
"""

import contextlib
import random
import shutil
import sqlite3
from functools import partial
from itertools import product
from pathlib import Path

import pytest

from crawldedup import Deduplicator
from crawldedup.errors import CrawlDedupError, StoreError
from tests.servers import RedisServer

WORDS = [f"w{number}" for number in range(1000)]
VALUES = [None, "text", b"\xff", b"", -1, 2**62, 1.5, "\ud7ff\0"]
TABLES = ["crawlers", "pages_1", "pending", "covered_1", "anchors_1"]
# A new page, a copy, and two that are known, of which one has changed.
CHECKED = {"n.example/": 100, "c.example/": 5, "a.example/7": 7, "a.example/8": 101}
NUMBERS = ["pages", "next", "depth", "crawlers", "oldest", "sweep", "epoch"]
LIES = [
    "",
    "-1",
    "1.5",
    "nan",
    "inf",
    "1e308",
    "9" * 400,
    "28",
    "29",
    "4294967295",
    "18446744073709551616",
    "text",
]


def text_of(number: int) -> str:
    return " ".join(random.Random(number).choices(WORDS, k=60))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "index.sqlite"
    with Deduplicator(f"sqlite:///{path}", paragraphs=0.5, keep_texts=True) as dedup:
        for number in range(20):
            page = f"<title>{number}</title><p>{text_of(number)}"
            dedup.check(f"https://a.example/{number}", html=page)
        # A crawler that died left its lease.
        dedup.close(leave=False)
    return path


def use(dedup: Deduplicator) -> None:
    for call in (
        dedup.open,
        *(
            partial(dedup.check, f"https://{url}", text=text_of(number))
            for url, number in CHECKED.items()
        ),
        partial(dedup.find, text=text_of(3)),
        partial(dedup.explain, "https://b.example/3", html=f"<title>Three</title>{text_of(3)}"),
        partial(dedup.text_of, "https://a.example/3"),
        dedup.info,
        partial(dedup.forget, "https://a.example/3"),
        dedup.clear,
        dedup.close,
    ):
        with contextlib.suppress(CrawlDedupError):
            call()


@pytest.mark.parametrize(
    "table",
    [
        "indexes",
        "pages_1",
        *(pytest.param(name, marks=pytest.mark.nightly) for name in TABLES if name != "pages_1"),
    ],
)
def test_a_damaged_column_is_held(sound: Path, tmp_path: Path, table: str) -> None:
    with contextlib.closing(sqlite3.connect(sound)) as db:
        columns = [column for _, column, *_ in db.execute(f"PRAGMA table_info({table})")]
    for number, (column, value) in enumerate(product(columns, VALUES)):
        path = tmp_path / f"{number}.sqlite"
        shutil.copy(sound, path)
        with (
            contextlib.closing(sqlite3.connect(path)) as db,
            contextlib.suppress(sqlite3.IntegrityError),
        ):
            # Or the column refuses it.
            db.execute(f"UPDATE OR IGNORE {table} SET {column} = ?", (value,))
            db.commit()
        use(
            Deduplicator(
                f"sqlite:///{path}", ttl="30d", max_pages=1000, paragraphs=0.5, keep_texts=True
            )
        )


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "field", ["split", *(pytest.param(name, marks=pytest.mark.nightly) for name in NUMBERS)]
)
def test_a_lie_in_the_head_is_held(redis_server: RedisServer, field: str) -> None:
    for lie in LIES:
        redis_server.client.flushall()
        with Deduplicator(redis_server.url) as dedup:
            for number in range(20):
                dedup.check(f"https://a.example/{number}", text=text_of(number))
        redis_server.client.hset("crawldedup:{default}:m", field, lie)
        use(Deduplicator(redis_server.url, ttl="30d", max_pages=1000))


def test_an_index_whose_head_lies_can_be_cleared(redis_server: RedisServer) -> None:
    with Deduplicator(redis_server.url) as dedup:
        dedup.check("https://a.example/", text=text_of(1))
        redis_server.client.hset("crawldedup:{default}:m", "depth", "28")
        with pytest.raises(StoreError, match="crawldedup did not write"):
            dedup.check("https://b.example/", text=text_of(2))
        dedup.clear()
        assert dedup.check("https://b.example/", text=text_of(1)).kind == "new"
