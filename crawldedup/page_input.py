"""One page of many: what `check_many` takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawldedup.errors import ConfigurationError

if TYPE_CHECKING:
    from crawldedup.hashing.fingerprint import Fingerprint


@dataclass(frozen=True, slots=True)
class PageInput:
    """A page as `html` (with its declared `encoding`), as `text`, or as a `fingerprint` made elsewhere.

    The rest is as in `Deduplicator.judge`. Raises ConfigurationError unless exactly one of the three is given.
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
        if [self.html, self.text, self.fingerprint].count(None) != 2:
            raise ConfigurationError(f"the page {self.url!r} must have one of html, text and fingerprint")
