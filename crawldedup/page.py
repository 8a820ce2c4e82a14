"""The way of a page in front of the store: HTML to main text to words to fingerprint. Pure and picklable."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from crawldedup.errors import ConfigurationError, PageError
from crawldedup.hashing.fingerprint import MIN_WORDS, PROFILE, Fingerprint, fingerprint
from crawldedup.text.decode import tidy
from crawldedup.text.extract import TEXT_PROFILE, extract_page, get_extractor

if TYPE_CHECKING:
    from crawldedup.text.extract import Extractor

_LARGEST_MIN_WORDS = 1000


@dataclass(frozen=True, slots=True)
class PageReader:
    """Reads pages. Holds names and numbers only, so that it can be sent to a worker process.

    Raises ConfigurationError for an extractor that does not exist or is not installed.
    """

    extractor: str = "trafilatura"
    min_words: int = MIN_WORDS

    def __post_init__(self) -> None:
        if not isinstance(self.min_words, int) or not 1 <= self.min_words <= _LARGEST_MIN_WORDS:
            raise ConfigurationError(
                f"min_words is {self.min_words!r}; it must be a whole number from 1 to {_LARGEST_MIN_WORDS}"
            )
        _extractor(self.extractor)

    @property
    def profile(self) -> str:
        """Names what decides the bits: indexes of different profiles are never compared."""
        return f"{self.extractor}/{TEXT_PROFILE}/{PROFILE}"

    def read(self, body: bytes | str, encoding: str | None = None) -> Fingerprint:
        """Fingerprint an HTML page. `encoding` is what the server declared. Raises PageError."""
        page = extract_page(body, encoding, _extractor(self.extractor), min_words=self.min_words)
        return fingerprint(page.main, min_words=self.min_words, identity=page.whole)

    def read_text(self, text: str) -> Fingerprint:
        """Fingerprint a text that is already extracted. Raises PageError if there is none."""
        tidied = tidy(text)
        if not tidied:
            raise PageError("empty", "the text is empty")
        return fingerprint(tidied, min_words=self.min_words)


@cache
def _extractor(name: str) -> Extractor:
    return get_extractor(name)
