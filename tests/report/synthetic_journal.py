"""Write journals of crawls that never were: of news, manuals, a shop, a forum, a calendar, and hostile URLs."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from crawldedup import __version__

STARTED: Final = 1_795_000_000.0
THRESHOLD: Final = 0.86
PAGES_A_SECOND: Final = 40

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
    "https://evil.example/\ufffd\x00\ufffe",
    "data:text/html,<script>window.broken=1</script>",
    "https://[::1/]]>--><svg/onload=window.broken=1>",
    "https://evil.example/?" + "&".join(f"p{number}={number}" for number in range(300)),
)

Line = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Crawl:
    """What is in a journal. Crawls of one `edition` find the same texts; later ones differ a little."""

    pages: int
    name: str = "news-20261122T090000"
    pid: int = 100
    edition: int = 1
    ended: bool = True
    is_hostile: bool = False


def write_journal(path: Path, crawl: Crawl) -> None:
    """Write one journal."""
    write_lines(path, journal(crawl))


def write_lines(path: Path, lines: Iterable[Line]) -> None:
    with path.open("w", encoding="ascii") as file:
        for line in lines:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")


def header(name: str = "news", *, pid: int = 100, started: float = STARTED, **changes: Any) -> Line:
    """Return the first line of a journal."""
    return {
        "crawldedup_journal": 1,
        "crawl": name,
        "spider": "news",
        "started": started,
        "host": "crawler-1",
        "pid": pid,
        "version": __version__,
        "known": 0,
        "settings": {
            "store": "redis://redis.example:6379/0",
            "namespace": "news",
            "action": "drop-items",
            "similarity": 0.9,
            "threshold": THRESHOLD,
            "extractor": "trafilatura",
            "workers": 2,
        },
        **changes,
    }


def journal(crawl: Crawl) -> Iterator[Line]:
    """Yield the lines of a journal."""
    random = Random(f"{crawl.pid} {crawl.edition}")
    yield header(crawl.name, pid=crawl.pid, started=STARTED + 86_400 * crawl.edition)
    known = 0
    seconds = 0.0
    for number in range(crawl.pages):
        seconds = round(number / PAGES_A_SECOND, 3)
        line = _page(number, crawl, random)
        known += line["outcome"] == "new"
        yield {"t": seconds, **line, **_cost(line, random)}
        if number % (10 * PAGES_A_SECOND) == 0:
            yield {"t": seconds, "known": known, "queued": 5000 - number % 4000}
        if number == crawl.pages * 2 // 3:
            yield {"t": seconds, "wall": "https://members.example/login", "share": 0.62, "window": 100}
    if crawl.is_hostile:
        for url in HOSTILE_URLS:
            cut = url if len(url) <= 2048 else f"{url[:2038]}…{len(url)}"
            copy = {"outcome": "near", "original": cut, "similarity": 0.9, "referer": cut, "reason": cut, "copies": 1}
            yield {"t": seconds, "url": cut, "bytes": 10, "status": 200, **copy}
            yield {"t": seconds, "wall": cut, "share": 0.9, "window": 100}
    if crawl.ended:
        stats = {"crawldedup/checked": crawl.pages, "crawldedup/new": known, "memusage/max": 2**28}
        yield {"t": seconds, "end": "finished", "stats": stats}


def _page(number: int, crawl: Crawl, random: Random) -> Line:
    """Return the verdict on one page: novelty falls towards the end, where the calendar has no end."""
    done = number / max(1, crawl.pages)
    draw = random.random()
    if draw < 0.012:
        return {"url": f"https://news.example/media/{number}.jpg", "outcome": "skipped", "reason": "content_type"}
    if draw < 0.02:
        return {"url": f"https://news.example/old/{number}", "outcome": "skipped", "reason": "http_404", "status": 404}
    if draw < 0.023:
        return {"url": f"https://shop.example/p/{number}", "outcome": "error", "reason": "unavailable"}
    if draw < 0.05 + 0.2 * done * done:
        month = random.randrange(12 * 900)
        page = f"https://town.example/calendar/{2000 + month // 12}/{1 + month % 12:02}/"
        return _copy(page, "https://town.example/calendar/2026/11/", random, exact=0.9)
    if done > 0.62 and draw < 0.3:
        return _copy(f"https://members.example/topic/{number}", "https://members.example/login", random, exact=1)
    room = random.choice(_ROOMS)
    # Stories are found ever more rarely: what is asked for again was seen before.
    story = number if random.random() > 0.15 + 0.7 * done else random.randrange(max(1, number))
    return room(story, story == number, crawl.edition, random)


def _news(story: int, is_first: bool, edition: int, random: Random) -> Line:
    url = f"https://news.example/2026/{1 + story % 12:02}/story-about-{story % 977}-and-{story}"
    if is_first:
        return _new(url, story, edition)
    view = random.choice(("?utm_source=feed", "?utm_source=mail", "/print", "/amp"))
    return _copy(url + view, url, random, exact=0.5)


def _manual(story: int, is_first: bool, edition: int, random: Random) -> Line:
    page = f"docs.example/en/manual/chapter-{story % 40}/section-{story}.html"
    if is_first:
        return _new(f"https://{page}", story, edition)
    return _copy(f"https://mirror{random.randrange(3)}.{page}", f"https://{page}", random, exact=0.8)


def _shop(story: int, is_first: bool, edition: int, random: Random) -> Line:
    url = f"https://shop.example/p/{story}"
    if is_first:
        return _new(url, story, edition)
    if random.random() < 0.1:
        return {"url": url, "outcome": "revisit", "original": url, "digest": _digest(story, edition), "words": 200}
    return _copy(f"{url}?sort={random.choice(('price', 'name'))}&color={story % 7}", url, random, exact=0.1)


def _forum(story: int, is_first: bool, edition: int, random: Random) -> Line:
    url = f"https://forum.example/thread.php?id={story}"
    if is_first:
        return _new(url, story, edition)
    return _copy(f"{url}&sid={random.getrandbits(128):032x}", url, random, exact=0.3)


_ROOMS: Final = (_news, _news, _manual, _shop, _forum)


def _new(url: str, story: int, edition: int) -> Line:
    if story % 50 == 7:
        return {"url": url, "outcome": "thin", "words": 9, "action": "delivered", "digest": _digest(story, edition)}
    if edition > 1 and story % 30 == 3:
        url = url.replace("://", f"://e{edition}.")
    return {"url": url, "outcome": "new", "words": 200 + story % 900, "digest": _digest(story, edition)}


def _digest(story: int, edition: int) -> str:
    return f"{(story * 0x9E3779B97F4A7C15 + (edition if story % 20 == 0 else 0)) % 2**64:016x}"


def _copy(url: str, original: str, random: Random, *, exact: float) -> Line:
    copy = {
        "url": url,
        "original": original,
        "copies": 1 + random.randrange(9),
        "words": 300,
        "action": "items_dropped",
    }
    if random.random() < exact:
        return {"outcome": "exact", "similarity": 1.0, **copy}
    similarity = round(1 - (1 - THRESHOLD) * random.random() ** 1.6, 3)
    return {"outcome": "near", "similarity": similarity, "hamming": int(90 * (1 - similarity)), **copy}


def _cost(line: Line, random: Random) -> Line:
    cost = {
        "bytes": 8000 + random.randrange(40_000),
        "status": line.get("status", 200),
        "referer": line["url"].rpartition("/")[0] + "/",
        "depth": random.randrange(1, 9),
        "latency": round(random.expovariate(5), 3),
    }
    if "words" in line:
        cost |= {
            "waited": round(0.004 + random.expovariate(200), 4),
            "read": round(0.003 + random.expovariate(400), 4),
            "store": round(random.expovariate(2000), 4),
            "probes": random.randrange(32, 64),
            "candidates": int(random.expovariate(0.3)),
        }
    return cost
