"""Use the marks of a page to find out what has changed since an earlier visit."""

from crawldedup.marks.packing import unpacked
from crawldedup.marks.relation import have_new_comments, shown_conflicts


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


def changes_between(marks: bytes, before: bytes) -> tuple[str, ...]:
    """Return which marks of a page have changed since an earlier visit, such as "data".

    Args:
        marks: The packed marks of the page.
        before: Those of the earlier visit.
    """
    own, other = unpacked(marks), unpacked(before)
    if own is None or other is None:
        return ()
    changes = [conflict.name.lower() for conflict in shown_conflicts(own.content, other.content)]
    if have_new_comments(own.content, other.content):
        changes.append("comments")
    return tuple(changes)
