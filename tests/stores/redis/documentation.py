"""Find passages of the documentation that tests hold against the code."""

from __future__ import annotations

from pathlib import Path


def passage_behind(marker: str) -> str:
    """Return what follows a marker on the one page of the documentation that has it."""
    folder = Path(__file__).parents[3] / "docs"
    sources = (path for path in folder.rglob("*.md") if "_build" not in path.relative_to(folder).parts)
    pages = [path.read_text("utf-8") for path in sources]
    (page,) = (page for page in pages if marker in page)
    return page.partition(marker)[2]
