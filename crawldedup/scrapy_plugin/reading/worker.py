"""What a worker process does: it reads pages, asks the store, and answers with verdicts, all in their order.

Pages that wait behind one another are asked about in one round trip to the store.
"""

from __future__ import annotations

import contextlib
import time
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from crawldedup.batches import take_results
from crawldedup.deduplicator import Deduplicator
from crawldedup.errors import CrawlDedupError
from crawldedup.index import HEARTBEAT_SECONDS
from crawldedup.options import Options
from crawldedup.page import Page
from crawldedup.scrapy_plugin.reading.lately import LastPages
from crawldedup.scrapy_plugin.reading.messages import Job
from crawldedup.scrapy_plugin.reading.reader import JobReader, Read
from crawldedup.stores.base import CrawlSession
from crawldedup.verdict import Verdict
from crawldedup.workers.breaker import Breaker
from crawldedup.workers.framing import plain_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from crawldedup.scrapy_plugin.reading.messages import Name
    from crawldedup.scrapy_plugin.reading.progress import Progress
    from crawldedup.workers.inbox import Inbox, Request

_BATCH_PAGES: Final = 16
# Pages are gathered for as long as the store took to answer, within these bounds: it is asked less often then, but
# answers that come together leave the crawl with too much to do at once, and the worker with nothing.
_LEAST_SECONDS: Final = 0.0
_BATCH_SECONDS: Final = 0.02


