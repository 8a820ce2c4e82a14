"""Learn which parts of a host's URLs only name views, such as a session or a print version.

A fixed vocabulary only suggests views, because `sid`, `ref` and `print` name content on some sites.
A view is proved in a folder if, on three pages with different names, addresses that differ only in
it led to copies. It stays proved as long as at most a tenth of all such pairs have different
content, which shows in different names, or in texts of which less than half is the same.

A token counts for a page only if it recurs, that is, if another page of the host has the same one,
or if a link on the page carries it to another path. A session does this; the number of a document
doesn't.
"""

from dataclasses import dataclass
from typing import Final

import msgspec

from crawldedup.fingerprinting.bits import Fingerprint
from crawldedup.marks.address import Address, View
from crawldedup.marks.packing import unpacked
from crawldedup.marks.relation import have_other_names, have_same_name
from crawldedup.marks.values import Name, best_name
from crawldedup.search.decision import VIEW_SIMILARITY, estimate_similarity

_WITNESSES: Final = 3
_MOST_CONTRARY: Final = 0.1
_MOST_PAIRS: Final = 256
"""After this many pairs, older ones count half as much."""

_MOST_KINDS: Final = 32  # the maximum number of kinds of views per folder
_LONGEST_KIND: Final = 40
_COPY: Final = 0.9
# A print view is part of a page, so all of its text is also on that page.
_CONTAINED: Final = 0.9
_LEAST_OF_PART: Final = 0.25


class Pairs(msgspec.Struct, array_like=True):
    """Evidence about one kind of view in a folder: pairs of URLs that only differ in it."""

    copies: int = 0
    contrary: int = 0
    names: set[str] = set()
    """The names of up to three pages that were copies."""

    renamed: int = 0
    """How many of the contrary pairs had the same text, and only differed in their names."""

    @property
    def evidence(self) -> int:
        """How many pairs there were in all."""
        return self.copies + self.contrary

    @property
    def are_proof(self) -> bool:
        """Whether these pairs prove that the kind only names views in the folder."""
        is_contrary = self.contrary > _MOST_CONTRARY * self.evidence
        return len(self.names) >= _WITNESSES and not is_contrary

    def add(self, name: str, *, are_copies: bool, is_renamed: bool = False) -> None:
        """Count a pair of pages whose addresses only differ in the view."""
        if are_copies:
            self.copies += 1
            if len(self.names) < _WITNESSES:
                self.names.add(name)
        else:
            self.contrary += 1
            self.renamed += is_renamed
        if self.evidence >= _MOST_PAIRS:
            self.copies //= 2
            self.contrary //= 2
            self.renamed //= 2

    def forgive_names(self) -> None:
        """Discard pairs that only differed in their names, because names turned out to change."""
        self.contrary -= self.renamed
        self.renamed = 0


ProvedViews = dict[str, Pairs]
"""What is known about each kind of view in a folder."""


@dataclass(frozen=True, slots=True)
class ViewOfPage:
    """What is known of a page that was loaded at the URL of a view, to compare it with others."""

    views: frozenset[View]
    names: tuple[Name, ...]
    fingerprint: Fingerprint
    text: int | None = None
    """The hash of the page's content regardless of its name; None for a listing or a short page."""

    @classmethod
    def of(cls, address: Address, fingerprint: Fingerprint) -> "ViewOfPage":
        """Take these values from a page's address and fingerprint."""
        marks = unpacked(fingerprint.marks)
        if marks is None:
            return cls(frozenset(address.views), (), fingerprint)
        content = marks.content
        text = None if content.is_listing or fingerprint.thin else content.text
        return cls(frozenset(address.views), content.names, fingerprint, text)


def compare_views(
    proved: ProvedViews, view: ViewOfPage, other: ViewOfPage, *, names_change: bool = False
) -> None:
    """Note what two pages show about the views in which alone their URLs differ.

    Pages that differ in several kinds of views aren't evidence for any of them.

    Args:
        proved: What is known about the folder of the pages.
        view: One of the pages.
        other: The other page.
        names_change: Whether names are known to change with every load there. If so, pages with the
            same text and different names are not evidence, including those that were noted before.
    """
    kinds = {differing.kind for differing in view.views ^ other.views}
    if len(kinds) != 1 or view.fingerprint.key_id != other.fingerprint.key_id:
        return
    (kind,) = kinds
    if len(kind) > _LONGEST_KIND:
        return
    are_copies = _are_copies(view, other)
    if are_copies is None:
        return
    if kind in proved or len(proved) < _MOST_KINDS:
        best = best_name(view.names)
        name = f"{best.hash:x}" if best is not None else ""
        pairs = proved.setdefault(kind, Pairs())
        is_renamed = not are_copies and view.text == other.text is not None
        pairs.add(name, are_copies=are_copies, is_renamed=is_renamed)
        if names_change:
            pairs.forgive_names()


def _are_copies(view: ViewOfPage, other: ViewOfPage) -> bool | None:
    """Return whether two views are copies of one page, or None if that's unclear."""
    if have_other_names(view.names, other.names):
        return False
    first = view.fingerprint
    second = other.fingerprint
    if first.digest == second.digest:
        return True if have_same_name(view.names, other.names) else None
    if first.thin or second.thin:
        return None
    similarity = estimate_similarity(first.verify_weights, first.verify, second.verify)
    is_layout = _is_layout(view, other)
    is_copy = similarity >= _COPY or (is_layout and _is_part(similarity, first.words, second.words))
    if is_copy:
        return True if have_same_name(view.names, other.names) else None
    least = _LEAST_OF_PART if is_layout else VIEW_SIMILARITY
    return False if similarity < least else None


def _is_layout(view: ViewOfPage, other: ViewOfPage) -> bool:
    """Return whether two views only differ in layout, as a print view does.

    A view like that has no value.
    """
    return all(not differing.value for differing in view.views ^ other.views)


def _is_part(similarity: float, words: int, other_words: int) -> bool:
    """Return whether nearly all words of one text are also in the other text."""
    if similarity < _LEAST_OF_PART:
        return False
    shared = similarity / (1 + similarity) * (words + other_words)
    return shared >= _CONTAINED * min(words, other_words)


def are_proved(proved: ProvedViews, views: frozenset[View]) -> bool:
    """Return whether every one of these views is proved in a folder."""
    return all(view.kind in proved and proved[view.kind].are_proof for view in views)
