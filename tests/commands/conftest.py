from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from crawldedup.cli import main


class Said(NamedTuple):
    """What a command has printed, and its exit status."""

    status: object
    out: str
    err: str

    @property
    def values(self) -> list[Any]:
        """The lines of JSON of a command that has done all."""
        assert self.status == 0, self.err
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[[str], Said]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """A function that runs a command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CRAWLDEDUP_STORE", raising=False)

    def run(line: str) -> Said:
        try:
            status: object = main(line.split())
        except SystemExit as stopped:
            status = stopped.code
        return Said(status, *capsys.readouterr())

    return run
