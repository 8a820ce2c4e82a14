"""The programs in the guide work on web archives as described."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

pytest.importorskip(
    "pyspark", reason="the session `spark` of noxfile.py installs pyspark, and fails without it"
)

import pyarrow.parquet as pq
from warcio.warcwriter import WARCWriter

from crawldedup.demo.site import all_articles
from tests.docs.pages import blocks

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.timeout(600)
GUIDE = [block.code for block in blocks("python") if block.page.name == "common-crawl-on-spark.md"]


def write_archive(path: Path, texts: dict[str, str]) -> None:
    with path.open("wb") as file:
        archive = WARCWriter(file, gzip=True)
        archive.write_record(archive.create_warcinfo_record(path.name, {"software": "a test"}))
        for url, text in texts.items():
            payload = io.BytesIO(text.encode())
            record = archive.create_warc_record(
                url, "conversion", payload=payload, warc_content_type="text/plain"
            )
            archive.write_record(record)


def test_the_programs_deduplicate_archives(tmp_path: Path) -> None:
    texts = [article.text for article in all_articles()][:10]
    for part in range(2):
        urls = {f"https://{part}.example/{place}": text for place, text in enumerate(texts)}
        write_archive(tmp_path / f"{part}.warc.wet.gz", urls)
    for name, *arguments in (
        ("read_archives.py", "*.warc.wet.gz", "pages.parquet"),
        ("deduplicate_pages.py", "pages.parquet", "judged.parquet"),
    ):
        (program,) = (code for code in GUIDE if code.startswith(f"# {name}\n"))
        (tmp_path / name).write_text(program, "utf-8")
        done = subprocess.run(
            [sys.executable, name, *arguments], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    assert "|exact_duplicate|   10|" in done.stdout
    rows = pq.read_table(tmp_path / "judged.parquet").to_pylist()
    assert sorted(row["kind"] for row in rows) == ["exact_duplicate"] * 10 + ["new"] * 10
    assert {row["kept_url"] for row in rows if row["kind"] != "new"} == {
        row["url"] for row in rows if row["kind"] == "new"
    }
