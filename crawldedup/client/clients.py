"""The clients: `httpx` sends the calls."""

from __future__ import annotations

import asyncio
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, Unpack

from crawldedup.client import calls
from crawldedup.client.calls import BATCH, TryAgainError
from crawldedup.errors import MissingDependencyError

try:
    import httpx
except ImportError as error:
    raise MissingDependencyError(f"{error}; crawldedup.client needs: pip install 'crawldedup[client]'") from error

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from crawldedup.client.calls import Call, PageFields
    from crawldedup.errors import PageError
    from crawldedup.explanation.comparison import Comparison
    from crawldedup.explanation.explained import Explanation
    from crawldedup.fingerprinting.fingerprint import Fingerprint
    from crawldedup.page import Page
    from crawldedup.stores.contents import Cluster
    from crawldedup.verdict import Coverage, Match, Verdict

    OnUnreadable = Callable[[Page, PageError], None]

T = TypeVar("T")

_HEADERS: Final = {"content-type": "application/json"}


class _Common:
    """What both clients are told."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:8300",
        *,
        token: str | None = None,
        timeout_seconds: float = 60.0,
        patience_seconds: float = 0.0,
    ) -> None:
        authorization = {} if token is None else {"authorization": f"Bearer {token}"}
        self._options: dict[str, Any] = {
            "base_url": url,
            "headers": {**_HEADERS, **authorization},
            "timeout": timeout_seconds,
        }
        self._patience = patience_seconds
        self._connect()

    def _connect(self) -> None:
        """Make the connections' pool."""
        raise NotImplementedError

    def _deadline(self) -> float:
        return time.monotonic() + self._patience


