"""Read pages: from HTML or text to the content that is compared, and to its fingerprint.

Reading a page takes three steps, and each has its own type of value:

1. `Page` is what the user gives.
2. `PageContent` is everything that was taken from its HTML or text: the values that the fingerprint
   is made from, and those that describe the page. `Content` is the type that also covers pages
   that came as a fingerprint, or can't be read.
3. `Fingerprint` is what an index compares. `ReadPage` is a fingerprint with the part of the
   `PageContent` that callers use. Worker processes send it back, so it leaves out the texts that
   only the fingerprint needs.
"""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Self

from crawldedup.errors import ConfigurationError, CrawlDedupError, KeyMismatchError, PageError
from crawldedup.fingerprinting.anchors import paragraphs_of
from crawldedup.fingerprinting.bits import PROFILE, Fingerprint, Source, fingerprints
from crawldedup.fingerprinting.tokenize import without_ignored
from crawldedup.key import NO_KEY, Key
from crawldedup.marks.quiet import ignored_at
from crawldedup.marks.values import ShownMarks
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.reading.ages import without_ages
from crawldedup.reading.area import area_of
from crawldedup.reading.carried import carries_view
from crawldedup.reading.difference import packed_text
from crawldedup.reading.extract import TEXT_PROFILE, PageText, extract_page, get_extractor
from crawldedup.reading.html import HtmlPage, check_size, tidy
from crawldedup.reading.marks import marks_of_text, read_marks
from crawldedup.reading.omissions import Omission, omissions_of
from crawldedup.reading.rest import rest_of
from crawldedup.reading.shells import Shell, shell_of
from crawldedup.reading.shown_name import lacks_heading, shown_name
from crawldedup.reading.volatile import (
    NOTHING,
    Changing,
    Known,
    Numbers,
    changing_at,
    numbers_of,
    without_repeated,
    without_volatile,
)
from crawldedup.urls import NO_LINKS, HeadLinks, claimed_url
from crawldedup.verdict import MainText

_MOST_LEFT_OUT: Final = 8
"""The most volatile lines of a page that are shown."""


