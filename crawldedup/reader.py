"""Read pages: from HTML or text to a fingerprint."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import mmh3

from crawldedup import checks
from crawldedup.errors import PageError
from crawldedup.extraction.area import area_of
from crawldedup.extraction.extract import TEXT_PROFILE, extract_page
from crawldedup.extraction.extractors import get_extractor
from crawldedup.facts.page_facts import page_facts, text_facts
from crawldedup.fingerprinting.anchors import paragraphs_of
from crawldedup.markup.limits import check_size
from crawldedup.search.two_stage import TwoStage
from crawldedup.text.canonical import NO_LINKS, HeadLinks, head_links
from crawldedup.text.decode import tidy
from crawldedup.text.kept import packed_text
from crawldedup.text.keys import NO_KEY

if TYPE_CHECKING:
    from crawldedup.extraction.html_page import HtmlPage
    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.options import Options
    from crawldedup.page import Page
    from crawldedup.search.method import Method
    from crawldedup.text.keys import Key


class PageContent(NamedTuple):
    """What is compared of a page: its text, the facts that tell it from others, and the whole of a short page.

    `source` is the page, None for a text. It is `unselected` if the area that was to be compared is not on it.
    """

    text: str
    facts: str | None = None
    whole: str | None = None
    source: HtmlPage | None = None
    unselected: bool = False

    @property
    def fact_lines(self) -> tuple[str, ...]:
        """The facts one by one."""
        return tuple(self.facts.split("\n")) if self.facts else ()


@dataclass(frozen=True, slots=True)
class ReadPage:
    """What came of reading a page: its fingerprint, and the canonical links in its head.

    It is `unselected` as in `PageContent`.
    """

    fingerprint: Fingerprint
    links: HeadLinks = NO_LINKS
    unselected: bool = False


class PageReader:
    """Reads pages as its options say. `method` is TwoStage() by default.

    Raises ConfigurationError for a wrong `method`, and MissingDependencyError for an extractor that is not installed.
    """

    def __init__(self, options: Options, method: Method | None = None) -> None:
        if method is not None and not hasattr(method, "fingerprint"):
            allowed = "an object, which crawldedup.evaluation.methods.make_method makes from a name"
            raise checks.refused("method", method, allowed)
        self.method: Method = method or TwoStage()
        self._options = options
        self._extractor = get_extractor(options.extractor)

    @property
    def profile(self) -> str:
        """The name of what decides the bits. Indexes of different profiles are never compared."""
        extractor = "-".join(filter(None, (self._extractor.name, self._extractor.version)))
        if areas := self._options.content:
            extractor += f"+{mmh3.hash(repr(areas), signed=False):08x}"
        return f"{extractor}/{TEXT_PROFILE}.{self._options.distinguish}/{self.method.profile}"

    def read(
        self,
        html: bytes | str | None = None,
        text: str | None = None,
        encoding: str | None = None,
        key: Key = NO_KEY,
        url: str | None = None,
    ) -> Fingerprint:
        """Return the fingerprint of a page. Raises PageError."""
        return self.fingerprint(self.content(html, text, encoding, url), key)

    def read_page(self, page: Page, key: Key = NO_KEY) -> ReadPage:
        """Return what came of reading a page. Raises PageError."""
        if page.fingerprint is not None:
            return ReadPage(page.fingerprint)
        content = self.content(page.html, page.text, page.encoding, page.url)
        links = NO_LINKS if content.source is None else head_links(content.source.tree)
        return ReadPage(self.fingerprint(content, key), links, content.unselected)

    def content(
        self,
        html: bytes | str | None = None,
        text: str | None = None,
        encoding: str | None = None,
        url: str | None = None,
    ) -> PageContent:
        """Return what is compared of HTML (`encoding` is what the server declared) or of a text. Raises PageError."""
        checks.body(html, text, encoding)
        distinguish = self._options.distinguish
        if text is None:
            area = area_of(self._options.content, url)
            page = extract_page(html or b"", encoding, self._extractor, min_words=self._options.min_words, area=area)
            return PageContent(page.main, page_facts(page, distinguish), page.whole, page.source, page.unselected)
        check_size(text)
        tidied = tidy(text)
        if not tidied:
            raise PageError("empty", "the text is empty")
        return PageContent(tidied, text_facts(tidied, distinguish))

    def fingerprint(self, content: PageContent, key: Key = NO_KEY) -> Fingerprint:
        """Return the fingerprint of what was read. A method other than `TwoStage` takes no key."""
        text, facts, whole, *_ = content
        method = self.method
        make = partial(method.fingerprint, key=key) if isinstance(method, TwoStage) else method.fingerprint
        page = make(text, min_words=self._options.min_words, identity=whole, facts=facts)
        if self._options.paragraphs is not None and not page.thin:
            page = replace(page, paragraphs=paragraphs_of(text, key))
        if not self._options.keep_texts:
            return page
        return replace(page, packed_text=packed_text("\n".join(filter(None, (whole or text, facts)))))
