"""Read pages: from HTML or text to a fingerprint. Pure and picklable."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from crawldedup.checks import refused
from crawldedup.errors import PageError
from crawldedup.facts.page_facts import page_facts, text_facts
from crawldedup.search.two_stage import TwoStage
from crawldedup.text.decode import tidy
from crawldedup.text.extract import TEXT_PROFILE, extract_page, get_extractor

if TYPE_CHECKING:
    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.options import Options
    from crawldedup.search.method import Method
    from crawldedup.text.extract import Extractor


class PageReader:
    """Reads pages with the `extractor`, `min_words` and `distinguish` of its options.

    `method` is TwoStage() by default. Raises ConfigurationError for another thing, and MissingDependencyError for
    an extractor that is not installed.
    """

    def __init__(self, options: Options, method: Method | None = None) -> None:
        if method is not None and not hasattr(method, "fingerprint"):
            raise refused(
                "method", method, "an object, which crawldedup.evaluation.methods.make_method makes from a name"
            )
        self.method: Method = method or TwoStage()
        self._options = options
        self._extractor = _extractor(options.extractor)
        self._made_from = (options, method)

    def __reduce__(self) -> tuple[object, ...]:
        return PageReader, self._made_from

    @property
    def profile(self) -> str:
        """The name of what decides the bits. Indexes of different profiles are never compared."""
        return f"{self._extractor.name}/{TEXT_PROFILE}.{self._options.distinguish}/{self.method.profile}"

    def read(self, body: bytes | str, encoding: str | None = None) -> Fingerprint:
        """Fingerprint an HTML page. `encoding` is what the server declared. Raises PageError."""
        options = self._options
        page = extract_page(body, encoding, self._extractor, min_words=options.min_words)
        facts = page_facts(page, options.distinguish)
        return self.method.fingerprint(page.main, min_words=options.min_words, identity=page.whole, facts=facts)

    def read_text(self, text: str) -> Fingerprint:
        """Fingerprint a text that is already extracted. Raises PageError if there is none."""
        tidied = tidy(text)
        if not tidied:
            raise PageError("empty", "the text is empty")
        facts = text_facts(tidied, self._options.distinguish)
        return self.method.fingerprint(tidied, min_words=self._options.min_words, identity=None, facts=facts)


@cache
def _extractor(name: str) -> Extractor:
    return get_extractor(name)
