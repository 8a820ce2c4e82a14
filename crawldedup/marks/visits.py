"""Compare the marks of a page with those of an earlier visit to find out what has changed."""

from typing import Final

from crawldedup.key import Key
from crawldedup.marks.packing import unpacked
from crawldedup.marks.reasons import brief
from crawldedup.marks.relation import Conflict, have_new_comments, shown_conflicts
from crawldedup.marks.values import (
    AVAILABILITY,
    AVAILABILITY_HASH,
    MOST_LINKS,
    ContentMarks,
    Datum,
    ShownMarks,
)

_MOST_VALUES: Final = 4
"""The maximum number of changed values to list for a page."""


def shows_new_comments(marks: bytes, before: bytes) -> bool:
    """Return whether the visitors' comments on a page differ from those at an earlier visit.

    A page without comments may have failed to load them, so it has no new ones.

    Args:
        marks: The packed marks of the page.
        before: Those of the earlier visit.
    """
    own = unpacked(marks)
    other = unpacked(before)
    if own is None or other is None:
        return False
    return have_new_comments(own.content, other.content)


def changes_between(marks: bytes, before: bytes) -> tuple[str, ...]:
    """Return the kinds of marks that have changed since an earlier visit, such as "data".

    A change of the availability is called "availability", not "data".

    Args:
        marks: The packed marks of the page.
        before: Those of the earlier visit.
    """
    own = unpacked(marks)
    other = unpacked(before)
    if own is None or other is None:
        return ()
    changes: list[str] = []
    for conflict in shown_conflicts(own.content, other.content):
        if conflict is Conflict.DATA:
            changes += _changed_data(own.content, other.content)
        else:
            changes.append(conflict.name.lower())
    # Comments that used to be part of the text aren't new just because the text has become long
    # enough to do without them.
    if not other.content.comments_are_text and have_new_comments(own.content, other.content):
        changes.append("comments")
    return tuple(changes)


def _changed_data(marks: ContentMarks, before: ContentMarks) -> list[str]:
    """Return which declared values have changed: "data", "availability", or both."""
    names = [datum.name for datum in _new_data(marks, before)]
    called = []
    if any(name != AVAILABILITY_HASH for name in names):
        called.append(Conflict.DATA.name.lower())
    if AVAILABILITY_HASH in names:
        called.append(AVAILABILITY)
    return called


def _new_data(marks: ContentMarks, before: ContentMarks) -> list[Datum]:
    """Return the declared values that differ from those of the earlier visit with the same name."""
    earlier = dict(before.data)
    return [datum for datum in marks.data if earlier.get(datum.name, datum.value) != datum.value]


def new_values(marks: bytes, before: bytes, shown: ShownMarks, key: Key) -> tuple[str, ...]:
    """Return the new values of marks that have changed since an earlier visit, in words.

    An index only has hashes, so the earlier values aren't known, except for the length of a list.
    Long values are cut off.

    Args:
        marks: The packed marks of the page.
        before: Those of the earlier visit.
        shown: The marks as the page shows them.
        key: The key of the index.

    Returns:
        Up to four phrases, such as "price now 64.90".
    """
    own = unpacked(marks)
    other = unpacked(before)
    if own is None or other is None:
        return ()
    shown = brief(shown)
    values: list[str] = []
    for conflict in shown_conflicts(own.content, other.content):
        if conflict is Conflict.LISTING:
            values += _new_length(own.content, other.content)
        elif conflict is Conflict.NAME and shown.name:
            values.append(f'name now "{shown.name}"')
        elif conflict is Conflict.PICTURE and shown.pictures:
            values.append(f"lead picture now {shown.pictures[0]}")
        elif conflict is Conflict.PLAYER and shown.players:
            values.append(f"player now {shown.players[0]}")
        elif conflict is Conflict.DATA:
            values += _new_data_in_words(own.content, other.content, shown, key)
    return tuple(values[:_MOST_VALUES])


def _new_length(marks: ContentMarks, before: ContentMarks) -> list[str]:
    """Return how many links a changed list has and had, in words.

    The result is empty if the number is the same, or if there are too many to count.
    """
    if marks.links == before.links or MOST_LINKS in (marks.links, before.links):
        return []
    return [f"{marks.links} links now, {before.links} before"]


def _new_data_in_words(
    marks: ContentMarks, before: ContentMarks, shown: ShownMarks, key: Key
) -> list[str]:
    """Return the new values of changed declared values, as in "price now 64.90"."""
    changed = {datum.name for datum in _new_data(marks, before)}
    hashed = shown.hashed(key).data
    return [
        f"{name} now {value}"
        for (name, value), datum in zip(shown.data, hashed, strict=True)
        if datum.name in changed
    ]
