"""Show on one line how two texts differ, and compress texts so that an index can store them.

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
from typing import Any, Final, NamedTuple

# The number of characters up to which passages are shown. Further ones are only counted.
LONGEST_DIFFERENCE: Final = 450
LONGEST_TEXT: Final = 100_000  # characters of a text that are kept
_MOST_BYTES: Final = 4 * LONGEST_TEXT
_LONGEST_SIDE: Final = 80  # characters of what was removed, or added
_LONGEST_CONTEXT: Final = 40  # characters of the words around it
_CONTEXT_WORDS: Final = 4
_CLOSE_WORDS: Final = 2  # changes so close to each other read better as one
_MOST_SENTENCES: Final = 500  # the maximum number of sentences to compare
_MOST_PASSAGES: Final = 20  # the maximum number of passages whose words are compared
_MOST_WORDS: Final = 250  # the maximum number of words in such a passage

# Chinese and Japanese sentences have no spaces.
_WORD: Final = re.compile(r"[^\s。！？；，、]+[。！？；，、]*|[。！？；，、]+")
_ENDS: Final = ".!?。！？"


class _Gap(NamedTuple):
    """The positions of a passage that differs, in the old text and in the new one."""

    start: int
    end: int
    new_start: int
    new_end: int


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
        """Return the four parts, with brackets around what was removed and what was added."""
        removed = f"[-{self.removed}-]" if self.removed else ""
        added = f"{{+{self.added}+}}" if self.added else ""
        return self.before, removed, added, self.behind


def changes(old: str, new: str, *, longest: int = _LONGEST_SIDE) -> list[Change]:
    """Compare two texts, and return the passages that differ.

    What was removed and what was added are each cut to `longest` characters.
    """
    old_sentences = _sentences(old)
    new_sentences = _sentences(new)
    old_words = list(chain(*old_sentences))
    new_words = list(chain(*new_sentences))
    changed: list[Change] = []
    shown_to = 0
    gaps = _differing_words(old_sentences, new_sentences, old_words, new_words)
    behind_last = _Gap(len(old_words), len(old_words), len(new_words), len(new_words))
    for gap, following in pairwise([*gaps, behind_last]):
        before = " ".join(old_words[max(shown_to, gap.start - _CONTEXT_WORDS) : gap.start])
        if len(before) > _LONGEST_CONTEXT:
            before = f"…{before[-_LONGEST_CONTEXT:]}"
        # No word is shown twice.
        shown_to = min(following.start, gap.end + _CONTEXT_WORDS)
        changed.append(
            Change(
                before,
                removed=_beginning(old_words[gap.start : gap.end], longest),
                added=_beginning(new_words[gap.new_start : gap.new_end], longest),
                behind=_beginning(old_words[gap.end : shown_to], _LONGEST_CONTEXT),
            )
        )
    return changed


def _differing_words(
    old_sentences: Sequence[Sequence[str]],
    new_sentences: Sequence[Sequence[str]],
    old_words: Sequence[str],
    new_words: Sequence[str],
) -> list[_Gap]:
    """Find the words in which two texts differ, and return their positions, counted in words.

    Changes that are close to each other become one.
    """
    old_starts = [0, *accumulate(len(sentence) for sentence in old_sentences)]
    new_starts = [0, *accumulate(len(sentence) for sentence in new_sentences)]
    gaps: list[_Gap] = []
    for number, passage in enumerate(_gaps(old_sentences, new_sentences)):
        words = _Gap(
            old_starts[passage.start],
            old_starts[passage.end],
            new_starts[passage.new_start],
            new_starts[passage.new_end],
        )
        for gap in _parts_of(words, old_words, new_words, is_one_of_many=number >= _MOST_PASSAGES):
            if gaps and gap.start - gaps[-1].end <= _CLOSE_WORDS:
                last = gaps[-1]
                gaps[-1] = gap._replace(start=last.start, new_start=last.new_start)
            else:
                gaps.append(gap)
    return gaps


def _parts_of(
    passage: _Gap, old_words: Sequence[str], new_words: Sequence[str], *, is_one_of_many: bool
) -> Iterator[_Gap]:
    """Yield the words in which a passage differs.

    A long passage, or one of many, is only shortened by the equal words at its ends.
    """
    start, end, new_start, new_end = passage
    while start < end and new_start < new_end and old_words[start] == new_words[new_start]:
        start += 1
        new_start += 1
    while start < end and new_start < new_end and old_words[end - 1] == new_words[new_end - 1]:
        end -= 1
        new_end -= 1
    if is_one_of_many or max(end - start, new_end - new_start) > _MOST_WORDS:
        if start < end or new_start < new_end:
            yield _Gap(start, end, new_start, new_end)
        return
    for gap in _gaps(old_words[start:end], new_words[new_start:new_end]):
        yield _Gap(
            start + gap.start, start + gap.end, new_start + gap.new_start, new_start + gap.new_end
        )


def _sentences(text: str) -> list[tuple[str, ...]]:
    sentences: list[tuple[str, ...]] = []
    for line in text.split("\n"):
        start = 0
        words = _WORD.findall(line)
        for end, word in enumerate(words, 1):
            if word[-1] in _ENDS or end == len(words):
                sentences.append(tuple(words[start:end]))
                start = end
    rest = tuple(chain(*sentences[_MOST_SENTENCES:]))
    return [*sentences[:_MOST_SENTENCES], rest] if rest else sentences


def _gaps(old: Sequence[Any], new: Sequence[Any]) -> list[_Gap]:
    """Return the positions at which two sequences differ."""
    opcodes = SequenceMatcher(None, old, new).get_opcodes()
    return [_Gap(*places) for what, *places in opcodes if what != "equal"]


def difference(old: str, new: str) -> str | None:
    """Show what has changed between two texts on one line, or return None if no word has.

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
    """Compress a text, or the beginning of a long one."""
    return zlib.compress(text[:LONGEST_TEXT].encode("utf-8", "replace"))


def unpacked_text(packed: bytes) -> str | None:
    """Decompress a text, or return None if the bytes don't contain one."""
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
