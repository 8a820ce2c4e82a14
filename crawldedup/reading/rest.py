"""Read the rest of a page: its text outside the main text, if there is much of it.

Which part of a page is its main text is a guess. Even if the guess is wrong, and leaves out what
tells a page apart from others, the rest does: see `crawldedup.marks.relation`.
"""

import re
from collections.abc import Collection, Iterable, Set
from typing import Final

from crawldedup.reading.ages import without_ages
from crawldedup.reading.block_names import Label, is_called_consent
from crawldedup.reading.blocks import LeftOut, TextLine, blocks_in, kind_of
from crawldedup.reading.html import HtmlPage, tidy
from crawldedup.reading.mark_words import (
    about_words_of,
    has_digit,
    tells_when,
    without_visits,
    words_of,
)

_NAV: Final = kind_of("nav")
_LEAST_SHARE: Final = 0.2  # of the letters of the main text
_LEAST: Final = 150  # letters
# Of a longer rest, every letter counts, because splitting lines into words is slow.
_MOST_LETTERS: Final = 200_000
_LONGEST_NAME: Final = 200  # letters of a breadcrumb
_LINKED_SHARE: Final = 0.5
# A wiki notes like this which address led to a page: "(Redirected from Boats)".
_IN_PARENTHESES: Final = re.compile(r"\(.*\)")
_FEW_WORDS: Final = 8  # of a line such as "1,532 views", or with the date of today
_SPOKEN: Final = frozenset([Label.COMMENTS, Label.REPLY])


def rest_of(page: HtmlPage, main: str, names: Collection[str] = ()) -> str | None:
    """Return the text of a page outside its main text, or None if there is little.

    Comments and names have marks of their own. Links, dialogs about cookies and notes in
    parentheses don't count, nor do the numbers of visits and dates, nor the order of the lines.

    Args:
        page: The page.
        main: Its main text.
        names: The names of the page. Breadcrumbs end with one.
    """
    least = max(_LEAST, _LEAST_SHARE * len(main))
    if _most_letters(page) - len(main) < least:
        return None
    known = set(main.split("\n"))
    lines = _lines(page, known, least)
    if lines is None:
        return None
    said = list(set(tidy("\n".join(lines)).split("\n")) - known)
    letters = sum(map(len, said))
    if letters <= _MOST_LETTERS:
        endings = tuple(names)
        said = [line for line in said if not _is_note(line, endings)]
        letters = sum(map(len, said))
    if letters < least:
        return None
    if letters > _MOST_LETTERS:
        return "\n".join(sorted(said))
    return without_ages("\n".join(sorted({_steady(line) for line in said})))


def _is_note(line: str, endings: tuple[str, ...]) -> bool:
    """Return whether a line is in parentheses, or ends with a name of the page."""
    if _IN_PARENTHESES.fullmatch(line) is not None:
        return True
    # Few lines are as short as a name, and splitting a line into words is slow.
    return len(line) <= _LONGEST_NAME and words_of(line).endswith(endings)


def _steady(line: str) -> str:
    """Return a line without the numbers of visits and dates, or "" if it's only about these.

    A number or time that stands alone, as in a timetable, stays.
    """
    if not has_digit(line):
        return line
    words = about_words_of(line)
    if words <= 1:
        return line
    steady = without_visits(line)
    is_about_visits = steady != line or tells_when(line)
    return "" if is_about_visits and words <= _FEW_WORDS else steady


def _most_letters(page: HtmlPage) -> int:
    """Return about how many letters a page has at most, except for links. This is fast."""
    blocks = page.blocks
    walked = sum(map(len, _unlinked(blocks.lines)))
    return walked + sum([each.letters for each in blocks.left_out if _is_apart(each)])


def _lines(page: HtmlPage, known: Set[str], least: float) -> list[str] | None:
    """Return the lines of a page except links, comments and what asks for consent.

    Walking what was left out is slow, so this returns None once it is clear that fewer letters than
    `least` are not in the main text, whose lines are `known`.
    """
    blocks = page.blocks
    is_spoken: list[bool] = []
    for name, parent in zip(blocks.names, blocks.parents, strict=True):
        is_spoken.append(name in _SPOKEN or (parent >= 0 and is_spoken[parent]))
    lines = _unlinked([line for line in blocks.lines if not is_spoken[line[2]]])
    # Long ones first, because these are often menus.
    apart = sorted(filter(_is_apart, blocks.left_out), key=_letters_of, reverse=True)
    beside = set(lines) - known
    most = sum(map(len, beside)) + sum(map(_letters_of, apart))
    for each in apart:
        if most < least:
            return None
        most -= each.letters
        if _may_tell_apart(each):
            shown = _unlinked(blocks_in(blocks, each.node).lines)
            most += sum(map(len, shown))
            lines += shown
    return lines


def _unlinked(lines: Iterable[TextLine]) -> list[str]:
    """Return the texts of lines that aren't mostly links."""
    return [text for text, linked, _ in lines if linked <= _LINKED_SHARE * len(text)]


def _letters_of(left_out: LeftOut) -> int:
    return left_out.letters


def _is_apart(left_out: LeftOut) -> bool:
    """Return whether an element wasn't read, and is no navigation, which consists of links."""
    return not left_out.is_read and left_out.node.tag_id != _NAV


def _may_tell_apart(left_out: LeftOut) -> bool:
    is_consent = is_called_consent(left_out.node)
    return not is_consent and not left_out.has_comments and not _is_menu(left_out)


def _is_menu(left_out: LeftOut) -> bool:
    """Return whether an element consists mostly of links. This is faster than reading its lines."""
    node = left_out.node
    linked = sum([len(link.text(strip=True)) for link in node.css("a")])
    if not linked:
        return False
    programs = sum([len(each.text(strip=True)) for each in node.css("script, style")])
    letters = len(node.text(strip=True)) - programs
    return linked > _LINKED_SHARE * letters
