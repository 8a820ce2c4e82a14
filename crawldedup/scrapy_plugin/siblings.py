"""Say in words what keeps pages of a crawl apart although they look alike, for the journal."""

from typing import Final

from crawldedup.aio import Judged
from crawldedup.marks.reasons import reason_of
from crawldedup.marks.relation import Conflict
from crawldedup.marks.values import ShownMarks
from crawldedup.recent import put_last
from crawldedup.text import printable
from crawldedup.verdict import mark_of_sibling

_MOST_PAGES: Final = 5_000  # some 1 KB each
_LONGEST_REASON: Final = 300


class SiblingReasons:
    """Remembers what the last pages of a crawl show, in order to say how siblings differ.

    An index only has hashes, so a reason can name the marks of two pages only if this crawler has
    seen both.
    """

    def __init__(self) -> None:
        # Keyed by hashes of the URLs; the most recently used come last.
        self._shown: dict[int, ShownMarks] = {}

    def add(self, judged: Judged) -> str | None:
        """Note the marks of a page, and say in words what keeps it apart from its sibling.

        The words are safe to show. The result is None if the page has no sibling.
        """
        verdict = judged.verdict
        marks = judged.read.marks
        mark = mark_of_sibling(verdict)
        reason = None
        if mark is not None:
            sibling = self._shown_by(verdict.rejected or "")
            reason = reason_of(Conflict[mark.upper()], sibling, marks or ShownMarks())
        # Nothing keeps a page apart from its copy.
        if marks is not None and (not verdict.is_duplicate or verdict.replaces):
            put_last(self._shown, hash(verdict.url), marks, _MOST_PAGES)
        return None if reason is None else printable(reason, _LONGEST_REASON)

    def _shown_by(self, url: str) -> ShownMarks:
        """Return the marks of an earlier page, or no marks if they are no longer known."""
        key = hash(url)
        marks = self._shown.get(key)
        if marks is None:
            return ShownMarks()
        put_last(self._shown, key, marks, _MOST_PAGES)
        return marks
