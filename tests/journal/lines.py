"""Headers and lines to write journals of."""

from __future__ import annotations

from typing import Any

START = 1_795_000_000.0


def header(crawl: str, *, started: float = START, pid: int = 1) -> dict[str, Any]:
    return {
        "crawldedup_journal": 1,
        "crawl": crawl,
        "spider": "news",
        "started": started,
        "host": "host",
        "pid": pid,
    }


def page(number: int) -> dict[str, Any]:
    return {"t": 0.5, "url": f"https://e.com/{number}", "outcome": "new"}


END = {
    "t": 1,
    "end": "finished",
    "stats": {"crawldedup/checked": 1, "crawldedup/skipped/status": 1},
}
