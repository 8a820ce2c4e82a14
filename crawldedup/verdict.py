"""The answers for users: `Verdict` for a page that was checked, `Match` for a page that was found."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any, Self

from crawldedup.printable import printable
from crawldedup.scope import site_of


class Kind(StrEnum):
    """The kind of a page, compared with the pages seen before it."""

    NEW = "new"
    NEAR_DUPLICATE = "near_duplicate"
    EXACT_DUPLICATE = "exact_duplicate"
    REVISIT = "revisit"
    THIN = "thin"


class ParagraphKind(StrEnum):
    """What a paragraph is, compared with those of earlier pages.

    `boilerplate` stands on so many pages that it tells nothing; a `short` one has too few words to be judged.
    """

    NEW = "new"
    KNOWN = "known"
    BOILERPLATE = "boilerplate"
    SHORT = "short"


@dataclass(frozen=True, slots=True)
class KnownParagraph:
    """A paragraph of a page: its beginning, its words, how many of them are known, and from the page of which URL.

    It has at least 80 words, unless the page has fewer: short lines of the main text are joined, long ones cut. It is
    `known` if half of it is.
    """

    excerpt: str
    words: int
    known_words: int
    kind: ParagraphKind
    url: str | None = None

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return the paragraph that has these values."""
        url = values["url"]
        kind = ParagraphKind(values["kind"])
        words, known = _words(values["words"]), _words(values["known_words"])
        return cls(str(values["excerpt"]), words, known, kind, None if url is None else str(url))


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a page stands on earlier pages, in words of its paragraphs.

    `sources` are the URLs of these pages and the words of each, most first; a URL is empty if the index holds none.
    The page `is_partial` if the share of its words that is new is below the wanted one.
    """

    new_words: int
    known_words: int
    boilerplate_words: int
    is_partial: bool
    sources: tuple[tuple[str, int], ...] = ()
    paragraphs: tuple[KnownParagraph, ...] = ()

    @property
    def share_new(self) -> float | None:
        """The share of the new words among the new and the known ones; None if there are neither."""
        told = self.new_words + self.known_words
        return self.new_words / told if told else None

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        lists = {"sources": list(map(list, self.sources)), "paragraphs": list(map(asdict, self.paragraphs))}
        return {**own, **lists, "share_new": self.share_new}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return the coverage of which `as_dict` gave these values. Raises ValueError, LookupError or TypeError."""
        return cls(
            new_words=_words(values["new_words"]),
            known_words=_words(values["known_words"]),
            boilerplate_words=_words(values["boilerplate_words"]),
            is_partial=bool(values["is_partial"]),
            sources=tuple((str(url), _words(words)) for url, words in values["sources"]),
            paragraphs=tuple(KnownParagraph.from_dict(each) for each in values["paragraphs"]),
        )


def _words(value: object) -> int:
    if not isinstance(value, int) or not 0 <= value < 1 << 31:
        raise ValueError(f"{value!r} is no number of words")
    return value


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer for one page.

    `original` is the URL of the earlier page, `similarity` the estimated Jaccard similarity (0 to 1) of the two pages'
    word 3-shingles, `hamming` the number of differing search bits. All three are None for a page that is `new` or
    `thin`; `original` is None, too, if the index holds no URLs. `copies` counts the duplicates of the earlier page so
    far, with this page. `changed` is True for a `revisit` with other text than was delivered last, `abandoned` for one
    that was never delivered, because its crawler died. The earlier page of a `revisit` is the page itself with that
    text: `similarity` and `hamming` tell how much of it is left, but for texts that are too short. It is near 0 if
    product attributes differ. `replaces` is True for a duplicate of better rank than its original, which it replaces
    in the index. `difference` says in a line how a near duplicate, or a changed page, differs from the earlier one,
    `[-earlier-] {+this+}`, where that one's text was kept. With the option `paragraphs`, `coverage` tells of a page
    that is no duplicate how much of it stands on earlier pages. `probes` and `candidates` count the work: ranges
    planned, and remembered pages compared.
    """

    kind: Kind
    url: str
    original: str | None = None
    similarity: float | None = None
    hamming: int | None = None
    words: int = 0
    copies: int = 0
    changed: bool = False
    abandoned: bool = False
    replaces: bool = False
    probes: int = 0
    candidates: int = 0
    difference: str | None = None
    coverage: Coverage | None = None

    @property
    def is_duplicate(self) -> bool:
        """True for `near_duplicate` and `exact_duplicate`."""
        return self.kind in (Kind.NEAR_DUPLICATE, Kind.EXACT_DUPLICATE)

    @property
    def is_partial(self) -> bool:
        """True for a page of whose words too few are new; see `Coverage`."""
        return self.coverage is not None and self.coverage.is_partial

    @property
    def is_across_sites(self) -> bool:
        """True for a duplicate of a page on another site; False, too, if the index holds no URLs."""
        return self.is_duplicate and self.original is not None and site_of(self.original) != site_of(self.url)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        # `asdict` would copy each value deeply, which takes longer than all else that an answer of the service takes.
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        derived = {name: getattr(self, name) for name in ("is_duplicate", "is_partial", "is_across_sites")}
        coverage = None if self.coverage is None else self.coverage.as_dict()
        return {**own, "kind": str(self.kind), "coverage": coverage, **derived}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return the verdict of which `as_dict` gave these values, perhaps that of an earlier version."""
        given = {each.name: values[each.name] for each in fields(cls) if each.name in values}
        coverage = given.get("coverage")
        given["coverage"] = None if coverage is None else Coverage.from_dict(coverage)
        return cls(**{**given, "kind": Kind(given["kind"])})


@dataclass(frozen=True, slots=True)
class Match:
    """A remembered page that resembles the page asked about. `url` is empty if the index holds no URLs."""

    url: str
    similarity: float
    hamming: int
    exact: bool
    seen_at: int
    copies: int

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON. `seen_at` is in seconds since 1970 (UTC)."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Return the match of which `as_dict` gave these values, perhaps among others."""
        return cls(**{each.name: values[each.name] for each in fields(cls)})


def describe(verdict: Verdict, *, unnamed: str = "an unknown page") -> str:
    """Return what a page is, in words that are safe to show. `unnamed` stands for an original without URL."""
    original = printable(verdict.original or unnamed) + (", which it replaces" if verdict.replaces else "")
    difference = f": {printable(verdict.difference)}" if verdict.difference else ""
    difference += _covered(verdict.coverage)
    match verdict.kind:
        case Kind.EXACT_DUPLICATE:
            return f"exact duplicate of {original}"
        case Kind.NEAR_DUPLICATE:
            return f"near duplicate ({verdict.similarity or 0:.3f}) of {original}{difference}"
        case Kind.REVISIT:
            if verdict.changed:
                similarity = f" ({verdict.similarity:.3f})" if verdict.similarity is not None else ""
                return f"known, with other text{similarity}{difference}"
            is_same = verdict.similarity in (None, 1)
            same = "known and unchanged" if is_same else f"known and hardly changed ({verdict.similarity:.3f})"
            return same + difference
        case Kind.NEW | Kind.THIN:
            return f"{verdict.kind}{difference}"


def _covered(coverage: Coverage | None) -> str:
    if coverage is None or not coverage.sources:
        return ""
    (url, words), *others = coverage.sources
    more = f" and {len(others)} more" if others else ""
    source = printable(url or "an unknown page")
    return f", {coverage.share_new or 0:.0%} of its words new, {words:,} words on {source}{more}"
