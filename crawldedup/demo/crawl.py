"""Runs a crawl in a process of its own, so that no reactor is left behind in the caller's."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

from crawldedup.errors import ConfigurationError, CrawlDedupError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# -P keeps modules in the current directory from being imported instead of the standard library's.
_BOOT = (
    "import json, sys; task = json.load(sys.stdin); sys.path[:] = task['path']; "
    "from crawldedup.demo.worker import main; main(task)"
)
# How the middleware ends a crawl whose pages cannot be judged at all.
CLOSE_REASON = "crawldedup_error"
_END_LIMIT_SECONDS = 10.0
_SHOWN_LOG_CHARACTERS = 2000


class CrawlError(CrawlDedupError):
    """The crawl's process died, or crawldedup could not judge its pages; the message holds the log's end."""


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


@dataclass(frozen=True, slots=True)
class Kept:
    """A page reached the spider."""

    url: str
    title: str


Listener = Callable[[Judged | Kept], None]


@dataclass(slots=True)
class CrawlOutcome:
    """What happened, in the order in which it happened, Scrapy's stats, and the end of its log."""

    judged: list[Judged] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    stats: dict[str, Any] = field(default_factory=dict)
    reason: str = ""
    log: str = ""


def run_crawl(
    start_urls: Sequence[str],
    settings: Mapping[str, Any],
    *,
    on_event: Listener | None = None,
    verbose: bool = False,
) -> CrawlOutcome:
    """Crawl from these URLs with Scrapy's `settings`, and call `on_event` for every page while it runs.

    With `verbose`, the crawl's log goes to stderr. Raises `ConfigurationError` for settings that crawldedup
    refuses, and `CrawlError` if the process dies or the filter cannot work.
    """
    task = {"path": sys.path, "start_urls": list(start_urls), "settings": dict(settings)}
    outcome = CrawlOutcome()
    with _crawl_process(task, verbose=verbose) as (events, log_tail):
        for line in events:
            message: dict[str, Any] = json.loads(line)
            match message.pop("event"):
                case "judged":
                    judged = Judged(**message)
                    outcome.judged.append(judged)
                    if on_event is not None:
                        on_event(judged)
                case "kept":
                    kept = Kept(**message)
                    outcome.kept.append(kept)
                    if on_event is not None:
                        on_event(kept)
                case "refused":
                    raise ConfigurationError(message["message"])
                case "end":
                    outcome.stats, outcome.reason = message["stats"], message["reason"]
        outcome.log = log_tail()
        if not outcome.reason:
            raise CrawlError(f"The crawl's process ended too early. {_log_shown(outcome.log)}")
        if outcome.reason == CLOSE_REASON:
            raise CrawlError(f"crawldedup could not work. {_log_shown(outcome.log)}")
    return outcome


def _log_shown(log: str) -> str:
    return f"The end of its log:\n{log}" if log else "The log above says why."


@contextlib.contextmanager
def _crawl_process(task: Mapping[str, Any], *, verbose: bool) -> Iterator[tuple[IO[bytes], Callable[[], str]]]:
    """Start the process; gives its lines, and a function that reads the end of its log."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _BOOT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if verbose else log,
        )
        assert process.stdin is not None
        assert process.stdout is not None

        def log_tail() -> str:
            log.seek(0)
            return log.read().decode(errors="replace")[-_SHOWN_LOG_CHARACTERS:].strip()

        try:
            # A process that died at once has said why in its log, and `run_crawl` tells.
            with contextlib.suppress(BrokenPipeError), process.stdin:
                process.stdin.write(json.dumps(task).encode())
            yield process.stdout, log_tail
        except BaseException:
            # Ctrl-C above all: nobody waits for the rest of the crawl.
            process.terminate()
            raise
        finally:
            process.stdout.close()
            try:
                process.wait(_END_LIMIT_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