class Worker:
    """Answers requests with one Deduplicator. `tell` sends one answer. Raises ConfigurationError.

    `take_warnings` returns what was logged as a warning since the last call.
    """

    def __init__(
        self,
        setup: dict[str, Any],
        tell: Callable[[object], None],
        progress: Progress,
        take_warnings: Callable[[], list[str]] = list,
    ) -> None:
        self._tell = tell
        self._take_warnings = take_warnings
        self._progress = progress
        self._session = CrawlSession(*setup["session"])
        self._stays = bool(setup["stays"])
        self._options = Options.from_values(setup["options"])
        self._dedup = Deduplicator.from_options(self._options)
        self._breaker = Breaker()
        self._asking_seconds = 0.0
        self._last_pages = LastPages(self._options)
        self._reader = JobReader(self._options)
        self._knows_key = False

    def serve(self, inbox: Inbox, is_large: Callable[[], bool] = bool) -> None:
        """Answer requests until one says to close, or until this process is too large. Raises EOFError."""
        while True:
            self._progress.rest()
            request = inbox.take(HEARTBEAT_SECONDS)
            if request is None:
                self._keep_alive()
            pages: list[Read] = []
            hold_until = time.monotonic() + min(_BATCH_SECONDS, max(_LEAST_SECONDS, self._asking_seconds))
            while request is not None:
                self._progress.begin()
                if request.header["do"] == "check":
                    pages.append(self._read(request))
                else:
                    self._check(pages)
                    pages = []
                    self._tell(self._do(request.header))
                    if request.header["do"] == "close":
                        return
                is_due = len(pages) >= _BATCH_PAGES or time.monotonic() >= hold_until
                request = None if is_due else inbox.take(0)
            self._check(pages)
            if is_large():
                self._close(leave=False)
                self._tell({"retired": True})
                return

    def _read(self, request: Request) -> Read:
        job = Job(body=request.body, **{name: value for name, value in request.header.items() if name != "do"})
        self._deliver(job.names)
        try:
            if not self._knows_key:
                self._learn_key(joins=job.remember and self._stays)
            key = self._dedup.key
        except Exception as error:
            return Read(job, error)
        return self._reader.read(job, key)

    def _learn_key(self, *, joins: bool) -> None:
        with self._store():
            if joins:
                self._join()  # a look would not keep others from beginning the index with another key
            self._dedup.key  # noqa: B018
        self._knows_key = True
        self._progress.read()

    def _deliver(self, names: Iterable[Name]) -> None:
        for url, identity, scope_key in names:
            self._dedup.deliver(url, identity=identity, scope_key=scope_key)

    def _check(self, pages: list[Read]) -> None:
        """Ask the store about pages, and answer for each."""
        for is_plain, group in groupby(pages, key=Read.is_plain):
            if is_plain:
                self._check_many(list(group))
            else:
                for page in group:
                    self._tell(self._answer_to(page))

    def _check_many(self, pages: list[Read]) -> None:
        answers: list[Verdict | Exception] = []
        begun = time.perf_counter()
        try:
            with self._store():
                inputs = [_input_of(page) for page in pages]
                self._join()
                take_results(self._dedup.check_many(inputs, batch=len(inputs)), answers, len(inputs))
        except Exception as error:
            # The store may have remembered some of the rest, so they are not asked about again: they pass.
            answers += [error] * (len(pages) - len(answers))
        self._asking_seconds = time.perf_counter() - begun
        seconds = self._asking_seconds / len(pages)
        for page, each in zip(pages, answers, strict=True):
            self._tell(self._judged(page, each, seconds) if isinstance(each, Verdict) else plain_error(each))

    def _answer_to(self, page: Read) -> object:
        job, read, claim, *_ = page
        try:
            if isinstance(read, BaseException):
                raise read
            begun = time.perf_counter()
            with self._store():
                if job.remember:
                    self._join()
                verdict = self._dedup.check_fingerprint(
                    job.url,
                    read,
                    identity=job.identity,
                    scope_key=job.scope_key,
                    similarity=job.similarity,
                    revisit_similarity=job.revisit_similarity,
                    canonical=page.original,
                    remember=job.remember,
                    delivered=job.delivered,
                    rank=claim.rank,
                )
            return self._judged(page, verdict, time.perf_counter() - begun)
        except BaseException as error:
            return plain_error(error)

    def _judged(self, page: Read, verdict: Verdict, seconds: float) -> dict[str, Any]:
        job, read, _, reading, _ = page
        assert not isinstance(read, BaseException)
        return {
            "verdict": verdict.as_dict(),
            "seconds": [round(reading, 6), round(seconds, 6)],
            "digest": read.digest,
            "pages": self._dedup.pages,
            "kept_apart": self._last_pages.keep_apart(job, read, verdict),
            "unselected": page.unselected,
            "face": self._last_pages.face(job, read, verdict),
        }

    def _do(self, header: dict[str, Any]) -> object:
        """Do what is no check: open, look, join, forget, note or close. The answer tells how many pages there are."""
        note = ""
        try:
            if header["do"] == "join":
                self._session = CrawlSession(*header["session"])
            elif header["do"] == "close":
                self._deliver(header["names"])
                note = self._close(leave=header["leave"])
            else:
                with self._store():
                    if header["do"] == "look":
                        self._dedup.info()
                    elif header["do"] == "note":
                        note = self._dedup.note(header["name"], header["text"])
                    else:
                        self._join()
                    if header["do"] == "forget":
                        self._dedup.forget(header["url"], identity=header["identity"], scope_key=header["scope_key"])
            return {"done": self._dedup.pages, "note": note, "warnings": self._take_warnings()}
        except Exception as error:
            return plain_error(error)

    def _join(self) -> None:
        """Join the crawl, and tell its session, so that all workers of a crawl count as one crawler."""
        if self._dedup.session is None:
            self._dedup.open(self._session)
            if self._stays and (session := self._dedup.session) is not None:
                self._session = session
                self._tell({"session": [session.number, session.process]})

    def _close(self, *, leave: bool) -> str:
        """Close the index. Return its size in bytes if this ends the crawl, and if it is known."""
        size = ""
        self._progress.ask_store()
        if leave and self._session.number:
            self._join()  # the lease is the crawl's, of which this worker may have done no page
            with contextlib.suppress(CrawlDedupError), self._store():
                size = str(self._dedup.info().bytes)
        self._dedup.close(leave=leave)
        return size

    def _keep_alive(self) -> None:
        """Renew the crawl's lease while there is nothing to do."""
        if self._dedup.session is not None:
            with contextlib.suppress(CrawlDedupError), self._store():
                self._dedup.heartbeat()

    @contextlib.contextmanager
    def _store(self) -> Iterator[None]:
        """Leave a store alone for a while that just failed, so that pages do not each wait for its time limit."""
        with self._breaker.guarding_store():
            self._progress.ask_store()
            try:
                yield
            finally:
                if not self._stays and self._dedup.session is not None:
                    # A shell that is open all day would make one crawl of those that come and go meanwhile.
                    self._dedup.close()
                    self._dedup = Deduplicator.from_options(self._options)
                    self._knows_key = False


def _input_of(page: Read) -> Page:
    job, read, claim, *_ = page
    assert not isinstance(read, BaseException)
    return Page(
        job.url,
        fingerprint=read,
        identity=job.identity,
        scope_key=job.scope_key,
        similarity=job.similarity,
        revisit_similarity=job.revisit_similarity,
        delivered=job.delivered,
        rank=claim.rank,
    )
