"""What was read lies in one file a chunk, and a scan goes on behind the last whole one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from crawldedup.errors import ConfigurationError
from crawldedup.scan.folder import Collection, Packed, Step, opened_folder
from tests.scan.pages import collection, columns_in, of_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

TASK = {"similarity": 0.9}
URLS = [f"https://a.example/{number}/ä\udc80" for number in range(43)]


def urls_in(pages: Collection) -> list[str]:
    return [pages.urls[row].tobytes().decode("utf-8", "surrogatepass") for row in range(len(pages.columns))]


def with_urls(answer: Packed, urls: Sequence[str]) -> Packed:
    encoded = [url.encode("utf-8", "surrogatepass") for url in urls]
    return answer | {"urls": b"".join(encoded), "url_sizes": np.array(list(map(len, encoded)), np.uint32).tobytes()}


@pytest.fixture
def parts() -> list[Packed]:
    texts = collection(originals=24)
    return [with_urls(of_texts(texts[:20]), URLS[:20]), with_urls(of_texts(texts[20:]), URLS[20 : len(texts)])]


def added(path: Path, *parts: Packed) -> None:
    with opened_folder(path, TASK) as folder:
        for number, part in enumerate(parts, 1):
            folder.add((0, 20 * number, 1), [part], ["empty"])


def test_all_parts_make_one_collection(tmp_path: Path, parts: list[Packed]) -> None:
    added(tmp_path / "scan", parts[0])
    with opened_folder(tmp_path / "scan", TASK) as folder:
        assert folder.step == Step((0, 20, 1), 20, {"empty": 1})
        folder.add((1, 0, 1), [parts[1]], ["empty", "binary"])
        count = 20 + len(columns_in(parts[1]))
        assert folder.step == Step((1, 0, 1), count, {"empty": 2, "binary": 1})
    with opened_folder(tmp_path / "scan", TASK) as folder:
        pages = folder.collection()
        assert urls_in(pages) == URLS[:count]
        for name, column in pages.columns.by_name().items():
            expected = np.concatenate([getattr(columns_in(part), name) for part in parts])
            assert (column == expected).all()
            assert column.dtype == expected.dtype
        shingles = b"".join(pages.shingles[row].tobytes() for row in range(count))
        assert shingles == parts[0]["shingles"] + parts[1]["shingles"]
        assert not folder.collection(ranks=False).columns.rank.any()
        # Nothing new is no part.
        folder.add((1, 0, 1), [], [])
        assert len(list((tmp_path / "scan").glob("*.part"))) == 2


def test_a_folder_without_pages_is_an_empty_collection(tmp_path: Path) -> None:
    with opened_folder(tmp_path, TASK) as folder:
        assert len(folder.collection().columns) == 0


def test_a_part_has_its_name_when_the_disk_has_it(
    tmp_path: Path, parts: list[Packed], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a power cut, what was written before must be there, and nothing may be torn."""
    with opened_folder(tmp_path, TASK) as folder:

        def cut(_: int) -> None:
            raise OSError("no power")

        monkeypatch.setattr(os, "fdatasync", cut)
        with pytest.raises(OSError, match="no power"):
            folder.add((0, 20, 0), [parts[0]], [])
        assert not list(tmp_path.glob("*.part"))
    monkeypatch.undo()
    added(tmp_path, parts[0])
    with opened_folder(tmp_path, TASK) as folder:
        assert folder.step.pages == 20


def test_a_folder_of_another_scan_is_refused(tmp_path: Path) -> None:
    added(tmp_path / "scan")
    for task, changed in (({"similarity": 0.8}, "similarity"), (TASK | {"sources": []}, "sources")):
        with (
            pytest.raises(ConfigurationError, match=f"begun with other {changed}"),
            opened_folder(tmp_path / "scan", task),
        ):
            pass
    added(tmp_path / "scan")


def test_a_folder_at_work_is_refused(tmp_path: Path) -> None:
    with opened_folder(tmp_path, TASK), pytest.raises(ConfigurationError, match="another scan is at work"):
        added(tmp_path)


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter").write_text("dear")
    with pytest.raises(ConfigurationError, match="something else"):
        added(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["letter"]


@pytest.mark.parametrize(("name", "content", "message"), [
    ("000000.part", b"short", "damaged"),
    ("000000.part", None, "damaged"),
    ("000001.part", b"short", "damaged"),
    ("scan.json", b"short", "damaged"),
    ("scan.json", None, "something else"),
])  # fmt: skip
def test_a_damaged_folder_is_refused(
    tmp_path: Path, parts: list[Packed], name: str, content: bytes | None, message: str
) -> None:
    added(tmp_path / "scan", *parts)
    path = tmp_path / "scan" / name
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=message), opened_folder(tmp_path / "scan", TASK) as folder:
        folder.collection()
