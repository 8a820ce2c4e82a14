from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest
from crawldedup.scrapy_plugin.runtime.garbage import StartupObjects

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def nothing_frozen() -> Iterator[None]:
    assert gc.get_freeze_count() == 0
    yield
    gc.unfreeze()


def test_what_was_there_is_left_out_until_the_last_crawl_has_ended() -> None:
    first, second = StartupObjects(), StartupObjects()
    first.hold()
    held = gc.get_freeze_count()
    assert held > 1000
    second.hold()
    assert gc.get_freeze_count() == held
    first.release()
    first.release()
    assert gc.get_freeze_count() == held
    second.release()
    assert gc.get_freeze_count() == 0


def test_a_crawl_that_ends_while_it_starts_holds_nothing() -> None:
    crawl = StartupObjects()
    crawl.release()
    crawl.hold()
    assert gc.get_freeze_count() == 0


def test_the_policy_of_the_program_stands() -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    crawl = StartupObjects()
    crawl.hold()
    crawl.release()
    assert gc.get_freeze_count() == frozen
    gc.unfreeze()
    gc.disable()
    try:
        StartupObjects().hold()
        assert gc.get_freeze_count() == 0
    finally:
        gc.enable()
