"""Run a crawl in a process of its own, which leaves no reactor behind in the caller's."""

from __future__ import annotations

import contextlib
import multiprocessing
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from crawldedup.errors import CrawlDedupError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_END_LIMIT_SECONDS: Final = 10.0
_SHOWN_LOG_CHARACTERS: Final = 2000


class CrawlError(CrawlDedupError):
    """Raised when the crawl's process died, or the plugin could not work; the message ends with the crawl's log."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A page was judged. `bytes` is the size of its body; `encoding` and `is_html` say how to read it."""

    url: str
    kind: str
    original: str | None
    similarity: float | None
    dropped: bool
    bytes: int
    encoding: str | None
    is_html: bool


@dataclass(slots=True)
class CrawlOutcome:
    """What happened in a crawl: `kept` are the URLs that reached the spider, `log` is the end of its log."""

    judged: list[Judged] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    stats: dict[str, Any] = field(default_factory=dict)
    reason: str = ""
    log: str = ""


def run_crawl(
    start_urls: Sequence[str],
    settings: Mapping[str, Any],
    *,
    on_event: Callable[[Judged | str], None] = lambda _: None,
    verbose: bool = False,
) -> CrawlOutcome:
    """Crawl from these URLs with Scrapy's `settings`, and call `on_event` while it runs.

    An event is a page that was judged, or the URL of one that reached the spider. With `verbose`, the crawl's log goes
    to stderr. Raises CrawlError.
    """
    outcome = CrawlOutcome()
    with tempfile.TemporaryDirectory(prefix="crawldedup-demo-") as folder:
        log = Path(folder, "log")
        _follow_process([list(start_urls), dict(settings), None if verbose else log], outcome, on_event)
        if log.exists():
            outcome.log = log.read_text(encoding="utf-8", errors="replace")[-_SHOWN_LOG_CHARACTERS:].strip()
    # "crawldedup_error" is the plugin's reason for ending a crawl whose pages it cannot check.
    if outcome.reason in ("", "crawldedup_error"):
        failure = "crawldedup could not work" if outcome.reason else "The crawl's process ended too early"
        shown = f"The end of its log:\n{outcome.log}" if outcome.log else "The log above says why."
        raise CrawlError(f"{failure}. {shown}")
    return outcome


def _follow_process(task: list[Any], outcome: CrawlOutcome, on_event: Callable[[Judged | str], None]) -> None:
    from crawldedup.demo.worker import crawl

    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=crawl, args=(sender, *task))
    process.start()
    # The pipe ends with the process: nothing else may hold its other end.
    sender.close()
    try:
        with contextlib.suppress(EOFError):
            while not outcome.reason:
                event = receiver.recv()
                if isinstance(event, dict):
                    outcome.stats, outcome.reason = event, str(event.get("finish_reason", "unknown"))
                else:
                    (outcome.judged if isinstance(event, Judged) else outcome.kept).append(event)
                    on_event(event)
        process.join(_END_LIMIT_SECONDS)
    finally:
        # After Ctrl-C, above all, nobody waits for the rest of the crawl.
        process.terminate()
        process.join(_END_LIMIT_SECONDS)
        process.kill()
        receiver.close()
