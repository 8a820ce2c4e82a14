"""One page of many: what `check_many` takes."""

from __future__ import annotations

from dataclasses import dataclass

from crawldedup.arguments import check_address, check_body
from crawldedup.errors import ConfigurationError
from crawldedup.fingerprinting.fingerprint import Fingerprint


@dataclass(frozen=True, slots=True)
class PageInput:
    """A page as `html` (with its declared `encoding`), as `text`, or as a `fingerprint` made elsewhere.

    The rest is as in `Deduplicator.check_fingerprint`. Raises ConfigurationError unless exactly one of the three is
    given, and everything is of its type.
    """

    url: str
    html: bytes | str | None = None
    text: str | None = None
    fingerprint: Fingerprint | None = None
    encoding: str | None = None
    identity: str | None = None
    scope_key: str | None = None
    similarity: float | None = None

    def __post_init__(self) -> None:
        check_address(self.url, self.identity, self.scope_key)
        if [self.html is None, self.text is None, self.fingerprint is None].count(True) != 2:
            raise ConfigurationError(f"the page {self.url!r} must have one of html, text and fingerprint")
        if self.fingerprint is None:
            check_body(self.html, self.text, self.encoding)
        elif not isinstance(self.fingerprint, Fingerprint):
            raise ConfigurationError(
                f"the page {self.url!r} has a fingerprint that is a {type(self.fingerprint).__name__}; take what "
                f"`Deduplicator.fingerprint` or `crawldedup.fingerprint` made"
            )
