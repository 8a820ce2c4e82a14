"""Find passages of the documentation that tests hold against the code."""

from __future__ import annotations

from pathlib import Path


def passage_behind(marker: str) -> str:
    """Return what follows a marker on the one page of the documentation that has it."""
    pages = [path.read_text("utf-8") for path in (Path(__file__).parents[3] / "docs").rglob("*.md")]
    (page,) = (page for page in pages if marker in page)
    return page.partition(marker)[2]
