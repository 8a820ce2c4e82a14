"""Read pages: from HTML or text to the content that is compared, and to its fingerprint."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import mmh3

from crawldedup.errors import ConfigurationError, CrawlDedupError, KeyMismatchError, PageError
from crawldedup.fingerprinting.anchors import paragraphs_of
from crawldedup.fingerprinting.bits import PROFILE, Fingerprint, Source, fingerprints
from crawldedup.key import NO_KEY, Key
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.reading.area import area_of
from crawldedup.reading.difference import packed_text
from crawldedup.reading.extract import TEXT_PROFILE, extract_page, get_extractor
from crawldedup.reading.facts.declared import numbers, plain
from crawldedup.reading.facts.page_facts import page_facts, text_facts
from crawldedup.reading.html import check_size, tidy
from crawldedup.reading.volatile import (
    NOTHING,
    Known,
    Numbers,
    changing_at,
    numbers_of,
    rest_of,
    without_volatile,
)
from crawldedup.urls import NO_LINKS, HeadLinks, claimed_url

_MOST_LEFT_OUT: Final = 8  # lines of a page are shown


@dataclass(frozen=True, slots=True)
class PageContent(Source):
    """What is compared of a page, and the canonical links in its head.

    `unselected` if the wanted area is not on it.

    `left_out` are lines with numbers that change with every load, `numbers` those of lines that may
    do so.
    """

    links: HeadLinks = NO_LINKS
    unselected: bool = False
    left_out: tuple[str, ...] = ()
    numbers: Numbers = field(default_factory=dict)

    @property
    def fact_lines(self) -> tuple[str, ...]:
        return tuple(self.facts.split("\n")) if self.facts else ()


@dataclass(frozen=True, slots=True)
class ReadPage:
    """What came of reading a page: its fingerprint, the canonical links in its head, and what is
    compared of it.
    """

    fingerprint: Fingerprint
    links: HeadLinks = NO_LINKS
    unselected: bool = False
    text: str | None = None
    facts: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    numbers: Numbers = field(default_factory=dict)


Content = (
    PageContent | Fingerprint | PageError
)  # what is known of a page before its fingerprint is made
Read = Fingerprint | CrawlDedupError  # then its fingerprint, or why there is none


class PageReader:
    """Reads pages as its options say.

    Raises MissingDependencyError for an extractor that is not installed.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._extractor = get_extractor(options.extractor)

    @property
    def profile(self) -> str:
        """The name of what decides the bits: indexes of different profiles are never compared."""
        extractor = "-".join(filter(None, (self._extractor.name, self._extractor.version)))
        if areas := self._options.content:
            extractor += f"+{mmh3.hash(repr(areas), signed=False):08x}"
        return f"{extractor}/{TEXT_PROFILE}.{self._options.distinguish}/{PROFILE}"

    def read_page(self, page: Page, key: Key = NO_KEY, known: Known = NOTHING) -> ReadPage:
        """Return what came of reading a page, of which `known` numbers are left out.

        Raises PageError.
        """
        if page.fingerprint is not None:
            return ReadPage(page.fingerprint)
        content = self.content(page, known)
        (fingerprint,) = self.fingerprints([content], key)
        shown = (content.text, content.fact_lines, content.left_out, content.numbers)
        return ReadPage(fingerprint, content.links, content.unselected, *shown)

    def content(self, page: Page, known: Known = NOTHING) -> PageContent:
        """Return what is compared of a page of HTML or text. Raises PageError."""
        options, html = self._options, page.html or b""
        if page.text is not None:
            check_size(page.text)
            if text := tidy(page.text):
                return PageContent(text, text_facts(text, options.distinguish))
            raise PageError("empty", "the text is empty")
        area = area_of(options.content, page.url)
        read = extract_page(
            html, page.encoding, self._extractor, min_words=options.min_words, area=area
        )
        facts = page_facts(read, options.distinguish)
        source = read.source
        content = PageContent(
            read.main, facts, read.whole, None, read.core, source.links, read.unselected
        )
        is_same = not known and options.volatile is not True
        return (
            content
            if is_same
            else self._without_volatile(page.url, content, source.headings, known)
        )

    def _without_volatile(
        self, url: str, content: PageContent, headings: set[str], known: Known
    ) -> PageContent:
        """Leave out what is known to change with every load, and note what may."""
        if self._options.volatile is True:
            rows = [line for line in content.fact_lines if line.startswith("row ")]
            lines = [*content.text.split("\n"), *(content.whole or "").split("\n"), *rows]
            content = replace(content, numbers=numbers_of(lines, headings))
        changing = known and changing_at(known, url, claimed_url(url, content.links) or url)
        if not changing:
            return content
        text, left_out = without_volatile(content.text, changing, headings)
        whole, others = without_volatile(content.whole or "", changing, headings)
        # Beside a product, the numbers of such lines were taken for its own.
        counted = {*numbers(plain("\n".join(left_out)), units=True)}.difference(text.split())
        kept = [line for line in content.fact_lines if line.removeprefix("number ") not in counted]
        return replace(
            content,
            text=text,
            whole=content.whole and whole,
            core=content.core and without_volatile(content.core, changing, headings)[0],
            facts="\n".join(filter(None, [rest_of(line, changing) for line in kept])) or None,
            full=content if left_out or others else None,
            left_out=tuple(dict.fromkeys([*left_out, *others]))[:_MOST_LEFT_OUT],
        )

    def try_content(self, page: object, known: Known = NOTHING) -> Content:
        """Return what is compared of a page, why that cannot be read, or the fingerprint that was
        given.
        """
        if not isinstance(page, Page):
            raise ConfigurationError(
                f"one of the pages is a {type(page).__name__}; each must be a Page"
            )
        if page.fingerprint is not None:
            return page.fingerprint
        try:
            return self.content(page, known)
        except PageError as error:
            return error

    def try_fingerprints(
        self, pages: Sequence[Page], contents: Sequence[Content], key: Key
    ) -> list[Read]:
        """Return the fingerprint of each page, or why there is none for an index of this key."""
        own = iter(
            self.fingerprints(
                [content for content in contents if isinstance(content, PageContent)], key
            )
        )
        reads: list[Read] = []
        for page, content in zip(pages, contents, strict=True):
            reads.append(next(own) if isinstance(content, PageContent) else content)
            if isinstance(content, Fingerprint) and content.key_id != key.id:
                reads[-1] = KeyMismatchError(
                    f"the fingerprint of {page.url!r} was made with the key {content.key_id:016x} "
                    f"and the index has the key {key.id:016x} (0: none): make it again with this "
                    "Deduplicator, or with its `key`"
                )
        return reads

    def fingerprints(self, contents: Sequence[PageContent], key: Key = NO_KEY) -> list[Fingerprint]:
        options = self._options
        results = fingerprints(contents, min_words=options.min_words, key=key)
        for place, each in enumerate(contents if options.keep_texts or options.paragraphs else ()):
            if options.paragraphs and not results[place].thin:
                results[place] = replace(results[place], paragraphs=paragraphs_of(each.text, key))
            if options.keep_texts:
                text = "\n".join(filter(None, (each.whole or each.text, each.facts)))
                results[place] = replace(results[place], packed_text=packed_text(text))
        return results
