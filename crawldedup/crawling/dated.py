"""Recognize pages that only differ in a date, such as the empty months of a calendar."""

from typing import Final

from crawldedup.crawling.walls import dated_name
from crawldedup.fingerprinting.bits import Fingerprint
from crawldedup.reading.reader import ReadPage
from crawldedup.recent import put_last
from crawldedup.search.decision import estimate_similarity

_ALIKE: Final = 0.5
"""The minimum similarity. It is low because a date or address weighs a lot on a short page."""

_MOST_NAMES: Final = 1_000


def are_alike(one: Fingerprint, other: Fingerprint) -> bool:
    """Return whether two pages have most of their words in common.

    For pages with few words, it is only True if their texts are equal.
    """
    if one.digest == other.digest:
        return True
    if one.thin or other.thin or one.key_id != other.key_id:
        return False
    return estimate_similarity(other.verify_weights, other.verify, one.verify) >= _ALIKE


class DatedPages:
    """Remembers the first page of each name. Names that only differ in a date are the same."""

    def __init__(self) -> None:
        self._first: dict[str, Fingerprint] = {}

    def repeats(self, url: str, read: ReadPage) -> bool:
        """Return whether a page says the same as an earlier one, except for the date.

        This is not so for the minutes of two meetings. If both pages have too few words to compare,
        equal names are enough.
        """
        name = dated_name(url, read.marks)
        if name is None:
            return False
        first = self._first.get(name)
        put_last(self._first, name, first or read.fingerprint, _MOST_NAMES)
        if first is None:
            return False
        return (first.thin and read.fingerprint.thin) or are_alike(first, read.fingerprint)
