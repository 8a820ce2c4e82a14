from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from crawldedup.scrapy_plugin.runtime.garbage import StartupObjects

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def nothing_frozen() -> Iterator[None]:
    gc.unfreeze()
    assert gc.get_freeze_count() == 0
    yield
    gc.unfreeze()


def test_what_was_there_is_left_out_until_the_last_crawl_has_ended() -> None:
    first, second = StartupObjects(), StartupObjects()
    first.freeze()
    assert gc.get_freeze_count() > 1000
    second.freeze()
    first.unfreeze()
    first.unfreeze()
    assert gc.get_freeze_count() > 1000
    second.unfreeze()
    assert gc.get_freeze_count() == 0


def test_what_the_program_has_frozen_stays_so() -> None:
    gc.freeze()
    crawl = StartupObjects()
    crawl.freeze()
    crawl.unfreeze()
    assert gc.get_freeze_count() > 1000


def test_what_python_itself_has_frozen_is_no_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    # So many has Python 3.12.1 when it starts.
    with monkeypatch.context() as patched:
        patched.setattr(gc, "get_freeze_count", lambda: 375)
        crawl = StartupObjects()
        crawl.freeze()
    assert gc.get_freeze_count() > 1000
    crawl.unfreeze()
    assert gc.get_freeze_count() == 0


def test_a_collector_that_is_disabled_is_left_alone() -> None:
    gc.disable()
    try:
        StartupObjects().freeze()
        assert gc.get_freeze_count() == 0
    finally:
        gc.enable()
