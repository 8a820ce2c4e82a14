"""Show what changed between two texts on one line, and pack texts so an index can store them.

Sentences are compared first, and then the words of those that differ. `difflib` takes up to n^3
steps, and pages may be hostile. So after many sentences, the rest counts as a single sentence, and
the words of long passages aren't compared.
"""

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate, chain, pairwise
from typing import Any, Final

# The number of characters up to which passages are shown. Further ones are only counted.
LONGEST_DIFFERENCE: Final = 450
LONGEST_TEXT: Final = 100_000  # characters of a text that are kept
_MOST_BYTES: Final = 4 * LONGEST_TEXT
_LONGEST_SIDE: Final = 80  # characters of what was removed, or added
_LONGEST_CONTEXT: Final = 40  # characters of the words around it
_CONTEXT_WORDS: Final = 4
_CLOSE_WORDS: Final = 2  # changes so close to each other read better as one
_MOST_SENTENCES: Final = 500  # that are compared
_MOST_PASSAGES: Final = 20  # whose words are compared
_MOST_WORDS: Final = 250  # of such a passage

# Chinese and Japanese sentences have no spaces.
_WORD: Final = re.compile(r"[^\s。！？；，、]+[。！？；，、]*|[。！？；，、]+")
_ENDS: Final = ".!?。！？"

_Gap = tuple[
    int, int, int, int
]  # where different words begin and end in the old text, and in the new one


@dataclass(frozen=True, slots=True)
class Change:
    """A passage that differs between two texts, with a few equal words on both sides.

    Each part may be empty. `str` joins the parts of `marked`: "runs every [-hour-] {+day+} from the
    harbour".
    """

    before: str  #: Up to four equal words before the passage.
    removed: str  #: What only the earlier text has.
    added: str  #: What only the later text has.
    behind: str  #: Up to four equal words after the passage.

    def __str__(self) -> str:
        return " ".join(filter(None, self.marked))

    @property
    def marked(self) -> tuple[str, str, str, str]:
        """Return the four parts, with marks around what was removed and what was added."""
        removed, added = (
            self.removed and f"[-{self.removed}-]",
            self.added and f"{{+{self.added}+}}",
        )
        return self.before, removed, added, self.behind


def changes(old: str, new: str, *, longest: int = _LONGEST_SIDE) -> list[Change]:
    """Return the passages that differ between two texts.

    Each is cut to `longest` characters on either side.
    """
    sentences, other_sentences = _sentences(old), _sentences(new)
    a, b = [*chain(*sentences)], [*chain(*other_sentences)]
    starts, other_starts = (
        [0, *accumulate(map(len, texts))] for texts in (sentences, other_sentences)
    )
    gaps: list[_Gap] = []
    for number, (i, i_end, j, j_end) in enumerate(_gaps(sentences, other_sentences)):
        start, end, other, other_end = (
            starts[i],
            starts[i_end],
            other_starts[j],
            other_starts[j_end],
        )
        while start < end and other < other_end and a[start] == b[other]:
            start, other = start + 1, other + 1
        while start < end and other < other_end and a[end - 1] == b[other_end - 1]:
            end, other_end = end - 1, other_end - 1
        words, other_words = a[start:end], b[other:other_end]
        is_short = number < _MOST_PASSAGES and max(len(words), len(other_words)) <= _MOST_WORDS
        whole = [(0, len(words), 0, len(other_words))]
        for k, k_end, m, m_end in _gaps(words, other_words) if is_short else whole:
            is_close = gaps and start + k - gaps[-1][1] <= _CLOSE_WORDS
            k_start, m_start = gaps.pop()[::2] if is_close else (start + k, other + m)
            gaps.append((k_start, start + k_end, m_start, other + m_end))
    changed, shown_to = list[Change](), 0
    for (start, end, other, other_end), (following, *_) in pairwise([*gaps, (len(a), 0, 0, 0)]):
        before = " ".join(a[max(shown_to, start - _CONTEXT_WORDS) : start])
        before = before if len(before) <= _LONGEST_CONTEXT else f"…{before[-_LONGEST_CONTEXT:]}"
        # No word is shown twice.
        shown_to = min(following, end + _CONTEXT_WORDS)
        removed, added = _beginning(a[start:end], longest), _beginning(b[other:other_end], longest)
        changed.append(
            Change(before, removed, added, _beginning(a[end:shown_to], _LONGEST_CONTEXT))
        )
    return changed


def _sentences(text: str) -> list[tuple[str, ...]]:
    sentences: list[tuple[str, ...]] = []
    for line in text.split("\n"):
        start, words = 0, _WORD.findall(line)
        for end, word in enumerate(words, 1):
            if word[-1] in _ENDS or end == len(words):
                sentences.append(tuple(words[start:end]))
                start = end
    rest = tuple(chain(*sentences[_MOST_SENTENCES:]))
    return [*sentences[:_MOST_SENTENCES], rest] if rest else sentences


def _gaps(a: Sequence[Any], b: Sequence[Any]) -> Iterator[_Gap]:
    opcodes = SequenceMatcher(None, a, b).get_opcodes()
    return ((i, i_end, j, j_end) for what, i, i_end, j, j_end in opcodes if what != "equal")


def difference(old: str, new: str) -> str | None:
    """Return what changed on one line, or None if no word changed.

    Each change looks like `[-old-] {+new+}`, with a few words around it.
    """
    changed = changes(old, new)
    shown = ""
    for number, passage in enumerate(map(str, changed)):
        if shown and len(shown) + len(passage) > LONGEST_DIFFERENCE:
            return f"{shown} … and {len(changed) - number:,} more"
        shown += f" … {passage}" if shown else passage
    return shown or None


def packed_text(text: str) -> bytes:
    """Return the beginning of a text, compressed."""
    return zlib.compress(text[:LONGEST_TEXT].encode("utf-8", "replace"))


def unpacked_text(packed: bytes) -> str | None:
    """Return the text that was packed, or None if the bytes contain no text."""
    if not packed:
        return None
    try:
        # Another program may have written bytes that expand to a huge size.
        text = zlib.decompressobj().decompress(packed, _MOST_BYTES)
    except zlib.error:
        return None
    return text.decode("utf-8", "replace")[:LONGEST_TEXT]


def _beginning(words: Sequence[str], longest: int) -> str:
    text = " ".join(words[: longest + 1])
    return text if len(text) <= longest else f"{text[:longest]}…"
