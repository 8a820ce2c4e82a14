"""Tell what the marks of a page say about the time since an earlier visit."""

from crawldedup.marks.packing import unpacked
from crawldedup.marks.relation import have_new_comments


def shows_new_comments(marks: bytes, before: bytes) -> bool:
    """Return whether a page has comments below its text that it lacked at an earlier visit.

    Args:
        marks: The packed marks of the page.
        before: Those of the earlier visit.
    """
    own, other = unpacked(marks), unpacked(before)
    if own is None or other is None:
        return False
    return have_new_comments(own.content, other.content)
