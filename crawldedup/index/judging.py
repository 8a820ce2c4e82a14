"""The steps from a page to its verdict: read, fingerprint, query, answer, verdict.

`Judge.judge` takes batches of pages through these steps, which `Judge._decide` calls in order. Each
page travels as a `Job`, which collects the results of the steps.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, TypeVar

from crawldedup.errors import (
    CrawlDedupError,
    PageError,
    StoreError,
    StoreFullError,
    StoreUnavailableError,
)
from crawldedup.fingerprinting.bits import Fingerprint
from crawldedup.index.lifetime import Index
from crawldedup.index.paragraphs import coverage
from crawldedup.index.queries import Subject
from crawldedup.index.verdicts import preview, verdict_of, verdict_of_shell, with_new_values
from crawldedup.key import Key
from crawldedup.page import Page, PageId
from crawldedup.reading.omissions import Omission
from crawldedup.reading.reader import Content, PageContent, PageReader, ReadPage
from crawldedup.reading.shells import SHELL
from crawldedup.stores.contract import Answer, Answers, Query, Record
from crawldedup.urls import claimed_url
from crawldedup.verdict import Verdict

BATCH: Final = 100
"""The maximum number of pages that are sent to the store at once."""

BATCH_SECONDS: Final = 0.5
"""After this many seconds of reading pages, a batch goes to the store even if it isn't full."""

Result = Verdict | CrawlDedupError
"""The result for a page: its verdict, or the reason why it has none."""

T = TypeVar("T")

_NOT_RETRIED: Final = (StoreUnavailableError, StoreFullError)
"""Errors that would occur again if the page was sent once more by itself."""


@dataclass(slots=True, eq=False, repr=False)
class Job:
    """One page on its way to a verdict. Each step sets its own value, once."""

    page: Page
    content: Content

    fingerprint: Fingerprint = field(init=False)
    """Set by `Judge._make_fingerprints`, unless the page cannot be read."""

    resembles_original: bool = False
    """True if the page names an original, as with a canonical link, and resembles it."""

    query: Query = field(init=False)
    """Set by `Judge._make_queries`, for a page that has a fingerprint."""

    result: Result = field(init=False)
    """Set by the step that fails, or by the last one."""

    @property
    def subject(self) -> Subject:
        """The page and its fingerprint, in the form in which queries are made."""
        return Subject(self.page, self.fingerprint, self.resembles_original)


class SearchResult(NamedTuple):
    """The remembered pages that resemble a page, and how they were searched for."""

    content: Content
    fingerprint: Fingerprint
    query: Query

    similarity: float
    """The minimum similarity that was searched for."""

    records: list[Record]
    """All the pages that were compared, nearest first, whether they are accepted or not."""


