"""What users get as answers: a `Verdict` on a checked page, and a `Match` for a page found."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self

from crawldedup.marks.reasons import is_kind, kind_in_words
from crawldedup.scope import site_of
from crawldedup.text import printable


class Kind(StrEnum):
    """The kind of a page, compared with the pages seen before it."""

    NEW = "new"  #: The page doesn't resemble any remembered page.
    #: The page resembles a remembered page, with the required similarity or more.
    NEAR_DUPLICATE = "near_duplicate"
    EXACT_DUPLICATE = "exact_duplicate"  #: The page has the same text as a remembered page.
    REVISIT = "revisit"  #: The page itself is remembered, under the same URL or identity.
    #: The page has too few words to be compared, and no remembered page has the same text.
    THIN = "thin"


class ParagraphKind(StrEnum):
    """The kind of a paragraph, compared with the paragraphs of earlier pages."""

    NEW = "new"  #: Less than half of the words are known.
    KNOWN = "known"  #: One earlier page has half of the words or more.
    BOILERPLATE = "boilerplate"  #: The paragraph is on too many pages to be meaningful.
    SHORT = "short"  #: The paragraph has too few words to be judged.


@dataclass(frozen=True, slots=True)
class KnownParagraph:
    """A paragraph of a page: lines with at least 80 words, unless the page has fewer."""

    excerpt: str  #: The beginning of the paragraph.
    words: int  #: The number of its words.
    known_words: int  #: How many of them are on the page `url`.
    kind: ParagraphKind  #: The decision.
    #: The URL of the earlier page; None if there is none, or if the index holds no URLs.
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a page is on earlier pages, in words of its paragraphs."""

    new_words: int  #: Words that aren't on any earlier page.
    known_words: int  #: Words that are on an earlier page.
    boilerplate_words: int  #: Words of paragraphs that are on many pages.
    is_partial: bool  #: True if the share of new words is below the limit, by default 0.2.
    #: The URLs of earlier pages, and how many words are on each, most first.
    sources: tuple[tuple[str, int], ...] = ()
    paragraphs: tuple[KnownParagraph, ...] = ()  #: The paragraphs, in the order of the page.

    @property
    def share_new(self) -> float | None:
        """Return the share of new words among new and known words, from 0 to 1.

        It is None if there are none.
        """
        words = self.new_words + self.known_words
        return self.new_words / words if words else None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer for a checked page: what kind of page it is, and why.

    The earlier page of a `revisit` is the page itself, with the text that was delivered last. The
    similarity is None for a revisit whose texts are too short.

    Example:
        >>> from crawldedup import Deduplicator
        >>> story = " ".join(f"Boat {n} leaves at pier {n + 7}." for n in range(30))
        >>> dedup = Deduplicator(key=0, keep_texts=True)
        >>> first = dedup.check("https://news.example/ferry", text=story)
        >>> second = dedup.check("https://copy.example/boat", text=f"{story} Enjoy!")
        >>> print(second.kind, second.original, second.similarity, second.difference)
        near_duplicate https://news.example/ferry 0.9975 leaves at pier 36. {+Enjoy!+}
    """

    kind: Kind  #: The kind of the page.
    url: str  #: The URL of the page, as it was given.
    #: The URL of the earlier page; None if there is none, or if the index holds no URLs.
    original: str | None = None
    #: The estimated Jaccard similarity of the word 3-shingles, from 0 to 1.
    similarity: float | None = None
    #: The number of search bits that differ, from 0 to 64, or None if `similarity` is None.
    hamming: int | None = None
    words: int = 0  #: The number of words that were compared.
    copies: int = 0  #: How many duplicates of the earlier page were seen, including this one.
    #: True for a `revisit` whose text or marks differ from those that were delivered last.
    changed: bool = False
    #: What is new on a changed page: any of `name`, `picture`, `player`, `listing`, `comments`,
    #: `text`, `data` (such as a declared price), and `availability`.
    changed_by: tuple[str, ...] = ()
    #: True for a `revisit` of a page that was never delivered: its crawler died or failed.
    abandoned: bool = False
    #: True for a duplicate with a better rank, which has replaced its original in the index.
    replaces: bool = False
    #: True for a near duplicate for which half of the text was enough, because its site has proved
    #: that it's a view of the earlier page: their addresses only differ in that view.
    by_view: bool = False
    probes: int = 0  #: How many ranges of keys the search planned to read: a measure of its work.
    candidates: int = 0  #: How many remembered pages were compared: a measure of its work.
    #: What a changed page shows now instead of an earlier mark, such as "price now 64.90", and
    #: with `keep_texts` `[-earlier-] {+this+}` of a near duplicate or a changed page.
    difference: str | None = None
    #: The URL of the nearest page that a new one was compared with, if it came near.
    rejected: str | None = None
    rejected_similarity: float | None = None  #: About how similar that page is, from 0.6 to 1.
    #: What kept it apart: `similarity`, or `crowd` if several pages are as near. For a sibling,
    #: this is the mark: `name`, `picture`, `player`, `data`, `listing`, `text`, `links`, `rest`
    #: or `numbers`.
    rejected_by: str | None = None
    #: With `paragraphs`, how much of a page that isn't a duplicate is known.
    coverage: Coverage | None = None

    def __bool__(self) -> bool:
        """Return `is_duplicate`. By default, `if dedup.check(...)` would be true for every page."""
        return self.is_duplicate

    @property
    def is_duplicate(self) -> bool:
        """Return whether the page is a near or an exact duplicate."""
        return self.kind in (Kind.NEAR_DUPLICATE, Kind.EXACT_DUPLICATE)

    @property
    def is_partial(self) -> bool:
        """Return whether the page has too small a share of new words: see `Coverage`."""
        return self.coverage is not None and self.coverage.is_partial

    @property
    def is_across_sites(self) -> bool:
        """Return whether the page is a duplicate of a page on another site.

        This is always False if the index doesn't store URLs.
        """
        return (
            self.is_duplicate
            and self.original is not None
            and site_of(self.original) != site_of(self.url)
        )


@dataclass(frozen=True, slots=True)
class MainText:
    """The main text of a page, and its name, for the user."""

    text: str  #: The main text, including lines whose numbers change with every load.
    name: str | None = None  #: The name of the page, as it is written.


@dataclass(frozen=True, slots=True)
class CheckedText:
    """The verdict on a page, together with the main text that was read for it.

    Example:
        >>> from crawldedup import Deduplicator
        >>> html = "<title>Ferry - News</title><h1>Ferry</h1><p>It leaves at noon."
        >>> checked = Deduplicator().check_with_text("https://news.example/1", html=html)
        >>> print(checked.verdict.kind, checked.name, checked.text, sep=" | ")
        thin | Ferry | Ferry
        It leaves at noon.
    """

    verdict: Verdict  #: The answer that `check` gives.
    #: The main text, or None if the page came as a fingerprint or a script has yet to fill it.
    text: str | None = None
    name: str | None = None  #: The name of the page, as it is written, if it has one.

    @classmethod
    def of(cls, verdict: Verdict, main: MainText | None) -> Self:
        """Combine a verdict with the main text of its page, if there is one."""
        if main is None:
            return cls(verdict)
        return cls(verdict, main.text, main.name)


@dataclass(frozen=True, slots=True)
class Match:
    """A remembered page that resembles the page in question."""

    url: str  #: The URL of the remembered page; empty if the index holds none.
    #: The estimated Jaccard similarity of the word 3-shingles, from 0 to 1; 1 for an exact copy.
    similarity: float
    hamming: int  #: The number of search bits that differ, from 0 to 64.
    exact: bool  #: True if the two pages have the same text.
    seen_at: int  #: When the page was seen last, in whole seconds since 1970 (UTC).
    added_at: int  #: When it was added, also in whole seconds since 1970 (UTC).
    copies: int  #: How many duplicates of the remembered page were seen.
    #: The kind of mark that shows that the pages have different content although their texts are
    #: similar, such as "name" or "picture", or None for copies.
    sibling: str | None = None


def mark_of_sibling(verdict: Verdict) -> str | None:
    """Return the kind of mark that made a new page a sibling of one that reads alike, or None.

    This is `rejected_by`, unless that's `similarity` or `crowd`.
    """
    return verdict.rejected_by if is_kind(verdict.rejected_by or "") else None


_CHANGES: Final = {
    "text": "other text",
    "comments": "new comments",
    "availability": "another availability",
}

_HARDLY_APART: Final = frozenset({"text", "links", "rest"})


def is_hardly_apart(verdict: Verdict) -> bool:
    """Return whether only texts or links kept a page apart from one that reads alike.

    The addresses of the two have the same form. Such pages may be content, so they are kept. But
    walls, traps and calendars also look like this, so code that detects these counts them as
    copies.
    """
    return verdict.rejected_by in _HARDLY_APART


def describe(verdict: Verdict, *, unnamed: str = "an unknown page") -> str:
    """Describe a verdict in words that are safe to show.

    Args:
        verdict: The verdict about the page.
        unnamed: The words for an original without a URL.
    """
    original = printable(verdict.original or unnamed)
    if verdict.replaces:
        original += ", which it replaces"
    similarity = _describe_similarity(verdict)
    difference = f": {printable(verdict.difference)}" if verdict.difference else ""
    if verdict.coverage and verdict.coverage.sources:
        difference += f", {_describe_coverage(verdict.coverage)}"
    match verdict.kind:
        case Kind.EXACT_DUPLICATE:
            return f"exact duplicate of {original}"
        case Kind.NEAR_DUPLICATE:
            return f"near duplicate{similarity} of {original}{difference}"
        case Kind.REVISIT if verdict.changed:
            return f"known, with {_describe_changes(verdict.changed_by)}{similarity}{difference}"
        case Kind.REVISIT if verdict.similarity in (None, 1):
            return f"known and unchanged{difference}"
        case Kind.REVISIT:
            return f"known and hardly changed{similarity}{difference}"
        case _:
            return f"{verdict.kind}{_describe_sibling(verdict, unnamed)}{difference}"


def _describe_similarity(verdict: Verdict) -> str:
    """Say in parentheses how similar a page is, as in " (0.556, a proved view)"."""
    figures = [] if verdict.similarity is None else [f"{verdict.similarity:.3f}"]
    if verdict.by_view:
        figures.append("a proved view")
    return f" ({', '.join(figures)})" if figures else ""


def _describe_changes(changes: tuple[str, ...]) -> str:
    """Say what has changed on a page, as in "other data and other text"."""
    if not changes:
        return _CHANGES["text"]
    return " and ".join([_CHANGES.get(change) or kind_in_words(change) for change in changes])


def _describe_sibling(verdict: Verdict, unnamed: str) -> str:
    """Say which page a new page is a sibling of, and by which mark."""
    mark = mark_of_sibling(verdict)
    if mark is None:
        return ""
    return f", a sibling of {printable(verdict.rejected or unnamed)}: {kind_in_words(mark)}"


def _describe_coverage(coverage: Coverage) -> str:
    """Say how much of a page is new, and which page has most of the rest."""
    url, words = coverage.sources[0]
    source = printable(url or "an unknown page")
    if len(coverage.sources) > 1:
        source += f" and {len(coverage.sources) - 1} more"
    return f"{coverage.share_new or 0:.0%} of its words new, {words:,} words on {source}"
