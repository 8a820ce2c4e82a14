"""Say in words which mark tells two pages apart, for logs and reports."""

from dataclasses import replace
from typing import Final

from crawldedup.marks.relation import Conflict
from crawldedup.marks.values import ShownMarks, best_name

KINDS: Final = {
    Conflict.NUMBERS: "other numbers",
    Conflict.NAME: "another name",
    Conflict.PICTURE: "another lead picture",
    Conflict.PLAYER: "another player",
    Conflict.DATA: "other data",
    Conflict.LISTING: "a list of other pages",
    Conflict.TEXT: "another text at an address of the same form",
    Conflict.LINKS: "other links at an address of the same form",
    Conflict.REST: "another text outside the main text, at an address of the same form",
}
"""The words for each kind of conflict."""


_LONGEST_SHOWN: Final = 100
_WORDS_OF: Final = {conflict.name.lower(): words for conflict, words in KINDS.items()}


def is_kind(name: str) -> bool:
    """Return whether this is the name of a kind of conflict, such as "picture"."""
    return name in _WORDS_OF


def kind_in_words(name: str) -> str:
    """Return the words for a kind of conflict. Any other name is returned as it is."""
    return _WORDS_OF.get(name, name)


def brief(marks: ShownMarks) -> ShownMarks:
    """Shorten a page's marks to what `reason_of` needs: usually 200 bytes, and at most 3 KB.

    Long values are cut off. The result can always be encoded as UTF-8.
    """
    best = best_name(marks.names)
    return replace(
        marks,
        names=() if best is None else (best._replace(words=_cut(best.words)),),
        pictures=tuple([_cut(picture) for picture in marks.pictures[:1]]),
        players=tuple([_cut(player) for player in marks.players[:1]]),
        data=tuple([(_cut(name), _cut(value)) for name, value in marks.data]),
        text=None,
        links=(),
        numbers=None,
        comments=(),
        remarks=(),
        rest=None,
    )


def _cut(value: str) -> str:
    if len(value) > _LONGEST_SHOWN:
        value = f"{value[: _LONGEST_SHOWN - 1]}…"
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


def reason_of(conflict: Conflict, first: ShownMarks, second: ShownMarks) -> str:
    """Return what tells two pages apart, together with the marks, as in "another name, x and y".

    The marks are left out if one of the pages doesn't show them, because an index may have learned
    them from copies of that page.
    """
    words = KINDS[conflict]
    values = _values(conflict, first, second)
    if values is None:
        return words
    return f"{words}, {values[0]} and {values[1]}"


def _values(conflict: Conflict, first: ShownMarks, second: ShownMarks) -> tuple[str, str] | None:
    if conflict is Conflict.NAME and first.name and second.name and first.name != second.name:
        return f'"{first.name}"', f'"{second.name}"'
    if conflict is Conflict.PICTURE and first.pictures and second.pictures:
        return first.pictures[0], second.pictures[0]
    if conflict is Conflict.PLAYER and first.players and second.players:
        return first.players[0], second.players[0]
    if conflict is Conflict.DATA:
        other = dict(second.data)
        for name, value in first.data:
            if other.get(name, value) != value:
                return f"{name} {value}", other[name]
    return None
