from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

from crawldedup.scrapy_plugin.reading.progress import PROGRESS, STORE_SECONDS, Progress

if TYPE_CHECKING:
    import pytest


def test_the_parent_sees_how_far_it_is_and_the_alarm_knows_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    alarms: list[int] = []
    monkeypatch.setattr("signal.alarm", alarms.append)
    with tempfile.TemporaryFile() as file:
        file.truncate(PROGRESS.size)
        progress = Progress(file.fileno(), 30)

        def shared() -> tuple[int, bool]:
            file.seek(0)
            begun, asks_store = PROGRESS.unpack(file.read())
            return begun, asks_store

        seen = [shared()]
        for step in (progress.begin, progress.begin, progress.ask_store, progress.begin, progress.rest):
            step()
            seen.append(shared())
    assert seen == [(0, False), (1, False), (2, False), (2, True), (3, False), (3, False)]
    assert alarms == [40, 40, 40 + STORE_SECONDS, 40, 0]
