"""The way of a page, top to bottom: HTML, fingerprint, one question to the store, verdict."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from crawldedup import checks
from crawldedup.batches import BATCH, Batch, check_batch, checked
from crawldedup.errors import (
    ConfigurationError,
    CrawlDedupError,
    KeyMismatchError,
    PageError,
    StoreError,
    StoreUnavailableError,
)
from crawldedup.explanation.explained import accepting_all, explained
from crawldedup.fingerprinting.fingerprint import Fingerprint
from crawldedup.index import Index
from crawldedup.page import Page, PageRef, check_rank
from crawldedup.queries import Question
from crawldedup.stores.base import Status
from crawldedup.text.kept import unpacked_text
from crawldedup.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from crawldedup.explanation.explained import Explanation
    from crawldedup.stores.base import Answer, Query
    from crawldedup.verdict import Match

    Unreadable = tuple[Page, PageError]
    OnUnreadable = Callable[[Page, PageError], None]


class Deduplicator(Index):
    """Recognises pages that were seen before, in the store that its URL names.

    The first use opens the store. Only what may add pages creates an index or joins a crawl. Verdicts come in the order
    of the calls. Threads may share an instance. A process that is forked goes on as the same crawler.

    After `close`, methods that ask the store raise ClosedError. The first one that asks it raises what `open` raises.

    Args:
        store: The URL of the store; see the option `store`.
        method: How pages are compared; by default the best method known. `crawldedup.evaluation.methods` makes others.
        **options: The options of `Options` by keyword.

    Raises:
        ConfigurationError: An option is unknown, or its value is not allowed.
        MissingDependencyError: The option `extractor` names a package that is not installed.

    Example:
        >>> from crawldedup import Deduplicator
        >>> story = (
        ...     "The river ferry runs every hour from the old harbour to the "
        ...     "island. Tickets are sold on board. Bicycles travel free of charge, "
        ...     "and dogs need a lead. The last boat back leaves at ten."
        ... )
        >>> with Deduplicator("sqlite:///seen.sqlite", ttl="30d") as dedup:
        ...     first = dedup.check("https://news.example/", html=f"<p>{story}</p>")
        ...     second = dedup.check("https://copy.example/", html=f"<b>{story}</b>")
        >>> print(first.kind, second.kind, second.original)
        new exact_duplicate https://news.example/
    """

    def check(
        self,
        url: str,
        *,
        html: bytes | str | None = None,
        text: str | None = None,
        encoding: str | None = None,
        identity: str | None = None,
        scope_key: str | None = None,
        delivered: bool = True,
        rank: int = 0,
        revisit_similarity: float | None = None,
    ) -> Verdict:
        """Decide about a page and remember it.

        The decision is one atomic step of the store: of two processes that check exact copies at once, one gets `new`.
        Give either `html` or `text`.

        Args:
            url: The URL of the page.
            html: The HTML as it was received. The main text is taken from it.
            text: The main text, if you have extracted it yourself.
            encoding: The encoding that the server declared for `html`.
            identity: The name of the page; by default its canonical URL. A page of the same name is a revisit, and a
                duplicate only while another process at work has it.
            scope_key: The site, the spider or another name, in place of what the option `scope` says of the URL.
            delivered: With False, the page is yours for good only once `deliver` is called. If the process dies before,
                the page holds back no other.
            rank: The rank among copies, from 0 (best) to 255 (worst). A duplicate of better rank than its original
                replaces it in the index.
            revisit_similarity: From this similarity on, above 0.5 and at most 1, a revisit is unchanged. The text of
                the earlier visit then stays remembered. None asks for equal texts.

        Returns:
            The verdict. With the option `paragraphs`, it tells of a page that is no duplicate how much of it is known.

        Raises:
            ConfigurationError: An argument is not allowed.
            PageError: The page cannot be read. Nothing is remembered.
            StoreError: The store cannot answer. The call can be repeated.

        Example:
            >>> from crawldedup import Deduplicator
            >>> story = (
            ...     "The river ferry runs every hour from the old harbour to the "
            ...     "island. Tickets are sold on board. Bicycles travel free of charge, "
            ...     "and dogs need a lead. The last boat back leaves at ten."
            ... )
            >>> dedup = Deduplicator(key=0)
            >>> print(dedup.check("https://a.example/", text=story).kind)
            new
            >>> print(dedup.check("https://a.example/#top", text=story).kind)
            revisit
            >>> verdict = dedup.check("https://b.example/", text=f"{story} Enjoy!")
            >>> print(verdict.kind, verdict.original)
            near_duplicate https://a.example/
            >>> print(dedup.check("https://c.example/", text="Closed today.").kind)
            thin
        """
        PageRef(url, identity, scope_key)
        ask = partial(
            self.check_fingerprint,
            url,
            identity=identity,
            scope_key=scope_key,
            delivered=delivered,
            rank=rank,
            revisit_similarity=revisit_similarity,
        )
        with suppress(KeyMismatchError):
            return ask(self.fingerprint(html=html, text=text, encoding=encoding, url=url))
        # By now the new key is known.
        return ask(self.fingerprint(html=html, text=text, encoding=encoding, url=url))

    def check_fingerprint(
        self,
        url: str,
        page: Fingerprint,
        *,
        identity: str | None = None,
        scope_key: str | None = None,
        similarity: float | None = None,
        canonical: str | None = None,
        remember: bool = True,
        delivered: bool = True,
        rank: int = 0,
        revisit_similarity: float | None = None,
    ) -> Verdict:
        """Decide about a page whose fingerprint was made elsewhere, in one atomic question to the store.

        Arguments that are not listed here are as in `check`.

        Args:
            url: The URL of the page.
            page: The fingerprint, made with the key and the options of this index.
            similarity: Overrides the option: above 0.5 and at most 1.
            canonical: The URL that the page names as its original. If that page is remembered and resembles this one
                from 0.1 below the similarity on, this lower similarity is used.
            remember: With False nothing is changed. A page is then known as a revisit only while its text resembles the
                remembered one.

        Returns:
            The verdict.

        Raises:
            ConfigurationError: An argument is not allowed.
            KeyMismatchError: The fingerprint was made with another key. Make it again.
            StoreError: The store cannot answer. The call can be repeated.

        Example:
            >>> from crawldedup import Deduplicator
            >>> dedup = Deduplicator()
            >>> page = dedup.fingerprint(text="Closed today.")
            >>> url, other = "https://a.example/", "https://b.example/"
            >>> print(dedup.check_fingerprint(url, page, remember=False).kind)
            thin
            >>> print(dedup.check_fingerprint(url, page).kind)
            thin
            >>> print(dedup.check_fingerprint(other, page).kind)
            exact_duplicate
        """
        ref = PageRef(url, identity, scope_key)
        if not isinstance(page, Fingerprint):
            raise ConfigurationError(f"page is a {type(page).__name__}; `Deduplicator.fingerprint` makes a Fingerprint")
        (self._join if remember else self._look)()
        question = self._question(ref, page, self._similarity(ref, page, similarity, canonical), revisit_similarity)
        if not remember:
            verdict = question.preview(self._store.find(question.query), self._packed_text)
            return self._paragraphs.told(question, verdict, add=False)
        collected = tuple(self._delivered)
        query = replace(
            _placed(question.query, delivered, check_rank("rank", rank)), delivered=self._url_keys(collected)
        )
        verdict = self._verdict(question, self._store.check_and_add(query))
        self._has_told(collected)
        return verdict

    def check_many(
        self, pages: Iterable[Page], *, batch: int = BATCH, on_unreadable: OnUnreadable | None = None
    ) -> Iterator[Verdict]:
        """Decide about many pages in their order, a batch of them in one round trip to the store.

        The verdicts equal those of `check` for one page after the other. Each page is one atomic step, the batch is
        not. A batch that took half a second to read is not filled further. If you stop early, up to a batch of pages is
        remembered beyond the last verdict.

        Args:
            pages: The pages. They are taken a batch at a time.
            batch: The most pages to ask about at once, from 1.
            on_unreadable: Is called with each page that cannot be read and its error. Without it, the error is raised.

        Yields:
            The verdicts, in the order of the pages that can be read.

        Raises:
            ConfigurationError: An argument is not allowed.
            PageError: A page cannot be read, and there is no `on_unreadable`. Earlier verdicts hold, and the iteration
                ends.
            StoreError: The store cannot decide about one page. Earlier verdicts hold, and the iteration can go on.
            StoreUnavailableError: The store cannot be reached. Earlier verdicts hold, and the iteration ends.

        Example:
            >>> from crawldedup import Deduplicator, Page
            >>> story = (
            ...     "The river ferry runs every hour from the old harbour to the "
            ...     "island. Tickets are sold on board. Bicycles travel free of charge, "
            ...     "and dogs need a lead. The last boat back leaves at ten."
            ... )
            >>> pages = [
            ...     Page("https://a.example/", text=story),
            ...     Page("https://b.example/", html=b""),
            ...     Page("https://c.example/", text=story),
            ... ]
            >>> def report(page, error):
            ...     print(page.url, error.reason)
            >>> for verdict in Deduplicator().check_many(pages, on_unreadable=report):
            ...     print(verdict.url, verdict.kind)
            https://a.example/ new
            https://b.example/ empty
            https://c.example/ exact_duplicate
        """
        return map(_verdict_or_raise, self._check_many(iter(pages), check_batch("batch", batch), on_unreadable))

    def check_batch(self, pages: Sequence[Page]) -> list[Verdict | CrawlDedupError]:
        """Decide about pages in one round trip to the store; return a verdict or an error for each, in their order.

        An error of the store that ends a batch is that of all pages it left undecided.

        Args:
            pages: The pages, as for `check_many`.

        Raises:
            ConfigurationError: One of the pages is no Page.
            StoreError: The index cannot be opened.
            ClosedError: The Deduplicator is closed.
        """
        results: list[Verdict | CrawlDedupError] = []
        for is_plain, group in groupby(pages, lambda page: page.remember and page.canonical is None):
            if not is_plain:
                results += map(self._checked_alone, group)
                continue
            asked = list(group)
            end = len(results) + len(asked)
            try:
                batch = Batch(len(asked), skips=True)
                for page in asked:
                    try:
                        batch.add(page, self._read(checked(page)))
                    except PageError as error:
                        batch.add(page, error)
                for result in self._decide(batch):
                    results.append(result[1] if isinstance(result, tuple) else result)
            except StoreUnavailableError as error:
                results += [error] * (end - len(results))
        return results

    def _checked_alone(self, page: Page) -> Verdict | CrawlDedupError:
        try:
            return self.check_fingerprint(
                page.url,
                self._read(page),
                identity=page.identity,
                scope_key=page.scope_key,
                similarity=page.similarity,
                canonical=page.canonical,
                remember=page.remember,
                delivered=page.delivered,
                rank=page.rank,
                revisit_similarity=page.revisit_similarity,
            )
        except (PageError, StoreError) as error:
            return error

    def find(
        self,
        *,
        html: bytes | str | None = None,
        text: str | None = None,
        encoding: str | None = None,
        url: str = "",
        scope_key: str | None = None,
        similarity: float | None = None,
    ) -> list[Match]:
        """Return remembered pages that resemble this one.

        Nothing is changed. The search misses a few near duplicates, as the option `recall` says.

        Arguments that are not listed here are as in `check`.

        Args:
            url: Tells the scope "site" the site, and the option `content` the rules.
            similarity: Overrides the option: above 0.5 and at most 1.

        Returns:
            The matches, most similar first; an empty list if there are none.

        Raises:
            ConfigurationError: An argument is not allowed.
            PageError: The page cannot be read.
            StoreError: The store cannot answer.

        Example:
            >>> from crawldedup import Deduplicator
            >>> dedup = Deduplicator()
            >>> verdict = dedup.check("https://a.example/", text="Closed today.")
            >>> [(match.url, match.exact) for match in dedup.find(text="Closed today.")]
            [('https://a.example/', True)]
            >>> dedup.find(text="Open today.")
            []
        """
        ref = PageRef(url, None, scope_key)
        page = self.fingerprint(html=html, text=text, encoding=encoding, url=url)
        self._look()
        question = self._question(ref, page, similarity)
        return sorted(map(question.match, self._store.find(question.query)), key=lambda match: -match.similarity)

    def explain(
        self,
        url: str,
        *,
        html: bytes | str | None = None,
        text: str | None = None,
        encoding: str | None = None,
        fingerprint: Fingerprint | None = None,
        identity: str | None = None,
        scope_key: str | None = None,
        similarity: float | None = None,
        canonical: str | None = None,
        revisit_similarity: float | None = None,
    ) -> Explanation:
        """Explain the verdict that a page would get now.

        Nothing is remembered. Give one of `html`, `text` and `fingerprint`.

        Arguments that are not listed here are as in `check`.

        Args:
            url: The URL of the page.
            fingerprint: A fingerprint made with the key and the options of this index.
            similarity: Overrides the option: above 0.5 and at most 1.
            canonical: The URL that the page names as its original: see `check_fingerprint`.

        Returns:
            The verdict, and the remembered pages that were compared, those that were refused included.

        Raises:
            ConfigurationError: An argument is not allowed.
            PageError: The page cannot be read.
            StoreError: The store cannot answer.

        Example:
            >>> from crawldedup import Deduplicator
            >>> story = (
            ...     "The river ferry runs every hour from the old harbour to the "
            ...     "island. Tickets are sold on board. Bicycles travel free of charge, "
            ...     "and dogs need a lead. The last boat back leaves at ten."
            ... )
            >>> dedup = Deduplicator(key=0)
            >>> verdict = dedup.check("https://news.example/ferry", text=story)
            >>> told = dedup.explain("https://copy.example/boat", text=f"{story} Enjoy!")
            >>> print(told.verdict.kind, told.threshold)
            near_duplicate 0.8547
            >>> for candidate in told.candidates:
            ...     print(candidate.match.url, candidate.match.similarity, candidate.cost)
            https://news.example/ferry 0.9804 26
        """
        given = Page(url, html, text, fingerprint, encoding, identity, scope_key, similarity)
        content = None
        if fingerprint is None:
            content = self._reader.content(html, text, encoding, url)
            fingerprint = self._reader.fingerprint(content, self.key)
        self._look()
        wanted = self._similarity(given.ref, fingerprint, similarity, canonical)
        question = self._question(given.ref, fingerprint, wanted, revisit_similarity)
        records = self._store.find(accepting_all(question.query))
        told = explained(question, content, records, self._packed_text, pages=self._pages, similarity=wanted)
        return replace(told, verdict=self._paragraphs.told(question, told.verdict, add=False))

    def forget(self, page: str | Fingerprint, *, identity: str | None = None, scope_key: str | None = None) -> int:
        """Remove a page by its URL, or every page with the text of a fingerprint.

        Args:
            page: The URL, or the fingerprint. A fingerprint does not tell its site or spider: in these scopes it needs
                the `scope_key`.
            identity: The identity that the page was checked with. Such a page is known by it instead of its URL.
            scope_key: The scope key that the page was checked with.

        Returns:
            How many pages were removed.

        Raises:
            ConfigurationError: An argument is not allowed.
            KeyMismatchError: The fingerprint was made with another key.
            StoreError: The store cannot answer. The call can be repeated.

        Example:
            >>> from crawldedup import Deduplicator
            >>> dedup = Deduplicator()
            >>> verdict = dedup.check("https://a.example/", text="Closed today.")
            >>> dedup.forget("https://a.example/"), dedup.forget("https://a.example/")
            (1, 0)
        """
        if not isinstance(page, str | Fingerprint):
            raise ConfigurationError(f"page is a {type(page).__name__}; forget takes a URL as a str, or a Fingerprint")
        ref = PageRef(page if isinstance(page, str) else "", identity, scope_key)
        self._look()
        if isinstance(page, str):
            return int(self._forget(self._queries.url_key(ref)))
        query = self._question(ref, page, None).query
        copies = [record for record in self._store.find(query) if record.digest == query.entry.digest]
        return sum(self._forget(record.url_key) for record in copies)

    def text_of(self, url: str, *, identity: str | None = None, scope_key: str | None = None) -> str | None:
        """Return the text that is kept of a remembered page; None if there is none.

        Texts are kept with the option `keep_texts`.

        Args:
            url: The URL of the page.
            identity: The identity that the page was checked with.
            scope_key: The scope key that the page was checked with.

        Raises:
            StoreError: The store cannot answer.

        Example:
            >>> from crawldedup import Deduplicator
            >>> dedup = Deduplicator(keep_texts=True)
            >>> html = "<p>The shop is <b>closed</b> today.</p>"
            >>> verdict = dedup.check("https://a.example/", html=html)
            >>> dedup.text_of("https://a.example/")
            'The shop is closed today.'
        """
        self._look()
        return unpacked_text(self._packed_text(self._queries.url_key(PageRef(url, identity, scope_key))))

    def _forget(self, url_key: int) -> bool:
        has_paragraphs = self._store.forget_anchors(url_key)
        return self._store.forget(url_key) or has_paragraphs

    def _packed_text(self, url_key: int) -> bytes:
        return self._store.text_of(url_key, self._queries.retention)

    def _check_many(
        self, pages: Iterator[Page], size: int, on_unreadable: OnUnreadable | None
    ) -> Iterator[Verdict | StoreError]:
        while True:
            batch = Batch(size, skips=on_unreadable is not None)
            batch.fill(pages, self._read)
            for result in self._decide(batch):
                if isinstance(result, Verdict):
                    with suppress(StoreError):
                        # Taking verdicts slowly is work, too. The verdict stands, whatever becomes of this.
                        self._beat_if_due()
                if isinstance(result, Verdict | StoreError):
                    yield result
                elif on_unreadable is not None:
                    on_unreadable(*result)
            if not batch.pages:
                return

    def _decide(self, batch: Batch) -> Iterator[Verdict | StoreError | Unreadable]:
        """Ask about a batch. Yield a verdict or error for each page that was read, and the others with their errors."""
        self._join()
        asked = [self._asked(page, read) for page, read in batch.pages]
        queries = [item.query for item in asked if isinstance(item, Question)]
        collected = tuple(self._delivered)
        queries[:1] = [replace(query, delivered=self._url_keys(collected)) for query in queries[:1]]
        answers = self._store.check_many(queries) if queries else iter(())
        for item in asked:
            result: Verdict | StoreError | Unreadable
            try:
                result = self._verdict(item, next(answers)) if isinstance(item, Question) else item
                if result is not item:
                    self._has_told(collected)
            except StoreUnavailableError:
                raise
            except StoreError as error:
                # The first question was to tell it.
                collected = ()
                result = error
            yield result
        if batch.error is not None:
            raise batch.error

    def _asked(self, page: Page, read: Fingerprint | PageError) -> Question | KeyMismatchError | Unreadable:
        try:
            if isinstance(read, PageError):
                return page, read
            question = self._question(page.ref, read, page.similarity, page.revisit_similarity)
            if page.delivered and not page.rank:
                return question
            return replace(question, query=_placed(question.query, page.delivered, page.rank))
        except KeyMismatchError as error:
            return error

    def _read(self, page: Page) -> Fingerprint:
        return page.fingerprint or self.fingerprint(
            html=page.html, text=page.text, encoding=page.encoding, url=page.url
        )

    def _similarity(self, ref: PageRef, page: Fingerprint, similarity: float | None, canonical: str | None) -> float:
        """Return the similarity to search from: a lower one if the named original resembles the page."""
        wanted = self._queries.similarity(similarity)
        if canonical is None:
            return wanted
        lower = self._queries.canonical_threshold(wanted)
        original = PageRef(checks.string("canonical", canonical), None, self._queries.scope_key_of(ref))
        records = self._store.find(self._question(ref, page, lower).query)
        return lower if self._queries.url_key(original) in {record.url_key for record in records} else wanted

    def _question(
        self, ref: PageRef, page: Fingerprint, similarity: float | None, revisit_similarity: float | None = None
    ) -> Question:
        figures = {"pages": self._pages, "partitions": self._store.partitions}
        return self._queries.question(
            ref, page, **figures, similarity=similarity, revisit_similarity=revisit_similarity
        )

    def _verdict(self, question: Question, answer: Answer) -> Verdict:
        self._pages = answer.pages
        self._queries.learn(question, answer)
        if answer.status is Status.NEAR and answer.record and question.query.entry.packed_text:
            # The verdict stands without it.
            with suppress(StoreError):
                text = self._packed_text(answer.record.url_key)
                answer = replace(answer, record=replace(answer.record, packed_text=text))
        return self._paragraphs.told(question, question.verdict(answer), add=True)


def _placed(query: Query, delivered: bool, rank: int) -> Query:
    return replace(query, entry=replace(query.entry, rank=rank), on_its_way=not delivered)


def _verdict_or_raise(result: Verdict | StoreError) -> Verdict:
    if isinstance(result, StoreError):
        raise result
    return result
