"""What `AsyncDeduplicator.judge` returns: a verdict, the content of the page, and timings."""

from typing import NamedTuple

from crawldedup.reading.reader import ReadPage
from crawldedup.verdict import Verdict


class Timings(NamedTuple):
    """The seconds that a page took: for reading, for the store, and in total, including waiting."""

    reading: float
    asking: float
    waiting: float


class Judged(NamedTuple):
    """A verdict, the content read from the page, and the time that both took."""

    verdict: Verdict
    read: ReadPage
    timings: Timings
