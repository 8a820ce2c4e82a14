"""Use the marks of a page to find out what has changed since an earlier visit."""

from crawldedup.marks.packing import unpacked
from crawldedup.marks.relation import Conflict, have_new_comments, shown_conflicts
from crawldedup.marks.values import AVAILABILITY, AVAILABILITY_HASH, ContentMarks


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

    A change of the availability is called "availability", not "data".

    Args:
        marks: The packed marks of the page.
        before: Those of the earlier visit.
    """
    own, other = unpacked(marks), unpacked(before)
    if own is None or other is None:
        return ()
    changes: list[str] = []
    for conflict in shown_conflicts(own.content, other.content):
        if conflict is Conflict.DATA:
            changes += _changed_data(own.content, other.content)
        else:
            changes.append(conflict.name.lower())
    # Comments that were part of the text are known, although the text has become long enough since
    # to stand without them.
    if not other.content.comments_are_text and have_new_comments(own.content, other.content):
        changes.append("comments")
    return tuple(changes)


def _changed_data(marks: ContentMarks, before: ContentMarks) -> list[str]:
    """Return which data have changed: "data", "availability", or both."""
    earlier = dict(before.data)
    names = [name for name, value in marks.data if earlier.get(name, value) != value]
    called = []
    if any(name != AVAILABILITY_HASH for name in names):
        called.append(Conflict.DATA.name.lower())
    if AVAILABILITY_HASH in names:
        called.append(AVAILABILITY)
    return called