@dataclass(frozen=True, slots=True)
class PageContent(Source):
    """Everything that was taken from a page of HTML or text.

    The fields of `Source` are what the fingerprint is made of. Those below only describe the page.
    """

    unselected: bool = False
    """True if the area that the option `content` selects isn't on the page."""

    left_out: tuple[str, ...] = ()
    """Volatile lines that aren't compared, because their numbers change with every load."""

    numbers: Numbers = field(default_factory=dict)
    """The numbers of the lines that may turn out to be volatile."""

    carries_view: bool = False
    """True if the links of the page carry a session in its URL to other pages."""
    by_url: bool = False
    """True if the same HTML at another URL may be different content, as for a shell."""

    main: MainText | None = None
    """The main text for users with its heading, and the name of the page, if they are requested."""


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page that was read: its fingerprint, and the part of its `PageContent` that callers use.

    Only `fingerprint` is set for a page that was given as a fingerprint. Unless the page is to be
    shown, a worker process leaves out `text`, and cuts `marks` to what reasons name. `omissions`
    are only summed up for pages that are to be shown. `main` is for users, if they asked for it.
    """

    fingerprint: Fingerprint
    links: HeadLinks = NO_LINKS
    unselected: bool = False
    text: str | None = None
    marks: ShownMarks | None = None
    left_out: tuple[str, ...] = ()
    numbers: Numbers = field(default_factory=dict)
    carries_view: bool = False
    by_url: bool = False
    omissions: tuple[Omission, ...] = ()
    main: MainText | None = None

    @classmethod
    def of(cls, content: PageContent, fingerprint: Fingerprint) -> Self:
        """Combine the content of a page with its fingerprint."""
        return cls(
            fingerprint=fingerprint,
            links=content.links,
            unselected=content.unselected,
            text=content.text,
            marks=content.marks,
            left_out=content.left_out,
            numbers=content.numbers,
            carries_view=content.carries_view,
            by_url=content.by_url,
            main=content.main,
        )


Content = PageContent | ReadPage | Fingerprint | PageError
"""The result of reading a page: its content, what a worker has read of it, the fingerprint that was
given instead, or the reason why it can't be read.
"""

FingerprintOrError = Fingerprint | CrawlDedupError
"""The fingerprint of a page, or the reason why it has none for an index."""


class PageReader:
    """Reads pages according to the options of an index.

    Raises:
        ConfigurationError: The selected extractor can't be imported.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._extractor = get_extractor(options.extractor)

    @property
    def profile(self) -> str:
        """The name of everything that affects the bits of fingerprints.

        Indexes with different profiles are never compared.
        """
        extractor = self._extractor.name
        if self._extractor.version:
            extractor += f"-{self._extractor.version}"
        if areas := self._options.content:
            extractor += f"+{hashlib.blake2b(repr(areas).encode(), digest_size=8).hexdigest()}"
        return f"{extractor}/{TEXT_PROFILE}.{self._options.distinguish}/{PROFILE}"

    def read_page(
        self, page: Page, key: Key = NO_KEY, known: Known = NOTHING, *, with_text: bool = False
    ) -> ReadPage:
        """Read a page and make its fingerprint.

        Args:
            page: The page.
            key: The key of the index.
            known: The volatile lines that are known at the page's host. They are left out.
            with_text: Whether to return the main text and the name of the page as well.

        Raises:
            PageError: The page cannot be read.
        """
        if page.fingerprint is not None:
            return ReadPage(page.fingerprint)
        content = self.content(page, known, key, with_text=with_text)
        (fingerprint,) = self.fingerprints([content], key)
        return ReadPage.of(content, fingerprint)

    def show_page(self, page: Page, key: Key = NO_KEY, known: Known = NOTHING) -> ReadPage:
        """Read a page to show it: like `read_page`, and summarize what is left out of its text.

        Raises:
            PageError: The page cannot be read.
        """
        if page.fingerprint is not None:
            return ReadPage(page.fingerprint)
        content = self.content(page, known, key)
        (fingerprint,) = self.fingerprints([content], key)
        read = ReadPage.of(content, fingerprint)
        return replace(read, omissions=self.omissions(page, content))

    def content(
        self, page: Page, known: Known = NOTHING, key: Key = NO_KEY, *, with_text: bool = False
    ) -> PageContent:
        """Take everything that is compared from a page of HTML or text, except volatile numbers.

        Args:
            page: The page.
            known: The volatile lines that are known at the page's host.
            key: The key of the index, which lines are hashed with.
            with_text: Whether to set `main` as well.

        Raises:
            PageError: The page cannot be read, or nothing tells it apart from other pages of its
                site.
        """
        if page.text is not None:
            content = self._content_of_text(page, page.text)
            if with_text:
                content = replace(content, main=MainText(content.text, page.title))
            return content
        options = self._options
        page_text = extract_page(
            page.html or b"",
            page.encoding,
            self._extractor,
            min_words=options.min_words,
            area=area_of(options.content, page.url),
        )
        content = PageContent(
            text=page_text.compared,
            whole=page_text.whole,
            core=page_text.core,
            links=page_text.source.links,
            unselected=page_text.unselected,
            carries_view=carries_view(page.url, page_text.source),
        )
        if options.volatile:
            content = _without_ages(content)
        if options.volatile is True:
            content = _with_numbers(content, page_text.source.headings, key)
        if known:
            changing = changing_at(
                known, page.url, claimed_url(page.url, content.links) or page.url
            )
            if changing:
                content = _without_changing(content, changing, page_text.source.headings, key)
        content = self._with_marks(page, content, page_text)
        if with_text:
            main = _main_of(content, page_text)
            is_whole_page = area_of(options.content, page.url) is None or content.unselected
            if is_whole_page and self._extractor.is_heuristic:
                main = _with_heading(main, page_text.source)
            content = replace(content, main=main)
        shell = shell_of(page_text.source, page_text.compared, page.url)
        return content if shell is None else _of_shell(content, shell)

    def omissions(self, page: Page, content: PageContent) -> tuple[Omission, ...]:
        """Return what is left out of the compared text of a page of HTML, and why.

        The page is parsed once more, so this is only for pages that are shown to people.

        Args:
            page: The page.
            content: The content that was read from it.
        """
        if page.html is None:
            return ()
        # With the numbers of volatile lines, because `content.left_out` covers them.
        full = content.full if isinstance(content.full, PageContent) else content
        area = area_of(self._options.content, page.url)
        is_selected = area is not None and not content.unselected
        source = HtmlPage.read(page.html, page.encoding)
        try:
            found = omissions_of(source, full.whole or full.text, is_selected=is_selected)
        except PageError:  # The omitted parts may be too large to be counted.
            return ()
        return tuple(found)

    def _with_marks(self, page: Page, content: PageContent, read: PageText) -> PageContent:
        """Add the marks that tell a page apart from its siblings, if any are to be told apart."""
        distinguish = self._options.distinguish
        if distinguish == "nothing":
            return content
        with_numbers = distinguish == "numbers"
        ignored = ignored_at(self._options.ignore_marks, page.url)
        marks = _marks_of(read, content.text, page.url, with_numbers=with_numbers)
        # Only the numbers that change are missing from the text, so the rest is the same.
        rest = _rest_of(read, marks)
        full = content.full
        if isinstance(full, PageContent):
            its_marks = _marks_of(read, full.text, page.url, with_numbers=with_numbers)
            its_marks = replace(_of_seen(its_marks), rest=rest)
            full = replace(full, marks=its_marks.without(ignored))
        marks = replace(_of_seen(marks), rest=rest)
        return replace(content, marks=marks.without(ignored), full=full)

    def _content_of_text(self, page: Page, text: str) -> PageContent:
        check_size(text)
        tidied = tidy(text)
        if not tidied:
            raise PageError("empty", "the text is empty")
        marks = None
        if self._options.distinguish != "nothing":
            with_numbers = self._options.distinguish == "numbers"
            marks = marks_of_text(tidied, page.title, with_numbers=with_numbers)
        if marks is not None:
            marks = _of_seen(marks).without(ignored_at(self._options.ignore_marks, page.url))
        return PageContent(tidied, marks=marks)

    def try_content(
        self, page: object, known: Known = NOTHING, key: Key = NO_KEY, *, with_text: bool = False
    ) -> Content:
        """Return the content of a page, or the error if it can't be read. See `content`.

        A page that was given as a fingerprint has no other content.

        Raises:
            ConfigurationError: This isn't a `Page`.
        """
        if not isinstance(page, Page):
            raise ConfigurationError(
                f"one of the pages is a {type(page).__name__}; each must be a Page"
            )
        if page.fingerprint is not None:
            return page.fingerprint
        try:
            return self.content(page, known, key, with_text=with_text)
        except PageError as error:
            return error

    def try_fingerprints(
        self, pages: Sequence[Page], contents: Sequence[Content], key: Key
    ) -> list[FingerprintOrError]:
        """Return the fingerprint of each page for an index with this key, or why there is none."""
        readable = [content for content in contents if isinstance(content, PageContent)]
        made = iter(self.fingerprints(readable, key))
        results: list[FingerprintOrError] = []
        for page, read in zip(pages, contents, strict=True):
            content = read.fingerprint if isinstance(read, ReadPage) else read
            if isinstance(content, PageContent):
                results.append(next(made))
            elif isinstance(content, Fingerprint) and content.key_id != key.id:
                results.append(
                    KeyMismatchError(
                        f"the fingerprint of {page.url!r} was made with the key "
                        f"{content.key_id:016x} and the index has the key {key.id:016x} (0: none): "
                        "make it again with this Deduplicator, or with its `key`"
                    )
                )
            else:
                results.append(content)
        return results

    def fingerprints(self, contents: Sequence[PageContent], key: Key = NO_KEY) -> list[Fingerprint]:
        """Make the fingerprints of many pages at once.

        With the options `paragraphs` and `keep_texts`, they include the hashes of the paragraphs
        and the compressed text.
        """
        options = self._options
        results = fingerprints(contents, min_words=options.min_words, key=key)
        if not options.keep_texts and not options.paragraphs:
            return results
        return [
            self._with_kept_texts(content, fingerprint, key)
            for content, fingerprint in zip(contents, results, strict=True)
        ]

    def _with_kept_texts(
        self, content: PageContent, fingerprint: Fingerprint, key: Key
    ) -> Fingerprint:
        """Add the paragraphs and the compressed text to a fingerprint, if options require it."""
        if self._options.paragraphs and not fingerprint.thin:
            fingerprint = replace(fingerprint, paragraphs=paragraphs_of(content.text, key))
        if self._options.keep_texts:
            fingerprint = replace(
                fingerprint, packed_text=packed_text(content.whole or content.text)
            )
        return fingerprint


