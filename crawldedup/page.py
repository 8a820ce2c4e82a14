"""The pages that users pass in, with everything they know about them."""

from dataclasses import dataclass
from types import NoneType
from typing import Final, NamedTuple, TypedDict

from crawldedup import checks
from crawldedup.errors import ConfigurationError
from crawldedup.fingerprinting.bits import Fingerprint, check_fingerprint
from crawldedup.options import check_similarity

WORST_RANK: Final = 255
"""The worst rank of a page. A rank takes one byte of a page's record."""

_check_rank: Final = checks.whole(0, WORST_RANK)


class _Type(NamedTuple):
    """The types that a field of a page may have."""

    classes: tuple[type, ...]
    allowed: str  #: The same in words, for the error.


_TEXT: Final = _Type((str,), "a str")
_OPTIONAL_TEXT: Final = _Type((str, NoneType), "a str or None")
_FLAG: Final = _Type((bool,), "True or False")
_TYPES: Final = {
    "url": _TEXT,
    "html": _Type((bytes, str, NoneType), "bytes or str"),
    "fingerprint": _Type(
        (Fingerprint, NoneType),
        "one that `Deduplicator.fingerprint` or `crawldedup.fingerprint` made",
    ),
    "text": _OPTIONAL_TEXT,
    "title": _OPTIONAL_TEXT,
    "encoding": _OPTIONAL_TEXT,
    "identity": _OPTIONAL_TEXT,
    "scope_key": _OPTIONAL_TEXT,
    "canonical": _OPTIONAL_TEXT,
    "remember": _FLAG,
    "delivered": _FLAG,
}
"""The types of the fields of `Page`, except for numbers."""


class SentPageValues(TypedDict, total=False):
    """The values of a page that a client may send to a service, by keyword.

    `delivered` isn't among them, because only the process that delivers pages can tell the store.
    """

    html: bytes | str | None
    text: str | None
    fingerprint: Fingerprint | None
    title: str | None
    encoding: str | None
    identity: str | None
    scope_key: str | None
    similarity: float | None
    canonical: str | None
    remember: bool
    rank: int
    revisit_similarity: float | None


class PageValues(SentPageValues, total=False):
    """The arguments of `Page` except for the URL, for functions that take them by keyword."""

    delivered: bool


@dataclass(frozen=True, slots=True)
class PageId:
    """The identity of a page: its URL or another name, within its scope."""

    url: str
    identity: str | None = None
    scope_key: str | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """One page, given as `html`, as `text`, or as a `fingerprint` that was made elsewhere.

    Attributes:
        url: The URL of the page. It can be empty if nothing depends on it.
        html: The HTML as it was received. The main text is extracted from it.
        text: The main text, if you have extracted it yourself.
        fingerprint: A fingerprint made with the key and the options of the index.
        title: The title of `text`. On one site, texts with different titles are different content.
        encoding: The encoding that the server declared for `html`, as in its `Content-Type`.
        identity: The name of the page, by default the normal form of its URL. A page with the same
            name is a revisit, or a duplicate as long as it belongs to another running process.
        scope_key: The name of the site, the spider or another group of pages that may be compared,
            instead of the group that the option `scope` chooses.
        similarity: Overrides the option for this page: above 0.5 and at most 1.
        canonical: The URL that the page names as its original. The page is a duplicate of that one
            even if its similarity is lower by 0.1.
        remember: With False, nothing is changed, and the page is only a revisit if it resembles the
            remembered one.
        delivered: With False, the page doesn't keep other pages from being delivered if the process
            dies before `Deduplicator.deliver` is called.
        rank: From 0 (best) to 255. A duplicate with a better rank than its original replaces it in
            the index.
        revisit_similarity: A revisit with this similarity or more (above 0.5 and at most 1) counts
            as unchanged, and the text of the earlier visit stays remembered. With None, texts have
            to be equal.

    Raises:
        ConfigurationError: None of `html`, `text` and `fingerprint` is given, or more than one is,
            or a value is not allowed.

    Example:
        >>> from crawldedup import Deduplicator, Page
        >>> text = Page("https://a.example/", text="Closed on Monday.")
        >>> page = Page("https://b.example/", html="<p>Closed on Monday.</p>")
        >>> [str(verdict.kind) for verdict in Deduplicator().check_many([text, page])]
        ['thin', 'exact_duplicate']
    """

    url: str
    html: bytes | str | None = None
    text: str | None = None
    fingerprint: Fingerprint | None = None
    encoding: str | None = None
    identity: str | None = None
    scope_key: str | None = None
    similarity: float | None = None
    canonical: str | None = None
    remember: bool = True
    delivered: bool = True
    rank: int = 0
    revisit_similarity: float | None = None
    title: str | None = None

    @property
    def id(self) -> PageId:
        """The identity of the page."""
        return PageId(self.url, self.identity, self.scope_key)

    def __post_init__(self) -> None:
        for name, expected in _TYPES.items():
            value = getattr(self, name)
            if not isinstance(value, expected.classes):
                raise checks.refused(name, value, expected.allowed)
        for name in ("similarity", "revisit_similarity"):
            if getattr(self, name) is not None:
                check_similarity(name, getattr(self, name))
        # The check turns 1.0 into an int, because a float can't be written as a byte of the record.
        object.__setattr__(self, "rank", _check_rank("rank", self.rank))
        if self.fingerprint is not None:
            try:
                check_fingerprint(self.fingerprint)
            except (TypeError, ValueError, OverflowError) as error:
                raise ConfigurationError(
                    f"the fingerprint of {self.url!r} is not valid: {error}"
                ) from None
        if (self.html, self.text, self.fingerprint).count(None) != 2:
            raise ConfigurationError(
                f"the page {self.url!r} must have one of html, text and fingerprint"
            )
