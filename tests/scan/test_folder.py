"""What was read lies in one file a chunk, and a scan goes on behind the last whole one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from crawldedup.errors import ConfigurationError
from crawldedup.scan.folder import Packed, ScanFolder, Step, opened_folder
from tests.scan.pages import collection, columns_in, of_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TASK = {"similarity": 0.9}
URLS = [f"https://a.example/{number}/ä\udc80" for number in range(43)]


def urls_in(folder: ScanFolder) -> list[str]:
    pages, urls = folder.pages()
    return [urls[row].tobytes().decode("utf-8", "surrogatepass") for row in range(len(pages))]


def shingles_in(folder: ScanFolder) -> bytes:
    pages, _ = folder.pages()
    assert pages.shingles is not None
    return b"".join(pages.shingles[row].tobytes() for row in range(len(pages)))


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
        pages, _ = folder.pages()
        assert urls_in(folder) == URLS[:count]
        for name, column in pages.by_name().items():
            expected = np.concatenate([getattr(columns_in(part), name) for part in parts])
            assert (column == expected).all()
            assert column.dtype == expected.dtype
        assert shingles_in(folder) == parts[0]["shingles"] + parts[1]["shingles"]
        # Nothing new is no part.
        folder.add((1, 0, 1), [], [])
        assert len(list((tmp_path / "scan").glob("*.part"))) == 2


def test_a_folder_without_pages_is_an_empty_collection(tmp_path: Path) -> None:
    with opened_folder(tmp_path, TASK) as folder:
        assert len(folder.pages()[0]) == 0


@pytest.mark.parametrize("tear", [lambda part: part[:-1], lambda part: bytes(len(part)), lambda _: b"", None])
@pytest.mark.parametrize(("torn", "whole"), [(0, 0), (1, 20)])
def test_what_a_power_cut_has_torn_is_read_again(
    tmp_path: Path, parts: list[Packed], torn: int, whole: int, tear: Callable[[bytes], bytes] | None
) -> None:
    added(tmp_path, *parts)
    (tmp_path / "columns-killed").mkdir()
    path = tmp_path / f"{torn:06}.part"
    path.write_bytes(tear(path.read_bytes())) if tear else path.unlink()
    with opened_folder(tmp_path, TASK) as folder:
        assert folder.step.pages == whole
        assert not (tmp_path / "columns-killed").exists()
        for part in parts[torn:]:
            folder.add((1, len(part["thin"]), 0), [part], [])
        assert urls_in(folder) == URLS[: sum(len(part["thin"]) for part in parts)]


@pytest.mark.parametrize(
    ("change", "task", "message"),
    [
        (None, {"similarity": 0.8}, "begun with other similarity"),
        (None, TASK | {"sources": []}, "begun with other sources"),
        (lambda path: (path / "scan.json").write_bytes(b"short"), TASK, "damaged"),
        (lambda path: (path / "scan.json").unlink(), TASK, "something else"),
    ],
)
def test_a_folder_of_another_scan_or_of_none_is_refused_and_left_alone(
    tmp_path: Path, parts: list[Packed], change: Callable[[Path], object] | None, task: dict[str, object], message: str
) -> None:
    added(tmp_path, *parts)
    if change is not None:
        change(tmp_path)
    before = {path.name for path in tmp_path.iterdir()}
    with pytest.raises(ConfigurationError, match=message), opened_folder(tmp_path, task):
        pass
    assert {path.name for path in tmp_path.iterdir()} == before


def test_a_folder_at_work_is_refused(tmp_path: Path) -> None:
    with opened_folder(tmp_path, TASK), pytest.raises(ConfigurationError, match="another scan is at work"):
        added(tmp_path)