def _marks_of(read: PageText, text: str, url: str, *, with_numbers: bool) -> ShownMarks:
    """Return the marks of a page, given its compared text."""
    marks = read_marks(read.source, text, url, with_numbers=with_numbers)
    comments = read.comments
    if comments.are_content:
        return replace(marks, comments_are_text=True)
    if not comments.lines:
        return marks
    return replace(marks, comments=comments.remembered, remarks=comments.remarks)


def _rest_of(read: PageText, marks: ShownMarks) -> str | None:
    """Return the text outside the main text, if the main text was guessed and there is much."""
    if not read.is_guess:
        return None
    return rest_of(read.source, read.compared, [name.words for name in marks.names])


def _main_of(content: PageContent, read: PageText) -> MainText:
    """Return the main text of a page in the form that users get, and the name of the page.

    Users get all lines, even volatile ones that aren't compared, because otherwise the first pages
    of a site would have more lines than later ones. And unlike in the compared text, the name
    doesn't come before a short text, because then short and long texts would differ.
    """
    text = read.compared
    if read.name_line:
        text = text.removeprefix(f"{read.name_line}\n")
    return MainText(text or read.whole or "", shown_name(read.source, content.marks))


def _with_heading(main: MainText, page: HtmlPage) -> MainText:
    """Put the heading that names a page in front of its text, if the text lacks it."""
    if not main.text or not main.name or not lacks_heading(main.text, main.name, page):
        return main
    return replace(main, text=f"{tidy(main.name)}\n{main.text}")


