"""Leave out passages that a page contains twice, such as once for wide screens and once for phones.

Only the first copy is read. Manuals repeat their steps for each programming language, and somebody
who reads one of them needs all steps. So pages with code keep their copies.
"""

from collections.abc import Sequence
from typing import Final

from crawldedup.reading.blocks import kind_of
from crawldedup.reading.page_lines import PageLines

_PRE: Final = kind_of("pre")
_FEWEST: Final = 2  # the minimum number of lines of a passage
_LEAST_PROSE: Final = 60  # the minimum number of bytes of prose in a passage
# The least share of prose in a passage, as tables and prices repeat themselves.
_LEAST_SHARE: Final = 0.5


def without_repeated(read: PageLines, lines: list[int]) -> list[int]:
    """Return the lines that don't repeat a passage from further up on the page, by their numbers.

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
    """Return how many lines, from a place on, are the same as those from an earlier place on."""
    length = 0
    most = min(place - earlier, len(texts) - place)
    while length < most and texts[earlier + length] == texts[place + length]:
        length += 1
    return length


def _is_passage(read: PageLines, copy: Sequence[int]) -> bool:
    """Return whether lines that are repeated are long enough to count as a passage."""
    if len(copy) < _FEWEST:
        return False
    prose = sum([read.sizes[line] for line in copy if read.is_prose[line]])
    size = sum([read.sizes[line] for line in copy])
    return prose >= max(_LEAST_PROSE, _LEAST_SHARE * size)
