"""Read the verdicts of crawls from their journals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from crawldedup.advice.evidence import Seen
from crawldedup.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_HEADER: Final = "crawldedup_journal"
_LONGEST_LINE: Final = 1 << 20


def journals(names: Iterable[str]) -> list[Path]:
    """Return the files of these names, and those in folders of these names that end in .jsonl.

    Raises ConfigurationError for a name of neither, and for a folder without any.
    """
    found: list[Path] = []
    for name in names:
        path = Path(name)
        files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path] if path.is_file() else []
        if not files:
            raise ConfigurationError(f"{name!r} is no journal of a crawl, and no folder with journals (*.jsonl)")
        found += files
    return found


def verdicts(journal: Path) -> Iterator[Seen | None]:
    """Yield the pages of a journal, and None for each line that cannot be read.

    Raises ConfigurationError for a file that is no journal, and OSError.
    """
    with journal.open(encoding="utf-8", errors="replace") as lines:
        header = _object(lines.readline(_LONGEST_LINE))
        if header is None or _HEADER not in header:
            raise ConfigurationError(f"{journal} is no journal of a crawl: its first line is no header of one")
        while line := lines.readline(_LONGEST_LINE):
            value = _object(line)
            if value is None:
                yield None
            elif "url" in value:
                yield _seen(value)


def _object(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _seen(value: dict[str, Any]) -> Seen | None:
    texts = [value.get(name) for name in ("url", "outcome", "original", "digest", "referer")]
    url, outcome, original, digest, referer = texts
    if not (isinstance(url, str) and isinstance(outcome, str)):
        return None
    if not all(each is None or isinstance(each, str) for each in texts):
        return None
    return Seen(url, outcome, original, digest, referer, value.get("replaces") is True)
