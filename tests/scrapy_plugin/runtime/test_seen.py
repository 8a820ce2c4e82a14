from __future__ import annotations

from typing import TYPE_CHECKING

from crawldedup.scope import page_key
from crawldedup.scrapy_plugin.runtime.seen import SeenPages

if TYPE_CHECKING:
    from pathlib import Path


def test_a_page_is_known_by_url_request_and_scope() -> None:
    usual = page_key("", "https://e.com/?a=1&b=2", None)
    assert page_key("", "https://e.com/?b=2&a=1#top", None) == usual
    others = {
        page_key("", "https://e.com/?a=1", None),
        page_key("", "https://e.com/?a=1&b=2", "POST"),
        page_key("news", "https://e.com/?a=1&b=2", None),
    }
    assert len(others) == 3
    assert usual not in others


def test_without_a_file_pages_are_forgotten_with_the_crawl(tmp_path: Path) -> None:
    seen = SeenPages(None)
    assert 1 not in seen
    seen.add(1)
    assert 1 in seen
    seen.close(finished=True)


def test_the_file_is_there_for_a_crawl_that_was_paused_or_killed(tmp_path: Path) -> None:
    file = tmp_path / "visits"
    killed = SeenPages(file)
    killed.add(2**64 - 1)
    killed.add(2**64 - 1)
    killed.add(7)
    assert file.stat().st_size == 16
    with file.open("ab") as cut_short:
        cut_short.write(b"abc")
    resumed = SeenPages(file)
    assert 7 in resumed
    resumed.add(8)
    resumed.close(finished=False)
    again = SeenPages(file)
    assert [key in again for key in (2**64 - 1, 7, 8, 9)] == [True, True, True, False]
    again.close(finished=True)
    assert not file.exists()


def test_a_crawl_that_never_asks_makes_no_file(tmp_path: Path) -> None:
    SeenPages(tmp_path / "visits").close(finished=False)
    SeenPages(tmp_path / "visits").close(finished=True)
    assert list(tmp_path.iterdir()) == []
