"""A page as users give it."""

from dataclasses import dataclass
from types import NoneType
from typing import Any, Final, TypedDict

from crawldedup import checks
from crawldedup.errors import ConfigurationError
from crawldedup.fingerprinting.bits import Fingerprint, check_fingerprint
from crawldedup.options import check_similarity

WORST_RANK: Final = 255
_check_rank: Final = checks.whole(0, WORST_RANK)
_TYPES: Final[dict[str, tuple[Any, str]]] = {
    "url": (str, "a str"),
    "html": ((bytes, str, NoneType), "bytes or str"),
    "fingerprint": (
        (Fingerprint, NoneType),
        "one that `Deduplicator.fingerprint` or `crawldedup.fingerprint` made",
    ),
    **dict.fromkeys(
        ("text", "encoding", "identity", "scope_key", "canonical"),
        ((str, NoneType), "a str or None"),
    ),
    **dict.fromkeys(("remember", "delivered"), (bool, "True or False")),
}


class SentPageValues(TypedDict, total=False):
    """The values of a page that a client may send to a service, by keyword.

    `delivered` is not among them: only the process that delivers pages can tell the store.
    """

    html: bytes | str | None
    text: str | None
    fingerprint: Fingerprint | None
    encoding: str | None
    identity: str | None
    scope_key: str | None
    similarity: float | None
    canonical: str | None
    remember: bool
    rank: int
    revisit_similarity: float | None


class PageValues(SentPageValues, total=False):
    """The values of a page beside its URL, by keyword. `Page` describes and checks them."""

    delivered: bool


@dataclass(frozen=True, slots=True)
class PageId:
    """What a page is known by: its URL or another name, within its scope."""

    url: str
    identity: str | None = None
    scope_key: str | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Holds one page, given as `html`, as `text`, or as a `fingerprint` made elsewhere.

    Attributes:
        url: The URL of the page, which may be empty where nothing depends on it.
        html: The HTML as it was received. The main text is taken from it.
        text: The main text, if you have extracted it yourself.
        fingerprint: A fingerprint made with the key and the options of the index.
        encoding: The encoding that the server declared for `html`, as in its `Content-Type`.
        identity: The name of the page, by default its canonical URL. One of the same name is a
            revisit, or a duplicate while another process at work has it.
        scope_key: The site, the spider or another name, in place of what the option `scope` says of
            the URL.
        similarity: Overrides the option for this page: above 0.5 and at most 1.
        canonical: The URL that the page names as its original: a similarity of 0.1 less is enough
            for its duplicate.
        remember: With False, nothing is changed, and a page is a revisit only while it resembles
            the remembered one.
        delivered: With False, the page holds back no other if the process dies before
            `Deduplicator.deliver` is called.
        rank: From 0 (best) to 255. A duplicate of better rank than its original replaces it in the
            index.
        revisit_similarity: From this similarity on, above 0.5 and at most 1, a revisit is
            unchanged, and the text of the earlier visit stays remembered. None asks for equal
            texts.

    Raises:
        ConfigurationError: Not exactly one of `html`, `text` and `fingerprint` is given, or a value
            is not allowed.

    Example:
        >>> from crawldedup import Deduplicator, Page
        >>> text = Page("https://a.example/", text="Closed on Monday.")
        >>> page = Page("https://b.example/", html="<p>Closed on Monday.</p>")
        >>> [str(each.kind) for each in Deduplicator().check_many([text, page])]
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

    @property
    def id(self) -> PageId:
        """What the page is known by."""
        return PageId(self.url, self.identity, self.scope_key)

    def __post_init__(self) -> None:
        for name, (kind, allowed) in _TYPES.items():
            if not isinstance(getattr(self, name), kind):
                raise checks.refused(name, getattr(self, name), allowed)
        for name in ("similarity", "revisit_similarity"):
            if getattr(self, name) is not None:
                check_similarity(name, getattr(self, name))
        # 1.0 is a whole number, too, but no byte of a record.
        object.__setattr__(self, "rank", _check_rank("rank", self.rank))
        if self.fingerprint is not None:
            try:
                check_fingerprint(self.fingerprint)
            except (TypeError, ValueError, OverflowError) as error:
                raise ConfigurationError(
                    f"the fingerprint of {self.url!r} cannot be one: {error}"
                ) from None
        if (self.html, self.text, self.fingerprint).count(None) != 2:
            raise ConfigurationError(
                f"the page {self.url!r} must have one of html, text and fingerprint"
            )