def _of_seen(marks: ShownMarks) -> ShownMarks:
    """Return marks without invisible characters in their text."""
    text = marks.text
    if text is None:
        return marks
    seen = without_ignored(text)
    return marks if seen == text else replace(marks, text=seen)


def _of_shell(content: PageContent, shell: Shell) -> PageContent:
    """Return the content by which a shell is compared: a page that a script has yet to fill.

    Raises:
        PageError: Nothing tells the page apart from the others on its site.
    """
    marks = shell.told_apart(content.marks)
    full = content.full
    if isinstance(full, PageContent):
        full = replace(full, marks=shell.told_apart(full.marks), by_url=True)
    return replace(content, marks=marks, full=full, by_url=True)


def _lines_of(content: PageContent) -> list[str]:
    """Return the lines of all texts of a page. Those that several texts have are repeated."""
    lines = content.text.split("\n")
    if content.whole is not None:
        lines += content.whole.split("\n")
    return lines


def _without_ages(content: PageContent) -> PageContent:
    """Return content without the numbers that say how old a page is, or when it was printed."""
    text = content.text
    whole = content.whole
    core = content.core
    steady_text = without_ages(text)
    steady_whole = None if whole is None else without_ages(whole)
    steady_core = None if core is None else without_ages(core)
    if (steady_text, steady_whole, steady_core) == (text, whole, core):
        return content
    return replace(content, text=steady_text, whole=steady_whole, core=steady_core)


def _with_numbers(content: PageContent, headings: Collection[str], key: Key) -> PageContent:
    """Add the numbers of those lines that may turn out to change with every load."""
    return replace(content, numbers=numbers_of(_lines_of(content), headings, key))


def _without_changing(
    content: PageContent, changing: Changing, headings: Collection[str], key: Key
) -> PageContent:
    """Remove the numbers that are known to change with every load.

    If there were any, the content with all its numbers stays in `full`.
    """
    changing = without_repeated(changing, _lines_of(content), headings, key)
    text, lines = without_volatile(content.text, changing, headings, key)
    whole = content.whole
    core = content.core
    lines_of_whole: list[str] = []
    if whole is not None:
        whole, lines_of_whole = without_volatile(whole, changing, headings, key)
    if core is not None:
        core, _ = without_volatile(core, changing, headings, key)
    left_out = tuple(dict.fromkeys([*lines, *lines_of_whole]))
    return replace(
        content,
        text=text,
        whole=whole,
        core=core,
        full=content if left_out else None,
        left_out=left_out[:_MOST_LEFT_OUT],
    )
