"""Write journals of crawls that never were: of news, a shop, a forum, a calendar, and hostile URLs."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from crawldedup import __version__

STARTED: Final = 1_795_000_000.0
THRESHOLD: Final = 0.86
_LONGEST: Final = 2048

HOSTILE_URLS: Final = (
    "https://evil.example/<script>window.broken=1</script>",
    "https://evil.example/?q=\"onmouseover='window.broken=1'",
    "javascript:window.broken=1//https://evil.example/",
    "https://evil.example/\u202egpj.exe\u2066\u200f",
    '=HYPERLINK("https://evil.example/","x")',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1+1)",
    "\t=1+1",
    "https://evil.example/\x1b[2J\x1b]0;owned\x07",
    "https://evil.example/{{7*7}}/{% raw %}/[red]",
    "https://evil.example/" + "a" * 10_000,
    "https://[::1/]]>--><svg/onload=window.broken=1>",
)

Line = dict[str, Any]


def page(url: str, outcome: str = "new", **values: Any) -> Line:
    """Return what a journal says of a page."""
    return {"t": 1, "url": url, "outcome": outcome, **values}


def copy(url: str, original: str, **values: Any) -> Line:
    return page(url, "exact", original=original, similarity=1, **values)


@dataclass(frozen=True, slots=True)
class Crawl:
    """What is in a journal.

    Crawls of one `edition` find the same texts; later ones differ a little.
    """

    pages: int
    name: str = "news-20261122T090000"
    pid: int = 100
    edition: int = 1
    ended: bool = True


def write_lines(path: Path, lines: Iterable[Line]) -> None:
    with path.open("w", encoding="ascii") as file:
        for line in lines:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")


def header(
    name: str = "news", *, pid: int = 100, started: float = STARTED, **settings: Any
) -> Line:
    """Return the first line of a journal."""
    return {
        "crawldedup_journal": 1,
        "crawl": name,
        "spider": "news",
        "started": started,
        **{"host": "crawler-1", "pid": pid, "version": __version__, "known": 0},
        "settings": {
            "store": "redis://r:6379/0",
            "namespace": "news",
            "similarity": 0.9,
            "threshold": THRESHOLD,
        }
        | settings,
    }


def journal(crawl: Crawl) -> Iterator[Line]:
    """Yield the lines of a journal: more and more pages are copies towards its end."""
    random = Random(f"{crawl.pid} {crawl.edition}")
    yield header(crawl.name, pid=crawl.pid, started=STARTED + 86_400 * crawl.edition)
    for number in range(crawl.pages):
        seconds = number / 40
        cost = {
            "latency": random.expovariate(5),
            "waited": 0.01,
            "read": 0.004,
            "store": 0.001,
            "probes": 40,
        }
        line = _page(number, crawl, random)
        more = {"t": seconds, "bytes": random.randrange(40_000), "status": 200, "depth": number % 9}
        yield {**line, **more, **cost, "action": "items_dropped"}
        if number % 50 == 0:
            yield {"t": seconds, "known": number, "queued": 5000 - number}
        if number == crawl.pages * 2 // 3:
            yield {
                "t": seconds,
                "wall": "https://members.example/login",
                "share": 0.62,
                "window": 100,
            }
    if crawl.ended:
        yield {
            "t": crawl.pages / 40,
            "end": "finished",
            "stats": {"crawldedup/checked": crawl.pages},
        }


def _page(number: int, crawl: Crawl, random: Random) -> Line:
    draw, story = random.random(), random.randrange(number // 3 + 1)
    news, thread = (
        f"https://news.example/story-{story}",
        f"https://forum.example/thread.php?id={story}",
    )
    if draw < 0.02:
        return page(f"{news}.jpg", "skipped", reason="content_type")
    if draw < 0.03:
        return page(f"https://shop.example/{story}", "error", reason="unavailable")
    if draw < 0.1 + 0.2 * number / crawl.pages:
        month = f"{2000 + random.randrange(900)}/{random.randrange(1, 13):02}/"
        return copy(
            f"https://town.example/calendar/{month}", "https://town.example/calendar/2026/11/"
        )
    if draw < 0.4:
        return copy(f"{thread}&sid={random.getrandbits(128):032x}", thread)
    if draw < 0.5:
        similarity = round(THRESHOLD + (1 - THRESHOLD) * random.random(), 3)
        near = {"original": "https://shop.example/p/", "similarity": similarity}
        return page(f"https://shop.example/p/{story}?color={number % 7}", "near", **near)
    url = f"https://news.example/{crawl.edition if number % 30 == 3 else 1}/story-{number}"
    outcome = "revisit" if draw > 0.97 else "thin" if draw > 0.95 else "new"
    return page(url, outcome, words=200, digest=f"{number:x}", referer=news)


def _kept_apart(url: str, text: str) -> Line:
    told = {"rejected_url": text, "rejected_similarity": 1.0, "rejected_by": "picture"}
    return page(url, **told, apart=text)


def hostile_lines() -> list[Line]:
    """Return lines whose every text comes from a hostile page."""
    lines: list[Line] = []
    for url in HOSTILE_URLS:
        cut = url if len(url) <= _LONGEST else f"{url[: _LONGEST - 9]}01234567…"
        texts = dict.fromkeys(("original", "referer", "action"), cut)
        copy = {**texts, "similarity": 0.9, "difference": f"[-{cut}-]", "bytes": 10, "latency": 0.1}
        lines += [
            {"t": 1, "url": f"https://fine.example/?{cut}", "outcome": "new", "digest": cut},
            {"t": 2, "url": cut, "outcome": "near", **copy},
            {"t": 3, "url": cut, "outcome": "skipped", "reason": cut},
            _kept_apart(f"https://fine.example/p/{cut}", cut),
            *(_kept_apart(cut, cut) for _ in range(12)),
            {"t": 4, "wall": cut, "share": 0.9, "window": 100},
            {"t": 4, "skipped": f"https://fine.example/{cut}", "rule": cut},
        ]
    ends = "".join(HOSTILE_URLS[:5])
    return [*lines, {"t": 5, "end": ends, "stats": {ends: ends, "crawldedup/checked": 5}}]
