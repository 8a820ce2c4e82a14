"""Name a page, and hand one of many to `check_many`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from crawldedup import checks
from crawldedup.errors import ConfigurationError
from crawldedup.fingerprinting.fingerprint import Fingerprint
from crawldedup.options import check_similarity

WORST_RANK: Final = 255

check_rank: Final = checks.whole(0, WORST_RANK)


@dataclass(frozen=True, slots=True)
class PageRef:
    """Names a page by its `url`, or by the `identity` given instead, within its scope or the `scope_key` given instead.

    Raises ConfigurationError for anything but texts.
    """

    url: str
    identity: str | None = None
    scope_key: str | None = None

    def __post_init__(self) -> None:
        checks.string("url", self.url)
        checks.optional_string("identity", self.identity)
        checks.optional_string("scope_key", self.scope_key)


@dataclass(frozen=True, slots=True)
class Page:
    """Holds one page for `check_many` or `compare`.

    A page is given as `html`, as `text`, or as a `fingerprint` made elsewhere. The rest is as in
    `Deduplicator.check_fingerprint`.

    Attributes:
        url: The URL of the page. It may be empty where nothing depends on it.
        html: The HTML as it was received.
        text: The main text, if you have extracted it yourself.
        fingerprint: A fingerprint made with the key and the options of the index.
        encoding: The encoding that the server declared for `html`, as in its `Content-Type`.
        identity: The name of the page; by default its canonical URL.
        scope_key: The site, the spider or another name, in place of what the option `scope` says of the URL.
        similarity: Overrides the option for this page: above 0.5 and at most 1.
        canonical: The URL that the page names as its original. If that page is remembered and resembles this one from
            0.1 below the similarity on, this lower similarity is used.
        remember: With False the page is looked up, and nothing is changed.
        delivered: False if the page is delivered only when `Deduplicator.deliver` is called.
        rank: The rank among copies, from 0 (best) to 255 (worst).
        revisit_similarity: From which similarity on a revisit is unchanged, above 0.5 and at most 1. None asks for
            equal texts.

    Raises:
        ConfigurationError: Not exactly one of `html`, `text` and `fingerprint` is given, or a value is not allowed.

    Example:
        >>> from crawldedup import Deduplicator, Page
        >>> pages = [
        ...     Page("https://a.example/", text="Closed on Monday."),
        ...     Page("https://b.example/", html="<p>Closed on Monday.</p>"),
        ... ]
        >>> [str(verdict.kind) for verdict in Deduplicator().check_many(pages)]
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

    def __post_init__(self) -> None:
        PageRef(self.url, self.identity, self.scope_key)
        checks.optional_string("canonical", self.canonical)
        # 1.0 is a whole number, too, but no byte of a record.
        object.__setattr__(self, "rank", check_rank("rank", self.rank))
        for name in ("similarity", "revisit_similarity"):
            checks.optional(check_similarity)(name, getattr(self, name))
        if [self.html is None, self.text is None, self.fingerprint is None].count(True) != 2:
            raise ConfigurationError(f"the page {self.url!r} must have one of html, text and fingerprint")
        if self.fingerprint is None:
            checks.body(self.html, self.text, self.encoding)
        elif not isinstance(self.fingerprint, Fingerprint):
            raise ConfigurationError(
                f"the page {self.url!r} has a fingerprint that is a {type(self.fingerprint).__name__}; it must be one "
                f"that `Deduplicator.fingerprint` or `crawldedup.fingerprint` made"
            )

    @property
    def ref(self) -> PageRef:
        """Return the name of the page."""
        return PageRef(self.url, self.identity, self.scope_key)
