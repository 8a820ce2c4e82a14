"""The versions on the page of files are those in the code, and the page tells truly what becomes of others."""

from __future__ import annotations

import json
import re
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from crawldedup import Deduplicator, journal
from crawldedup.errors import ConfigurationError, ForeignStoreError
from crawldedup.fingerprinting.fingerprint import PROFILE
from crawldedup.reading.difference import LONGEST_TEXT
from crawldedup.reading.extract import TEXT_PROFILE
from crawldedup.reading.keys import Key
from crawldedup.report import queries
from crawldedup.scan import read, run
from crawldedup.scrapy_plugin import rules
from crawldedup.stores.redis.store import PREFIXES, RedisStore, prefixes
from crawldedup.stores.sqlite import schema
from tests.docs.pages import SITE, section

PAGE: Final = SITE / "reference" / "files.md"
TEXT: Final = PAGE.read_text("utf-8")


def versions() -> dict[str, str]:
    """What the first table names as the version of each file."""
    rows = re.findall(r"^\| \[([^\]]+)\]\(#[\w-]+\)[^|]*\| [^`|]*`([^`]+)` \|", TEXT, re.MULTILINE)
    return dict(rows)


def test_the_versions_are_those_in_the_code() -> None:
    assert versions() == {
        "SQLite index": str(schema._VERSION),
        "Journal": str(journal.VERSION),
        "Report": str(queries.VERSION),
        "Work folder of a scan": str(read.FORMAT),
    }
    assert f'`"{journal.FORMAT}": {journal.VERSION}`' in section(PAGE, "Journal")
    assert f'`"crawldedup_report": {queries.VERSION}`' in section(PAGE, "Report")
    assert f'`"format": {read.FORMAT}`' in section(PAGE, "Work folder of a scan")


def test_the_layout_of_sqlite_files_is_that_in_the_code() -> None:
    text = section(PAGE, "SQLite index")
    assert f'`{schema._APPLICATION_ID:#x}`, "{schema._APPLICATION_ID.to_bytes(4).decode()}"' in text
    assert f"the layout, `{schema._VERSION}`" in text


def test_the_profile_is_that_in_the_code() -> None:
    (shown,) = re.findall(r"```text\n(\S+)\n```", section(PAGE, "Profile"))
    profile, _, name = shown.partition("/key.")
    with Deduplicator(key=0) as dedup:
        assert f"{profile}/key.0" == dedup.info().profile
    assert len(Key(b"0123456789abcdef").suffix) == len(f"/key.{name}")
    parts = re.findall(r"^\| `([^`]+)`", section(PAGE, "Profile"), re.MULTILINE)
    # In this order they make the whole of it.
    assert re.fullmatch("/?".join(re.escape(part) for part in parts) + r"[0-9a-f]{16}", shown)
    assert {TEXT_PROFILE, *PROFILE.split("/")} <= set(parts)


def test_the_names_are_those_in_the_code() -> None:
    redis, cluster, job = (section(PAGE, title) for title in ("Redis index", "Redis Cluster index", "Files of a job"))
    layout = replace(Deduplicator("memory://")._store.layout, namespace="<namespace>")
    assert f"`{RedisStore('redis://localhost', layout)._prefixes[0]}`" in redis
    assert f"`{re.sub(r'/[0-9]+}', '/<number>}', prefixes('<namespace>')[0])}`" in cluster
    assert f"{PREFIXES} parts" in cluster
    assert {journal.NAME_FILE, rules.FILE_NAME} <= set(re.findall(r"^\| `(\S+)` \|", job, re.MULTILINE))
    assert f"`{run._FOLDER_SUFFIX}`" in section(PAGE, "Work folder of a scan")
    assert f"the first {LONGEST_TEXT:,} characters" in section(PAGE, "Kept texts")


def test_a_sqlite_file_of_a_newer_layout_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    with Deduplicator(f"sqlite:///{path}") as dedup:
        dedup.check("https://e.example/", text="a few words")
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {schema._VERSION + 1}")
    db.close()
    before = path.read_bytes()
    with pytest.raises(ForeignStoreError, match="newer version"), Deduplicator(f"sqlite:///{path}"):
        pass
    assert path.read_bytes() == before


def test_what_is_of_another_version_is_refused(tmp_path: Path) -> None:
    newer = tmp_path / "journal.jsonl"
    newer.write_text(json.dumps({journal.FORMAT: journal.VERSION + 1, "crawl": "a", "spider": "a", "started": 0}))
    with pytest.raises(ConfigurationError, match=f"no header of version {journal.VERSION}"):
        journal.journals(newer)
    work = tmp_path / "work"
    read.ScanFolder(work, {"sources": []}).close()
    task, step = json.loads((work / "scan.json").read_text())
    (work / "scan.json").write_text(json.dumps([task | {"format": read.FORMAT + 1}, step]))
    with pytest.raises(ConfigurationError, match="other format"):
        read.ScanFolder(work, {"sources": []})


def test_the_work_folder_holds_the_files_that_are_named(tmp_path: Path) -> None:
    read.ScanFolder(tmp_path / "work", {}).close()
    held = {path.name for path in (tmp_path / "work").iterdir()}
    named = set(
        re.findall(r"`([\w.]+)`", "".join(re.findall(r"^\| (`.*?) \|", section(PAGE, "Work folder of a scan"), re.M)))
    )
    assert {name for name in held if not name.endswith(".bin")} | {"urls.bin", ".bin"} == named
