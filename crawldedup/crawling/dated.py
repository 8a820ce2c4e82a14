"""Recognize pages that differ in little but a date, such as the empty months of a calendar."""

from typing import Final

from crawldedup.crawling.walls import dated_name
from crawldedup.fingerprinting.bits import Fingerprint
from crawldedup.reading.reader import ReadPage
from crawldedup.recent import put_last
from crawldedup.search.decision import estimate_similarity

_ALIKE: Final = 0.5
"""Pages of a few words are less alike if they repeat an address or a date."""

_MOST_NAMES: Final = 1_000


def are_alike(one: Fingerprint, other: Fingerprint) -> bool:
    """Return whether two pages share most of their words. Pages with too few words do not."""
    if one.digest == other.digest:
        return True
    if one.thin or other.thin or one.key_id != other.key_id:
        return False
    return estimate_similarity(other.verify_weights, other.verify, one.verify) >= _ALIKE


class DatedPages:
    """Knows the first page of each name, but for the date in it."""

    def __init__(self) -> None:
        self._first: dict[str, Fingerprint] = {}

    def repeats(self, url: str, read: ReadPage) -> bool:
        """Return whether a page says what an earlier one says, but for the date.

        The minutes of two meetings do not. Of pages with too few words, the names decide.
        """
        name = dated_name(url, read.marks)
        if name is None:
            return False
        first = self._first.get(name)
        put_last(self._first, name, first or read.fingerprint, _MOST_NAMES)
        if first is None:
            return False
        return (first.thin and read.fingerprint.thin) or are_alike(first, read.fingerprint)
