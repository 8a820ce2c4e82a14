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
_MOST_PAGES: Final = 4  # of a name, the last ones that said something new


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
    """Remembers a few pages of each name. Names that only differ in a date are the same.

    A calendar is entered at the current month, which is likely to have events, so its first page
    alone isn't enough.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[Fingerprint, ...]] = {}

    def repeats(self, url: str, read: ReadPage) -> bool:
        """Return whether a page says the same as an earlier one, except for the date.

        Both need the same name, apart from the date, and most of their words in common. The minutes
        of two meetings have the same name but different words, so they don't repeat each other. If
        both pages have too few words to compare, the name is enough. A page that has a date in its
        name, and repeats none, is remembered.
        """
        name = dated_name(url, read.marks)
        if name is None:
            return False
        page = read.fingerprint
        known = self._known.get(name, ())
        is_repeated = any((one.thin and page.thin) or are_alike(one, page) for one in known)
        if not is_repeated:
            known = (*known, page)[-_MOST_PAGES:]
        put_last(self._known, name, known, _MOST_NAMES)
        return is_repeated
