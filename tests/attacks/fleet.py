"""Fleets whose crawlers are killed while they work, and the judge who says what that lost and what
came twice.

A successor of a crawler that was killed goes on with its queue, from the first page that is not in
its record. A page is delivered when its line is in that record: the line is written before the
library is told.
"""

import os
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Final, NamedTuple

from crawldedup import Deduplicator, Page
from tests.scrapy_plugin.prepared import CONTEXT

BATCH: Final = 20
"""Every second crawler asks about so many pages at once, which are all remembered before the first
is delivered.
"""
_COPIES: Final = 5
# Copies of a content come within so many contents of each other.
_SPREAD: Final = 20
_VOCABULARY: Final = [f"word{number}" for number in range(3000)]

Place = tuple[int, int]
"""A content, and which of its copies.

The copies of even contents are exact, those of odd ones near duplicates.
"""


def url_of(place: Place) -> str:
    content, copy = place
    return f"https://site{copy}.example/{content}"


def text_of(place: Place) -> str:
    content, copy = place
    words = random.Random(content).choices(_VOCABULARY, k=120)
    if content % 2 and copy:
        words[60 + copy] = f"edit{copy}"
    return " ".join(words)


@dataclass(frozen=True)
class Queue:
    """The pages of one crawler, and where it records what came of them.

    It asks about `batch` of them at once.
    """

    store: str
    places: Sequence[Place]
    record: Path
    batch: int
    pause: float

    def left(self) -> list[Place]:
        """The pages that nothing is recorded about."""
        done = {line.place for line in lines_of(self.record)}
        return [place for place in self.places if place not in done]


class Line(NamedTuple):
    """What came of a page, when, and in which process."""

    place: Place
    is_delivered: bool
    time: int
    process: int


def lines_of(record: Path) -> Iterator[Line]:
    for text in record.read_text().splitlines() if record.exists() else ():
        content, copy, is_delivered, written, process = map(int, text.split())
        yield Line((content, copy), bool(is_delivered), written, process)


def work(queue: Queue, life: int) -> None:
    """Work off what is left of a queue."""
    record = os.open(queue.record, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with Deduplicator(queue.store, expected_pages=10_000) as dedup:
        left = queue.left()
        pages = (Page(url_of(place), text=text_of(place), delivered=False) for place in left)
        for place, verdict in zip(left, dedup.check_many(pages, batch=queue.batch), strict=True):
            is_delivered = not verdict.is_duplicate
            os.write(
                record,
                f"{place[0]} {place[1]} {int(is_delivered)} {time.monotonic_ns()} {life}\n".encode(),
            )
            if is_delivered:
                dedup.deliver(url_of(place))
            time.sleep(queue.pause)


class Outcome(NamedTuple):
    """What came of a fleet's pages.

    `lost` are the contents that nobody delivered, `unanswered` the pages of which nothing is
    recorded. Of the exact contents that came `twice`, each time beyond the first counts; `needless`
    are those that no kill explains.
    """

    contents: int
    kills: int
    lost: int
    unanswered: int
    twice: int
    needless: int


def judge(queues: Sequence[Queue], killed: set[int], *, untold: int) -> Outcome:
    """Say what came of the pages. A process tells `untold` deliveries at once, at most."""
    delivered: dict[int, list[Line]] = defaultdict(list)
    excused: set[Line] = set()
    for queue in queues:
        lines = [line for line in lines_of(queue.record) if line.is_delivered]
        for line in lines:
            delivered[line.place[0]].append(line)
        for process in killed:
            excused.update(
                [line for line in lines if line.process == process][-max(untold, queue.batch) :]
            )
    contents = {content for queue in queues for content, _ in queue.places}
    unanswered = sum(len(queue.left()) for queue in queues)
    exact = [
        sorted(lines, key=lambda line: line.time)
        for content, lines in delivered.items()
        if content % 2 == 0
    ]
    twice = [line for lines in exact for line in lines[:-1]]
    needless = [line for line in twice if line not in excused]
    lost = len(contents - delivered.keys())
    return Outcome(len(contents), len(killed), lost, unanswered, len(twice), len(needless))


class Fleet:
    """Crawlers that share an index, are killed at random, and have successors."""

    def __init__(
        self, store: str, folder: Path, rng: random.Random, *, crawlers: int = 8, untold: int = 1
    ) -> None:
        self._store, self._folder, self._rng = store, folder, rng
        self._crawlers, self._untold = crawlers, untold
        self._lives = count(1)

    def crawl(self, contents: range, *, kills: int, every: float, pause: float = 0.003) -> Outcome:
        """Crawl contents that no earlier crawl of this fleet had.

        About `every` so many seconds a crawler is killed.
        """
        queues = self._queues(contents, pause)
        crawlers = [self._start(queue) for queue in queues]
        killed: set[int] = set()
        while any(process.is_alive() for process, _ in crawlers):
            time.sleep(self._rng.uniform(0, 2 * every))
            number = self._rng.randrange(len(crawlers))
            process, life = crawlers[number]
            if len(killed) < kills and process.is_alive():
                process.kill()
                process.join(60)
                if process.exitcode:
                    killed.add(life)
                    crawlers[number] = self._start(queues[number])
        for process, _ in crawlers:
            assert process.exitcode == 0, "a crawler ended with an error"
        return judge(queues, killed, untold=self._untold)

    def _queues(self, contents: range, pause: float) -> list[Queue]:
        places = [(content, copy) for content in contents for copy in range(_COPIES)]
        places.sort(key=lambda place: place[0] + self._rng.random() * _SPREAD)
        name = str(self._folder / str(contents.start))
        return [
            Queue(
                self._store,
                places[at :: self._crawlers],
                Path(f"{name}-{at}"),
                BATCH if at % 2 else 1,
                pause,
            )
            for at in range(self._crawlers)
        ]

    def _start(self, queue: Queue) -> tuple[ForkServerProcess, int]:
        life = next(self._lives)
        process = CONTEXT.Process(target=work, args=(queue, life), daemon=True)
        process.start()
        return process, life