class Judge:
    """Decides about pages: reads them, asks the store, and turns its answers into verdicts.

    Args:
        index: The index.
        reader: Reads pages according to the options of the index.
    """

    def __init__(self, index: Index, reader: PageReader) -> None:
        self._index = index
        self._reader = reader

    def jobs(self, pages: Sequence[Page], contents: Sequence[Content] | None = None) -> list[Job]:
        """Wrap pages in jobs, and read the pages unless their contents are given."""
        if not contents:
            contents = [self.read(page) for page in pages]
        return [Job(page, content) for page, content in zip(pages, contents, strict=True)]

    def batches(
        self, pages: Iterator[Page], size: int, *, ends_at_unreadable: bool
    ) -> Iterator[list[Job]]:
        """Read pages, and yield their jobs in batches.

        A batch ends early if it takes long to read. If the iterator of pages fails, the pages
        before the failure are still yielded before its error is raised.

        Args:
            pages: The pages.
            size: The maximum number of pages in a batch.
            ends_at_unreadable: Whether a page that can't be read ends its batch, because the caller
                may not want the pages after it.
        """
        failure: Exception | None = None
        while failure is None:
            batch: list[Job] = []
            deadline = time.monotonic() + BATCH_SECONDS
            try:
                for page in pages:
                    job = Job(page, self.read(page))
                    batch.append(job)
                    is_last = ends_at_unreadable and isinstance(job.content, PageError)
                    if is_last or len(batch) >= size or time.monotonic() >= deadline:
                        break
            except Exception as error:
                failure = error
            if not batch:
                break
            yield batch
        if failure is not None:
            raise failure

    def read(self, page: Page, *, with_text: bool = False) -> Content:
        """Return the content of a page that gets compared, or the PageError if it can't be read.

        Reading HTML to be remembered also teaches which lines of its host are volatile: they change
        with every load.

        Args:
            page: The page.
            with_text: Whether to return the main text for users as well.
        """
        hosts = self._index.hosts
        if not isinstance(page, Page) or page.html is None:
            return self._reader.try_content(page, with_text=with_text)
        content = self._reader.try_content(
            page, hosts.known_at(page.url), self._index.key, with_text=with_text
        )
        if isinstance(content, PageContent) and page.remember:
            # The next page of a batch is read before the marks of this one have been learned.
            hosts.learn_lines(page, content.numbers)
        return content

    def judge(self, jobs: Sequence[Job]) -> None:
        """Set the result of each job: a verdict, or an error that only affects this page.

        Raises:
            StoreError: The index can't be opened, or the lease can't be renewed.
        """
        added = [job.page for job in jobs if job.page.remember]
        if added:
            self._index.join()
            self._index.learn_scopes(added)
        else:
            self._index.look()
        for batch in self._batches(jobs):
            self._decide(batch)
            for job in batch:
                if isinstance(job.result, StoreError) and not isinstance(job.result, _NOT_RETRIED):
                    # Another page of the batch may be to blame. Or the index was begun again: its
                    # new key is known by now.
                    job.result = self._result_alone(job.page, job.content)

    def _batches(self, jobs: Sequence[Job]) -> list[list[Job]]:
        """Split a batch wherever a page has to wait for the verdicts before it.

        Either all pages of a batch should be remembered, or none of them.
        """
        batches: list[list[Job]] = []
        batch: list[Job] = []
        for job in jobs:
            if batch and self._has_to_wait(job, batch):
                batches.append(batch)
                batch = []
            batch.append(job)
        return [*batches, batch]

    def _has_to_wait(self, job: Job, batch: Sequence[Job]) -> bool:
        """Return whether the decision about a page depends on the pages before it in its batch."""
        if len(batch) >= BATCH or job.page.remember != batch[-1].page.remember:
            return True
        if job.page.canonical is None:
            return False
        # Whether it resembles its original decides how similar it has to be.
        original = self._index.queries.original_name(self._index.key, job.page)
        return any(original == self._index.name(earlier.page.id) for earlier in batch)

    def _decide(self, batch: Sequence[Job]) -> None:
        """Take a batch through all steps, and set the result of each job.

        Either all of its pages should be remembered, or none.
        """
        key = self._index.key  # One for all steps: a call of the store may bring another one.
        jobs = self._make_fingerprints(batch, key)
        if not jobs:
            return
        self._learn_marks(jobs)
        delivered = self._index.delivered() if jobs[0].page.remember else []
        try:
            self._find_pages_like_their_originals(jobs, key)
            self._make_queries(jobs, key, delivered)
            answers = self._ask_store(jobs)
        except StoreError as error:
            for job in jobs:
                job.result = error
            return
        if not isinstance(answers[0], StoreError):
            # The first query has told the store about them.
            self._index.forget_delivered(delivered)
        for job, answer in zip(jobs, answers, strict=True):
            job.result = self._result_of(job, answer)
        for job in jobs:
            if isinstance(job.result, Verdict) and job.fingerprint.full is not None:
                self._ask_again_if_two_pages(job, job.result, job.fingerprint.full)

    def _result_alone(self, page: Page, content: Content) -> Result:
        """Take a single page through all steps, and return its verdict or error."""
        job = Job(page, content)
        self._decide([job])
        return job.result

    def _make_fingerprints(self, batch: Sequence[Job], key: Key) -> list[Job]:
        """Set the fingerprint of each job, and return the jobs that have one.

        The other jobs get their result right away, such as the error of a page that can't be read.
        """
        fingerprints = self._reader.try_fingerprints(
            [job.page for job in batch], [job.content for job in batch], key
        )
        jobs = []
        for job, fingerprint in zip(batch, fingerprints, strict=True):
            if isinstance(fingerprint, Fingerprint):
                job.fingerprint = fingerprint
                jobs.append(job)
            elif isinstance(fingerprint, PageError) and fingerprint.reason == SHELL:
                # A program that checks an archive page by page should not fail at each shell.
                job.result = verdict_of_shell(job.page.url)
            else:
                job.result = fingerprint
        return jobs

    def _learn_marks(self, jobs: Sequence[Job]) -> None:
        """Learn which marks of a host change by themselves, and which views it has proved.

        Only HTML that was read here counts. A page given as a fingerprint was read, and learned
        from, before.
        """
        for job in jobs:
            content = job.content
            if isinstance(content, PageContent) and job.page.html and job.page.remember:
                self._index.hosts.learn_marks(
                    job.page, job.fingerprint, carries_view=content.carries_view
                )

    def _find_pages_like_their_originals(self, jobs: Sequence[Job], key: Key) -> None:
        """Set `resembles_original` for pages that resemble the original that they name.

        Such pages are duplicates of it at a lower similarity than others.
        """
        naming_jobs = [
            job for job in jobs if job.page.canonical is not None and not job.fingerprint.thin
        ]
        if not naming_jobs:
            return
        queries = self._index.queries
        names = [queries.original_name(key, job.page) for job in naming_jobs]
        for job, original in zip(naming_jobs, self._index.records(names), strict=True):
            if original is not None:
                job.resembles_original = queries.resembles(job.subject, original, key)

    def _make_queries(
        self, jobs: Sequence[Job], key: Key, delivered: Sequence[PageId] = ()
    ) -> None:
        """Make the query for each job. The first one tells the store which pages were delivered."""
        index = self._index
        queries = index.queries.queries(
            [job.subject for job in jobs],
            key,
            index.pages,
            tuple(index.queries.name(key, page) for page in delivered),
        )
        for job, query in zip(jobs, queries, strict=True):
            job.query = query

    def _ask_store(self, jobs: Sequence[Job]) -> Answers:
        """Send the queries to the store, and return its answers in the same order."""
        index = self._index
        queries = [job.query for job in jobs]
        if jobs[0].page.remember:
            return index.store.check(queries)
        records = index.store.find(queries)
        return [
            preview(query, accepted, index.packed_text)
            for query, accepted in zip(queries, records, strict=True)
        ]

    def _result_of(self, job: Job, answer: Answer | StoreError) -> Result:
        """Turn the store's answer into a verdict, and learn from it where the index is crowded."""
        if isinstance(answer, StoreError):
            return answer
        if job.page.remember:
            self._index.note_pages(answer.pages)
            self._index.queries.hot_prefixes.learn(job.query, answer)
        verdict = verdict_of(job.page.url, job.fingerprint, job.query, answer)
        if verdict.changed_by and answer.record and isinstance(job.content, PageContent | ReadPage):
            shown = job.content.marks
            key = self._index.key
            verdict = with_new_values(verdict, job.query, answer.record, shown, key)
        return self.with_coverage(verdict, job.page, job.fingerprint, job.query)

    def with_coverage(
        self, verdict: Verdict, page: Page, fingerprint: Fingerprint, query: Query
    ) -> Verdict:
        """Add to the verdict on a page how much of it is on earlier pages, with `paragraphs`.

        The verdict on a duplicate stays as it is, and so does any verdict if the store fails.
        """
        if not fingerprint.paragraphs or verdict.is_duplicate:
            return verdict
        index = self._index
        try:
            covered = coverage(page, fingerprint, query, index.store, index.options)
        except StoreError:  # The verdict is valid without it.
            return verdict
        return replace(verdict, coverage=covered)

    def _ask_again_if_two_pages(self, job: Job, verdict: Verdict, full: Fingerprint) -> None:
        """Ask the store again, this time with all numbers, if a duplicate may be a page of its own.

        The page was compared without its volatile numbers, and only those may tell it from its
        original.

        Args:
            job: The page, compared without its volatile numbers.
            verdict: The verdict about it.
            full: Its fingerprint with all numbers.
        """
        if job.page.remember:
            self._index.hosts.note_load(job.page.url, job.fingerprint.digest, full.digest)
        if self.may_be_two_pages(job.page, job.fingerprint, verdict):
            job.result = self._result_alone(self.with_all_numbers(job.page, full), full)

    def may_be_two_pages(self, page: Page, fingerprint: Fingerprint, verdict: Verdict) -> bool:
        """Return whether a duplicate and its original may really be two different pages.

        They may be if only numbers that were left out of their texts tell them apart.
        """
        if fingerprint.full is None or not verdict.is_duplicate or verdict.replaces:
            return False
        return self._index.hosts.may_be_two(
            page.canonical or page.url,
            verdict.original,
            fingerprint.digest,
            claimed_url(page.url, fingerprint.links),
        )

    def with_all_numbers(self, page: Page, full: Fingerprint) -> Page:
        """Return a page to query for so that all the numbers of a page are compared.

        It requires a higher similarity than `page`. Copies of the page may be remembered without
        their volatile lines. If two pages that only differ in these lines have the similarity s, a
        page with them and its copy without them have the similarity 2s / (1 + s).

        Args:
            page: The page, which was compared without its volatile lines.
            full: Its fingerprint with all numbers.
        """
        similarity = self._index.queries.similarity(page)
        return replace(
            page,
            html=None,
            text=None,
            encoding=None,
            fingerprint=full,
            similarity=2 * similarity / (1 + similarity),
        )

    def omissions(self, page: Page, content: PageContent) -> tuple[Omission, ...]:
        """Return what is left out of the compared text of a page, and why."""
        return self._reader.omissions(page, content)

    def search(self, page: Page) -> SearchResult:
        """Find all remembered pages that are worth comparing with a page. Nothing is remembered.

        Raises:
            CrawlDedupError: The page can't be read, its fingerprint has a different key, or the
                store failed.
        """
        index = self._index
        index.look()
        job = Job(page, self.read(page))
        if isinstance(job.content, PageError):
            raise job.content
        key = index.key
        if not self._make_fingerprints([job], key):
            or_raise(job.result)
        self._find_pages_like_their_originals([job], key)
        self._make_queries([job], key)
        query = job.query
        if not job.fingerprint.thin:
            # Take everything that the search finds, however different. For a thin page, it only
            # finds copies.
            rule = replace(query.rule, limit=sum(query.rule.costs), crowd=None)
            query = replace(query, rule=rule)
        (records,) = index.store.find([query])
        similarity = index.queries.similarity(page, resembles_original=job.resembles_original)
        return SearchResult(job.content, job.fingerprint, job.query, similarity, records)


def or_raise(result: T | CrawlDedupError) -> T:
    """Return a result, or raise it if it is an error."""
    if isinstance(result, CrawlDedupError):
        raise result
    return result
