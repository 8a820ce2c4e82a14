"""Find passages that a page contains twice, such as once for wide screens and once for phones.

Only the first copy is read. Manuals repeat their steps for each programming language, and somebody
who reads one of them needs all steps. So pages with code keep their copies.
"""

from collections.abc import Sequence
from typing import Final

from crawldedup.reading.blocks import kind_of
from crawldedup.reading.page_lines import PageLines

_PRE: Final = kind_of("pre")
_FEWEST: Final = 2  # lines of a passage
_LEAST_PROSE: Final = 60  # bytes of prose in a passage
_LEAST_SHARE: Final = 0.5  # of prose in a passage: tables and prices repeat themselves


def without_repeated(read: PageLines, lines: list[int]) -> list[int]:
    """Return the numbers of the lines that aren't in a passage that is on the page before.

    Args:
        read: The lines of the page.
        lines: The numbers of those that are read.
    """
    if _PRE in read.blocks.kinds:
        return lines
    texts = [read.blocks.lines[line][0] for line in lines]
    first: dict[str, int] = {}
    earlier = [first.setdefault(text, place) for place, text in enumerate(texts)]
    if len(first) == len(texts):
        return lines
    left: list[int] = []
    place = 0
    while place < len(lines):
        if earlier[place] == place:
            left.append(lines[place])
            place += 1
            continue
        end = place + _length_of_copy(texts, earlier[place], place)
        if not _is_passage(read, lines[place:end]):
            end = max(end, place + 1)
            left += lines[place:end]
        place = end
    return left


def _length_of_copy(texts: Sequence[str], earlier: int, place: int) -> int:
    """Return the number of lines at a place that are the same as those at an earlier place."""
    length = 0
    most = min(place - earlier, len(texts) - place)
    while length < most and texts[earlier + length] == texts[place + length]:
        length += 1
    return length


def _is_passage(read: PageLines, copy: Sequence[int]) -> bool:
    """Return whether repeated lines are long enough for a passage."""
    if len(copy) < _FEWEST:
        return False
    prose = sum([read.sizes[line] for line in copy if read.is_prose[line]])
    size = sum([read.sizes[line] for line in copy])
    return prose >= max(_LEAST_PROSE, _LEAST_SHARE * size)
