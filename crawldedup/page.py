"""Read pages: from HTML or text to a fingerprint. Pure and picklable."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

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


class PageContent(NamedTuple):
    """What is compared of a page: its text, the facts that tell it from others, and the whole of a short page."""

    text: str
    facts: str | None = None
    whole: str | None = None


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
        return self.fingerprint(self.extract(body, encoding))

    def read_text(self, text: str) -> Fingerprint:
        """Fingerprint a text that is already extracted. Raises PageError if there is none."""
        return self.fingerprint(self.extract_text(text))

    def extract(self, body: bytes | str, encoding: str | None = None) -> PageContent:
        """Return what is compared of an HTML page. Raises PageError."""
        page = extract_page(body, encoding, self._extractor, min_words=self._options.min_words)
        return PageContent(page.main, page_facts(page, self._options.distinguish), page.whole)

    def extract_text(self, text: str) -> PageContent:
        """Return what is compared of a text. Raises PageError if there is none."""
        tidied = tidy(text)
        if not tidied:
            raise PageError("empty", "the text is empty")
        return PageContent(tidied, text_facts(tidied, self._options.distinguish))

    def fingerprint(self, content: PageContent) -> Fingerprint:
        """Fingerprint what was extracted."""
        text, facts, whole = content
        return self.method.fingerprint(text, min_words=self._options.min_words, identity=whole, facts=facts)


@cache
def _extractor(name: str) -> Extractor:
    return get_extractor(name)
