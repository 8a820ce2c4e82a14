"""Say in words what tells two pages apart."""

from typing import Final

from crawldedup.marks.relation import Conflict
from crawldedup.marks.values import ShownMarks

KINDS: Final = {
    Conflict.NUMBERS: "other numbers",
    Conflict.NAME: "another name",
    Conflict.PICTURE: "another lead picture",
    Conflict.PLAYER: "another player",
    Conflict.DATA: "other data",
    Conflict.LISTING: "a list of other pages",
    Conflict.TEXT: "another text at an address of the same form",
    Conflict.LINKS: "other links at an address of the same form",
}
"""What each kind of conflict means."""


_WORDS_OF: Final = {conflict.name.lower(): words for conflict, words in KINDS.items()}


def is_kind(name: str) -> bool:
    """Return whether this is the name of a kind of conflict, such as "picture"."""
    return name in _WORDS_OF


def kind_in_words(name: str) -> str:
    """Return what the name of a kind of conflict means. Any other name is returned."""
    return _WORDS_OF.get(name, name)


def reason_of(conflict: Conflict, first: ShownMarks, second: ShownMarks) -> str:
    """Return what tells two pages apart, with the marks that do: "another name, x and y"."""
    words = KINDS[conflict]
    values = _values(conflict, first, second)
    if values is None:
        return words
    return f"{words}, {values[0]} and {values[1]}"


def _values(conflict: Conflict, first: ShownMarks, second: ShownMarks) -> tuple[str, str] | None:
    if conflict is Conflict.NAME:
        return f'"{first.name}"', f'"{second.name}"'
    if conflict is Conflict.PICTURE:
        return first.pictures[0], second.pictures[0]
    if conflict is Conflict.PLAYER:
        return first.players[0], second.players[0]
    if conflict is Conflict.DATA:
        other = dict(second.data)
        for name, value in first.data:
            if other.get(name, value) != value:
                return f"{name} {value}", other[name]
    return None
