"""Values of any type in every column of a SQLite index: whatever is read of it, errors are ours."""

from __future__ import annotations

import contextlib
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from crawldedup import Deduplicator
from crawldedup.errors import CrawlDedupError

WORDS = [f"w{number}" for number in range(1000)]
VALUES = [None, "text", b"\xff", b"", -1, 2**62, 1.5, "\ud7ff\0"]
COLUMNS = {
    "indexes": ["profile", "key", "freed", "newest_freed", "swept", "crawlers"],
    "crawlers": ["number", "expires", "process"],
    "pages_1": ["url", "url_key", "search", "signature", "digest", "added_at", "seen_at", "copies", "crawler", "rank"],
    "pending": ["url_key", "crawler"],
    "covered_1": ["page", "url", "added_at", "before", "size", "anchors"],
    "anchors_1": ["k", "place", "number"],
}


def text_of(number: int) -> str:
    return " ".join(random.Random(number).choices(WORDS, k=60))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "index.sqlite"
    with Deduplicator(f"sqlite:///{path}", paragraphs=0.5, keep_texts=True) as dedup:
        for number in range(20):
            dedup.check(f"https://a.example/{number}", text=text_of(number))
        # A crawler that died left its lease.
        dedup.close(leave=False)
    return path


def everything(dedup: Deduplicator) -> list[Callable[[], object]]:
    return [
        dedup.open,
        lambda: dedup.check("https://n.example/", text=text_of(100)),
        lambda: dedup.check("https://c.example/", text=text_of(5)),
        lambda: dedup.check("https://a.example/7", text=text_of(7)),
        lambda: dedup.check("https://a.example/8", text=text_of(101)),
        lambda: dedup.find(text=text_of(3)),
        dedup.info,
        lambda: dedup.forget("https://a.example/3"),
        dedup.clear,
        dedup.close,
    ]


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize(("table", "column"), [(table, name) for table, names in COLUMNS.items() for name in names])
def test_a_damaged_column_is_held(sound: Path, tmp_path: Path, table: str, column: str, value: object) -> None:
    path = tmp_path / "index.sqlite"
    shutil.copy(sound, path)
    with contextlib.closing(sqlite3.connect(path)) as db:
        try:
            db.execute(f"UPDATE OR IGNORE {table} SET {column} = ?", (value,))
        except sqlite3.IntegrityError:
            return  # the column refuses it
        db.commit()
    dedup = Deduplicator(f"sqlite:///{path}", ttl="30d", max_pages=1000, paragraphs=0.5, keep_texts=True)
    for call in everything(dedup):
        with contextlib.suppress(CrawlDedupError):
            call()