class Client(_Common):
    """Asks a service that `crawldedup serve` runs, with the calls of `Deduplicator`.

    The calls raise the errors of `Deduplicator`, and ServiceError for other refusals. A page whose answer was lost is
    known by then: asked again, its verdict is `revisit`. Threads may share an instance.

    Args:
        url: The address of the service.
        token: The token of the service, if it wants one.
        timeout_seconds: The most seconds to wait for an answer.
        patience_seconds: For how many seconds to ask again while the service is busy, stopping or without its store.
            Then StoreUnavailableError is raised; with 0 at once.

    Example:
        .. code-block:: python

            from crawldedup.client import Client

            with Client("http://127.0.0.1:8300", patience_seconds=30) as client:
                verdict = client.check("https://a.example/", text="Closed today.")
                print(verdict.kind, verdict.original)
    """

    def _connect(self) -> None:
        self._http = httpx.Client(**self._options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def check(self, url: str, **page: Unpack[PageFields]) -> Verdict:
        """Decide about a page and remember it. See `Deduplicator.check`.

        Args:
            url: The URL of the page.
            **page: The page: see `PageFields`.

        Raises:
            ConfigurationError: An argument is not allowed.
            PageError: The page cannot be read.
            StoreUnavailableError: The service, or its store, does not answer in time.
            ServiceError: The service refuses the request.
        """
        return self._ask(calls.check(url, **page))

    def find(self, url: str = "", **page: Unpack[PageFields]) -> list[Match]:
        """Return remembered pages that resemble this one, most similar first. See `Deduplicator.find`.

        Args:
            url: Tells the scope "site" the site.
            **page: The page: see `PageFields`.
        """
        return self._ask(calls.find(url, **page))

    def explain(self, url: str, **page: Unpack[PageFields]) -> Explanation:
        """Explain the verdict that a page would get now. See `Deduplicator.explain`.

        Args:
            url: The URL of the page.
            **page: The page: see `PageFields`.
        """
        return self._ask(calls.explain(url, **page))

    def compare(self, first: Page, second: Page) -> Comparison:
        """Compare two pages by the options of the index. See `crawldedup.compare`.

        Args:
            first: The page that a crawl has seen.
            second: The page that it meets now.
        """
        return self._ask(calls.compare(first, second))

    def check_paragraphs(self, url: str, *, remember: bool = True, **page: Unpack[PageFields]) -> Coverage:
        """Tell how much of a page stands on earlier pages. See `Deduplicator.check_paragraphs`.

        Args:
            url: The URL of the page.
            remember: With False, no paragraphs are added.
            **page: The page: see `PageFields`.
        """
        return self._ask(calls.check_paragraphs(url, remember, **page))

    def clusters(self, most: int = 20) -> list[Cluster]:
        """Return the pages with the most duplicates, largest clusters first. See `Deduplicator.clusters`.

        Args:
            most: The most clusters to return, from 1.
        """
        return self._ask(calls.clusters(most))

    def forget(self, page: str | Fingerprint, *, identity: str | None = None, scope_key: str | None = None) -> int:
        """Remove pages, and return how many. See `Deduplicator.forget`.

        Args:
            page: The URL, or a fingerprint.
            identity: The identity that the page was checked with.
            scope_key: The scope key that the page was checked with.
        """
        return self._ask(calls.forget(page, identity, scope_key))

    def info(self) -> dict[str, Any]:
        """Return the figures of the index, the version of the service, and its main options."""
        return self._ask(calls.INFO)

    def check_many(
        self, pages: Iterable[Page], *, batch: int = BATCH, on_unreadable: OnUnreadable | None = None
    ) -> Iterator[Verdict]:
        """Decide about many pages in their order, one request for each batch. See `Deduplicator.check_many`.

        Args:
            pages: The pages. They are taken a batch at a time.
            batch: The most pages in one request, from 1.
            on_unreadable: Is called with each page that cannot be read and its error. Without it, the error is raised.

        Yields:
            The verdicts, in the order of the pages that can be read.

        Raises:
            PageError: A page cannot be read, and there is no `on_unreadable`.
            StoreUnavailableError: The service, or its store, does not answer in time.
            ServiceError: The service refuses the request.

        Example:
            .. code-block:: python

                from crawldedup import Page
                from crawldedup.client import Client

                pages = [
                    Page("https://a.example/", html="<p>Closed today.</p>"),
                    Page("https://b.example/", html="<p>Closed today.</p>"),
                ]
                with Client() as client:
                    for verdict in client.check_many(pages):
                        print(verdict.url, verdict.kind)
        """
        for results in calls.batches(pages, batch):
            deadline = self._deadline()
            while error := results.take(self._ask(calls.check_batch(results.open()))):
                if (pause := error.pause(deadline)) is None:
                    break
                time.sleep(pause)
            yield from results.verdicts(on_unreadable)

    def _ask(self, call: Call[T]) -> T:
        deadline = self._deadline()
        while True:
            try:
                with answers():
                    answer = self._http.request(call.method, call.path, content=call.body())
                return call.result(answer.status_code, answer.content)
            except TryAgainError as error:
                if (pause := error.pause(deadline)) is None:
                    raise
            time.sleep(pause)


class AsyncClient(_Common):
    """Asks a service from asyncio: the calls of `Client`, awaited.

    Args:
        url: The address of the service.
        token: The token of the service, if it wants one.
        timeout_seconds: The most seconds to wait for an answer.
        patience_seconds: As in `Client`.

    Example:
        .. code-block:: python

            import asyncio

            from crawldedup.client import AsyncClient


            async def main():
                async with AsyncClient("http://127.0.0.1:8300") as client:
                    url = "https://a.example/"
                    verdict = await client.check(url, text="Closed today.")
                    print(verdict.kind)


            asyncio.run(main())
    """

    def _connect(self) -> None:
        self._http = httpx.AsyncClient(**self._options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def check(self, url: str, **page: Unpack[PageFields]) -> Verdict:
        """Decide about a page and remember it. See `Client.check`."""
        return await self._ask(calls.check(url, **page))

    async def find(self, url: str = "", **page: Unpack[PageFields]) -> list[Match]:
        """Return remembered pages that resemble this one, most similar first. See `Client.find`."""
        return await self._ask(calls.find(url, **page))

    async def explain(self, url: str, **page: Unpack[PageFields]) -> Explanation:
        """Explain the verdict that a page would get now. See `Client.explain`."""
        return await self._ask(calls.explain(url, **page))

    async def compare(self, first: Page, second: Page) -> Comparison:
        """Compare two pages by the options of the index. See `Client.compare`."""
        return await self._ask(calls.compare(first, second))

    async def check_paragraphs(self, url: str, *, remember: bool = True, **page: Unpack[PageFields]) -> Coverage:
        """Tell how much of a page stands on earlier pages. See `Client.check_paragraphs`."""
        return await self._ask(calls.check_paragraphs(url, remember, **page))

    async def clusters(self, most: int = 20) -> list[Cluster]:
        """Return the pages with the most duplicates, largest clusters first. See `Client.clusters`."""
        return await self._ask(calls.clusters(most))

    async def forget(
        self, page: str | Fingerprint, *, identity: str | None = None, scope_key: str | None = None
    ) -> int:
        """Remove pages, and return how many. See `Client.forget`."""
        return await self._ask(calls.forget(page, identity, scope_key))

    async def info(self) -> dict[str, Any]:
        """Return the figures of the index, the version of the service, and its main options."""
        return await self._ask(calls.INFO)

    async def check_many(
        self, pages: Iterable[Page], *, batch: int = BATCH, on_unreadable: OnUnreadable | None = None
    ) -> AsyncIterator[Verdict]:
        """Decide about many pages in their order, one request for each batch. See `Client.check_many`.

        Args:
            pages: The pages. They are taken a batch at a time.
            batch: The most pages in one request, from 1.
            on_unreadable: Is called in the event loop with each page that cannot be read and its error.
        """
        for results in calls.batches(pages, batch):
            deadline = self._deadline()
            while error := results.take(await self._ask(calls.check_batch(results.open()))):
                if (pause := error.pause(deadline)) is None:
                    break
                await asyncio.sleep(pause)
            for verdict in results.verdicts(on_unreadable):
                yield verdict

    async def _ask(self, call: Call[T]) -> T:
        deadline = self._deadline()
        while True:
            try:
                with answers():
                    answer = await self._http.request(call.method, call.path, content=call.body())
                return call.result(answer.status_code, answer.content)
            except TryAgainError as error:
                if (pause := error.pause(deadline)) is None:
                    raise
            await asyncio.sleep(pause)


@contextmanager
def answers() -> Iterator[None]:
    """Raise TryAgainError if the service does not answer."""
    try:
        yield
    except httpx.TransportError as error:
        raise TryAgainError(f"the service does not answer: {error}") from error
