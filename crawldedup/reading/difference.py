"""Tell in a line what changed between two texts.

Words that occur once in each text are its anchors: the longest run of them that has one order in both stays, and what
lies between two anchors has changed unless it is equal (patience diff, Bram Cohen). This takes n log n steps for any
texts, where `difflib` takes up to n^3: pages are hostile.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

LONGEST_DIFFERENCE: Final = 450
"""Passages beyond so many characters are only counted."""

_LONGEST_SIDE: Final = 80
_LONGEST_CONTEXT: Final = 40
_CONTEXT_WORDS: Final = 4
# Changes so close to each other read better as one.
_CLOSE_WORDS: Final = 2
# What is anchored once more between two anchors has a word twice elsewhere.
_ROUNDS: Final = 3

# Chinese and Japanese sentences have no spaces.
_WORD: Final = re.compile(r"[^\s。！？；，、]+[。！？；，、]*|[。！？；，、]+")


class _Gap(NamedTuple):
    """Places in the words of two texts: from `a` to before `a_end` in the old one, and alike in the new one."""

    a: int
    a_end: int
    b: int
    b_end: int


class Change(NamedTuple):
    """Holds a passage that differs between two texts, with a few equal words on both sides.

    Each part may be empty. `str` joins the parts of `marked`.

    Attributes:
        before: Up to four equal words before the passage.
        removed: What only the earlier text has.
        added: What only the later text has.
        behind: Up to four equal words behind the passage.

    Example:
        >>> from crawldedup.reading.difference import Change
        >>> print(Change("runs every", "hour", "day", "from the harbour"))
        runs every [-hour-] {+day+} from the harbour
    """

    before: str
    removed: str
    added: str
    behind: str

    def __str__(self) -> str:
        return " ".join(filter(None, self.marked))

    @property
    def marked(self) -> tuple[str, str, str, str]:
        """Return the four parts, with marks around what was removed and what was added."""
        removed, added = self.removed and f"[-{self.removed}-]", self.added and f"{{+{self.added}+}}"
        return self.before, removed, added, self.behind


def changes(old: str, new: str, *, longest: int = _LONGEST_SIDE) -> list[Change]:
    """Return what changed between two texts, each side of it up to `longest` characters."""
    a, b = _WORD.findall(old), _WORD.findall(new)
    gaps = [_Gap(0, len(a), 0, len(b))]
    for _ in range(_ROUNDS):
        gaps = [finer for gap in gaps for finer in _cut_at_anchors(a, b, gap)]
    return list(_passages(a, b, _joined(gaps), longest))


def difference(old: str, new: str) -> str | None:
    """Return what changed, in one line: `[-old-] {+new+}` with some words around each; None if no word did."""
    changed = changes(old, new)
    shown = ""
    for told, passage in enumerate(map(str, changed)):
        if shown and len(shown) + len(passage) > LONGEST_DIFFERENCE:
            return f"{shown} … and {len(changed) - told:,} more"
        shown += f" … {passage}" if shown else passage
    return shown or None


def _cut_at_anchors(a: Sequence[str], b: Sequence[str], gap: _Gap) -> Iterator[_Gap]:
    """Yield what lies between the anchors of two pieces, without what is equal at its ends."""
    at_a, at_b = gap.a, gap.b
    anchors = _anchors(a[gap.a : gap.a_end], b[gap.b : gap.b_end])
    for i, j in [*((gap.a + i, gap.b + j) for i, j in anchors), (gap.a_end, gap.b_end)]:
        end_a, end_b = i, j
        while at_a < end_a and at_b < end_b and a[at_a] == b[at_b]:
            at_a, at_b = at_a + 1, at_b + 1
        while at_a < end_a and at_b < end_b and a[end_a - 1] == b[end_b - 1]:
            end_a, end_b = end_a - 1, end_b - 1
        if at_a < end_a or at_b < end_b:
            yield _Gap(at_a, end_a, at_b, end_b)
        at_a, at_b = i + 1, j + 1


def _anchors(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Return the places of words that occur once in each, as many as have the same order in both."""
    counts_a, counts_b = Counter(a), Counter(b)
    place = {word: j for j, word in enumerate(b) if counts_b[word] == 1}
    pairs = [(i, place[word]) for i, word in enumerate(a) if counts_a[word] == 1 and word in place]
    # For each length, the run whose last place in `b` is the first: that place, and its pair.
    lasts: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for number, (_, j) in enumerate(pairs):
        length = bisect_left(lasts, j)
        before.append(ends[length - 1] if length else -1)
        lasts[length : length + 1], ends[length : length + 1] = [j], [number]
    run = []
    number = ends[-1] if ends else -1
    while number >= 0:
        run.append(pairs[number])
        number = before[number]
    return run[::-1]


def _joined(gaps: Sequence[_Gap]) -> list[_Gap]:
    joined: list[_Gap] = []
    for gap in gaps:
        if joined and gap.a - joined[-1].a_end <= _CLOSE_WORDS:
            joined[-1] = joined[-1]._replace(a_end=gap.a_end, b_end=gap.b_end)
        else:
            joined.append(gap)
    return joined


def _passages(a: Sequence[str], b: Sequence[str], gaps: Sequence[_Gap], longest: int) -> Iterator[Change]:
    """Yield each change among the words around it, of which none is shown twice."""
    shown_to = 0
    for number, change in enumerate(gaps):
        before = " ".join(a[max(shown_to, change.a - _CONTEXT_WORDS) : change.a])
        following = gaps[number + 1].a if number + 1 < len(gaps) else len(a)
        shown_to = min(following, change.a_end + _CONTEXT_WORDS)
        removed, added = a[change.a : change.a_end], b[change.b : change.b_end]
        yield Change(
            before if len(before) <= _LONGEST_CONTEXT else f"…{before[-_LONGEST_CONTEXT:]}",
            _beginning(removed, longest),
            _beginning(added, longest),
            _beginning(a[change.a_end : shown_to], _LONGEST_CONTEXT),
        )


def _beginning(words: Sequence[str], longest: int) -> str:
    # A word has a character at least.
    text = " ".join(words[: longest + 1])
    return text if len(text) <= longest else f"{text[:longest]}…"
