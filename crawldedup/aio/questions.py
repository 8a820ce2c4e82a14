"""Collect the pages that are waiting for the store into batches, and check these."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final, NamedTuple

from crawldedup.errors import StoreUnavailableError
from crawldedup.index.judging import Result
from crawldedup.page import Page
from crawldedup.reading.reader import Content
from crawldedup.verdict import Verdict
from crawldedup.workers.pool import settle

BATCH: Final = 32  # the maximum number of pages in a batch
# In a batch of five, a page takes half the processor time that it takes alone. With a longer wait,
# a crawl that never waits for the network would be idle in the meantime.
GATHERING_SECONDS: Final = 0.004

AskBatch = Callable[[Sequence[Page], Sequence[Content]], Awaitable[Sequence[Result]]]


class Reply(NamedTuple):
    """The verdict on a page, and its share of the time (in seconds) that its batch took."""

    verdict: Verdict
    seconds: float


class BegunPage(NamedTuple):
    """A page of `check_many`, and the task that reads it and adds it to a batch."""

    page: Page
    task: asyncio.Task[asyncio.Future[Reply]]


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A page that is waiting for its verdict, with its content and the future for the reply."""

    page: Page
    content: Content
    reply: asyncio.Future[Reply]


class Questions:
    """Checks pages in batches, in the order in which they arrive.

    While other pages are being read, a batch that isn't full waits up to `gathering_seconds` for
    them. Clients who wait for each verdict before they send the next page come back at the same
    time. So a batch that directly follows another one waits up to `returning_seconds` for the same
    number of pages.
    """

    def __init__(self, ask_batch: AskBatch) -> None:
        self._ask_batch = ask_batch
        self._waiting: list[Question] = []
        self._is_gathered = asyncio.Event()
        self._asking: asyncio.Task[None] | None = None
        self._pages_in_reading = 0
        self._expected_pages = 1
        self._last_size = 1
        self._answered_at = 0.0
        self.gathering_seconds = GATHERING_SECONDS
        self.returning_seconds = 0.0

    def __len__(self) -> int:
        """The number of pages that are being read or wait for their verdicts."""
        return self._pages_in_reading + len(self._waiting)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Announce that a page is being read and will be put soon, while the `with` block runs."""
        self._pages_in_reading += 1
        try:
            yield
        finally:
            self._pages_in_reading -= 1

    def put(self, page: Page, content: Content) -> asyncio.Future[Reply]:
        """Add a page to the next batch, and return a future for the reply.

        The future raises the errors of `Deduplicator.check`.
        """
        question = Question(page, content, asyncio.get_running_loop().create_future())
        question.reply.add_done_callback(ignore_error)
        self._waiting.append(question)
        if self._has_enough():
            self._is_gathered.set()
        if self._asking is None:
            self._asking = asyncio.create_task(self._ask_all())
        return question.reply

    def abandon(self) -> None:
        """Let all pages that are still waiting fail with an error."""
        for question in self._waiting:
            settle(question.reply, StoreUnavailableError("The store did not answer in time."))

    async def _ask_all(self) -> None:
        while self._waiting:
            await self._gather()
            batch = self._waiting[:BATCH]
            await self._ask([question for question in batch if not question.reply.done()])
            del self._waiting[: len(batch)]
            self._last_size = len(batch)
            self._answered_at = perf_counter()
        self._asking = None

    async def _gather(self) -> None:
        """Wait until a batch is full, no other page is expected, or time is up."""
        self._is_gathered.clear()
        has_just_answered = perf_counter() - self._answered_at < self.returning_seconds
        self._expected_pages = self._last_size if has_just_answered else 1
        if self._has_enough():
            return
        seconds = self.gathering_seconds if self._pages_in_reading else self.returning_seconds
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._is_gathered.wait()

    def _has_enough(self) -> bool:
        """Return whether the batch is full, or no other page is expected soon."""
        if len(self._waiting) >= BATCH:
            return True
        return not self._pages_in_reading and len(self._waiting) >= self._expected_pages

    async def _ask(self, questions: Sequence[Question]) -> None:
        """Check a batch, and give each page its reply or its error."""
        if not questions:
            return
        begun = perf_counter()
        results: Sequence[Result | Exception]
        try:
            results = await self._ask_batch(
                [question.page for question in questions],
                [question.content for question in questions],
            )
        except Exception as error:
            results = [error] * len(questions)
        seconds = (perf_counter() - begun) / len(questions)
        for question, result in zip(questions, results, strict=True):
            if isinstance(result, Exception):
                settle(question.reply, result)
            else:
                settle(question.reply, Reply(result, seconds))


def ignore_error(future: asyncio.Future[Any]) -> None:
    """Mark the error of a future as seen, because asyncio complains if nobody retrieves it."""
    if not future.cancelled():
        future.exception()
