"""Tell users which parts of a page are left out of the compared text, and why.

Crawls don't need this, so it walks the page once more when somebody asks for it.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

from crawldedup.fingerprinting.tokenize import count_words
from crawldedup.reading.ages import line_without_age
from crawldedup.reading.block_names import Label, label_of, noise_word
from crawldedup.reading.blocks import BOILERPLATE, BOILERPLATE_ROLES, Blocks, blocks_of
from crawldedup.reading.html import HtmlPage, tidy
from crawldedup.reading.last_resorts import lines_of_last_resorts
from crawldedup.text import pluralize

_LONGEST_EXCERPT: Final = 200
_MOST_PARTS: Final = 20
_LINKED_SHARE: Final = 0.5

BESIDE: Final = "next to the main text"
LINKS: Final = "in links"
COMMENTS: Final = "in comments"
HIDDEN: Final = "hidden"
UNSELECTED: Final = "not selected by the option content"
OTHERS: Final = "in other parts"


@dataclass(frozen=True, slots=True)
class Omission:
    """Lines of a page that aren't compared, all for the same reason, in summary."""

    reason: str  #: Where they are: `in <footer>`, `named "share"`, `in comments`, `hidden`.
    lines: int  #: The number of lines.
    words: int  #: The number of their words.
    excerpt: str  #: The beginning of the first line.


def omissions_of(page: HtmlPage, compared: str, *, is_selected: bool = False) -> list[Omission]:
    """Summarize what a page shows besides its compared text, most words first.

    Args:
        page: The page.
        compared: The text that is compared.
        is_selected: Whether selectors chose what to compare.

    Raises:
        PageError: One of the other lines is too long.
    """
    blocks = blocks_of(page.tree, with_controls=True)
    known = set(compared.split("\n"))
    reasons = _reasons(page, blocks)
    lines: Counter[str] = Counter()
    words: Counter[str] = Counter()
    excerpts: dict[str, str] = {}
    beside = [
        (text, reasons[block] or (LINKS if linked > _LINKED_SHARE * len(text) else BESIDE))
        for text, linked, block in blocks.lines
    ]
    # Text fields are among the lines of the page already.
    in_resorts = [
        (text, f"in <{tag}>") for tag, text in lines_of_last_resorts(page) if tag != "textarea"
    ]
    for text, reason in chain(beside, in_resorts):
        line = tidy(text)
        if not line or line in known or line_without_age(line) in known:
            continue
        if is_selected:
            reason = UNSELECTED
        if reason not in lines and len(lines) >= _MOST_PARTS:
            reason = OTHERS
        lines[reason] += 1
        words[reason] += count_words(line)
        excerpts.setdefault(reason, line[:_LONGEST_EXCERPT])
    return [
        Omission(reason, lines[reason], count, excerpts[reason])
        for reason, count in words.most_common()
    ]


def _reasons(page: HtmlPage, blocks: Blocks) -> list[str]:
    """Return why each block may be left out, or "" for blocks without a reason.

    If several of the elements around a block have a reason, the outermost one counts.
    """
    reasons: list[str] = []
    for block, parent in enumerate(blocks.parents):
        outer = reasons[parent] if parent >= 0 else ""
        reasons.append(outer or _reason(page, blocks, block))
    return reasons


def _reason(page: HtmlPage, blocks: Blocks, block: int) -> str:
    node = blocks.nodes[block]
    if node.mem_id in page.holders:
        return ""
    if blocks.kinds[block] in BOILERPLATE:
        return f"in <{node.tag}>"
    label = label_of(node)
    if label == Label.HIDDEN:
        return HIDDEN
    if label == Label.COMMENTS:
        return COMMENTS
    if label in (Label.NOISE, Label.SIDEBAR, Label.BOTH):
        return f'named "{noise_word(node)}"'
    role = node.attributes.get("role")
    return f"in the role {role}" if role in BOILERPLATE_ROLES else ""


def in_words(omissions: tuple[Omission, ...]) -> Iterator[str]:
    """Yield a line for each reason, as in "41 lines in <footer>, 620 words"."""
    for each in omissions:
        yield f"{pluralize(each.lines, 'line')} {each.reason}, {pluralize(each.words, 'word')}"
