"""The way of a page in front of the store: HTML to main text to words to fingerprint. Pure and picklable."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from crawldedup.errors import ConfigurationError, PageError
from crawldedup.facts.page_facts import DEFAULT_DISTINGUISH, check_distinguish, page_facts, text_facts
from crawldedup.fingerprinting.fingerprint import MIN_WORDS
from crawldedup.search.two_stage import TwoStage
from crawldedup.text.decode import tidy
from crawldedup.text.extract import TEXT_PROFILE, extract_page, get_extractor

if TYPE_CHECKING:
    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.search.method import Method
    from crawldedup.text.extract import Extractor

_LARGEST_MIN_WORDS = 1000


class PageReader:
    """Reads pages. A worker process is sent the names and numbers, and makes a reader of its own from them.

    `method` and `distinguish` as in `Deduplicator`. Raises ConfigurationError for what does not
    exist, and MissingDependencyError for what is not installed.
    """

    def __init__(
        self,
        extractor: str = "trafilatura",
        min_words: int = MIN_WORDS,
        *,
        method: Method | None = None,
        distinguish: str = DEFAULT_DISTINGUISH,
    ) -> None:
        if not isinstance(min_words, int) or not 1 <= min_words <= _LARGEST_MIN_WORDS:
            raise ConfigurationError(
                f"min_words is {min_words!r}; it must be a whole number from 1 to {_LARGEST_MIN_WORDS}"
            )
        check_distinguish(distinguish)
        if isinstance(method, str):
            raise ConfigurationError(
                f"method is {method!r}; it must be an object, "
                "which crawldedup.evaluation.methods.make_method makes from a name"
            )
        self.method: Method = TwoStage() if method is None else method
        self._extractor = _extractor(extractor)
        self._min_words = min_words
        self._distinguish = distinguish
        self._made_from = (extractor, min_words, method, distinguish)

    def __reduce__(self) -> tuple[object, ...]:
        return _make_reader, self._made_from

    @property
    def profile(self) -> str:
        """Names what decides the bits: indexes of different profiles are never compared."""
        return f"{self._extractor.name}/{TEXT_PROFILE}.{self._distinguish}/{self.method.profile}"

    def read(self, body: bytes | str, encoding: str | None = None) -> Fingerprint:
        """Fingerprint an HTML page. `encoding` is what the server declared. Raises PageError."""
        page = extract_page(body, encoding, self._extractor, min_words=self._min_words)
        facts = page_facts(page, self._distinguish)
        return self.method.fingerprint(page.main, min_words=self._min_words, identity=page.whole, facts=facts)

    def read_text(self, text: str) -> Fingerprint:
        """Fingerprint a text that is already extracted. Raises PageError if there is none."""
        tidied = tidy(text)
        if not tidied:
            raise PageError("empty", "the text is empty")
        facts = text_facts(tidied, self._distinguish)
        return self.method.fingerprint(tidied, min_words=self._min_words, identity=None, facts=facts)


def _make_reader(extractor: str, min_words: int, method: Method | None, distinguish: str) -> PageReader:
    return PageReader(extractor, min_words, method=method, distinguish=distinguish)


@cache
def _extractor(name: str) -> Extractor:
    return get_extractor(name)
