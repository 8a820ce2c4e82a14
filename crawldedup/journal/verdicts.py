"""Read the verdicts of crawls from their journals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from crawldedup.advice.evidence import Seen
from crawldedup.advice.rules import Rule
from crawldedup.errors import ConfigurationError
from crawldedup.journal.records import FORMAT, record_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from crawldedup.advice.evidence import Evidence

_LONGEST_LINE: Final = 1 << 20
_STEP: Final = 10_000
_WITHDRAWN: Final = '"withdrawn":'


def collect(journals: Iterable[Path], evidence: Evidence, progress: Callable[[int], None] = lambda _: None) -> int:
    """Collect the pages of journals as evidence until it is full, and the rules that the crawl has withdrawn.

    Returns how many lines cannot be read before it is full.

    `progress` is called with the pages that were collected. Raises as `verdicts`.
    """
    unreadable = 0
    for journal in journals:
        for number, seen in enumerate(verdicts(journal, lambda: evidence.is_full)):
            if isinstance(seen, Rule):
                evidence.add_withdrawn(seen)
            elif seen is not None:
                evidence.add(seen)
            else:
                unreadable += not evidence.is_full
            if number % _STEP == 0:
                progress(len(evidence.pages))
    return unreadable


def verdicts(journal: Path, is_enough: Callable[[], bool] = lambda: False) -> Iterator[Seen | Rule | None]:
    """Yield the pages of a journal, the rules that its crawl has withdrawn, and None for each line that cannot be read.

    From when `is_enough` says so, only the rules. Raises ConfigurationError for a file that is no journal, and OSError.
    """
    with journal.open(encoding="utf-8", errors="replace") as lines:
        header = record_in(lines.readline(_LONGEST_LINE))
        if header is None or FORMAT not in header:
            raise ConfigurationError(f"{journal} is no journal of a crawl: its first line is no header of one")
        while line := lines.readline(_LONGEST_LINE):
            if is_enough() and _WITHDRAWN not in line:
                continue
            value = record_in(line)
            if value is None:
                yield None
            elif "withdrawn" in value:
                yield _rule(value["withdrawn"])
            elif "url" in value:
                yield _seen(value)


def _rule(value: object) -> Rule | None:
    try:
        return Rule.from_dict(value)
    except (ValueError, TypeError):
        return None


def _seen(value: dict[str, Any]) -> Seen | None:
    texts = [value.get(name) for name in ("url", "outcome", "original", "digest", "referer")]
    url, outcome, original, digest, referer = texts
    if not (isinstance(url, str) and isinstance(outcome, str)):
        return None
    if not all(each is None or isinstance(each, str) for each in texts):
        return None
    return Seen(url, outcome, original, digest, referer, value.get("replaces") is True)
