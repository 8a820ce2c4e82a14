"""Ask a service that `crawldedup serve` runs: `Client`, and `AsyncClient` for asyncio."""

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from itertools import islice
from typing import Any, Final, Generic, Self, TypedDict, TypeVar, Unpack

from crawldedup import checks, wire
from crawldedup.errors import (
    ConfigurationError,
    CrawlDedupError,
    KeyMismatchError,
    MissingDependencyError,
    PageError,
    StoreUnavailableError,
)
from crawldedup.explain import Comparison, Explanation
from crawldedup.fingerprinting.fingerprint import Fingerprint
from crawldedup.page import Page
from crawldedup.verdict import Match, Verdict

try:
    import httpx
except ImportError as error:
    raise MissingDependencyError(f"{error}; crawldedup.client needs: pip install 'crawldedup[client]'") from error

__all__ = ["AsyncClient", "Client", "PageFields", "ServiceError"]

T = TypeVar("T")
OnUnreadable = Callable[[Page, PageError], None]

BATCH: Final = 100


class ServiceError(CrawlDedupError):
    """Raised when the service refuses a request for another reason than its page or its store.

    Attributes:
        status: The status of the HTTP answer, as 401 without the right token.
    """

    counter = "service"

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


class TryAgainError(StoreUnavailableError):
    """Raised when the service, or its store, cannot answer now: ask again in `retry_after` seconds."""

    def __init__(self, message: str, retry_after: float = 1.0) -> None:
        self.retry_after = retry_after
        super().__init__(message)

    def pause(self, deadline: float) -> float | None:
        """Return in how many seconds to ask again; None if that is beyond the deadline."""
        return None if time.monotonic() + self.retry_after > deadline else self.retry_after


class PageFields(TypedDict, total=False):
    """Names the fields of `Page` that calls take by keyword.

    Attributes:
        html: The HTML as it was received.
        text: The main text, if you have extracted it yourself.
        fingerprint: A fingerprint made with the key and the options of the index.
        encoding: The encoding that the server declared for `html`.
        identity: The name of the page; by default its canonical URL.
        scope_key: The site, the spider or another name, in place of what the option `scope` says of the URL.
        similarity: Overrides the option for this page.
        rank: The rank among copies, from 0 (best) to 255 (worst).
        revisit_similarity: From which similarity on a revisit is unchanged.
    """

    html: bytes | str | None
    text: str | None
    fingerprint: Fingerprint | None
    encoding: str | None
    identity: str | None
    scope_key: str | None
    similarity: float | None
    rank: int
    revisit_similarity: float | None


_verdict = partial(wire.from_plain, Verdict)


@dataclass(frozen=True, slots=True)
class _Call(Generic[T]):
    """One request; `read` makes the result of the value that is answered."""

    path: str
    read: Callable[[Any], T]
    value: Any = None

    @property
    def method(self) -> str:
        """The method of HTTP."""
        return "GET" if self.value is None else "POST"

    def body(self) -> bytes | None:
        """Return the body to send."""
        return None if self.value is None else json.dumps(self.value).encode()

    def result(self, status: int, body: bytes) -> T:
        """Return what an answer means. Raises the error that it stands for."""
        try:
            value = json.loads(body)
            if status == 200:
                return self.read(value)
        except (ValueError, KeyError, TypeError):
            value = None
        if not isinstance(value, dict) or "detail" not in value:
            # A proxy's answer, as a rule.
            message = f"the service answered with status {status} and no problem of its own"
            raise TryAgainError(message) if status in (429, 502, 503, 504) else ServiceError(status, message)
        raise _error_of(value)


def _error_of(problem: dict[str, Any]) -> CrawlDedupError:
    code, status, detail = str(problem.get("type")).rpartition(":")[2], problem.get("status"), problem["detail"]
    if status in (429, 503):
        return TryAgainError(detail, problem.get("retry_after", 1.0))
    if code == "unreadable-page":
        return PageError(problem["reason"], detail)
    if code == "other-key":
        return KeyMismatchError(detail)
    return ConfigurationError(detail) if status == 400 else ServiceError(int(status or 500), detail)


def _check(url: str, **page: Unpack[PageFields]) -> _Call[Verdict]:
    return _Call("/v1/check", _verdict, _values(Page(url, **page)))


def _check_batch(pages: list[Page]) -> _Call[list[Verdict | CrawlDedupError]]:
    def read(values: list[dict[str, Any]]) -> list[Verdict | CrawlDedupError]:
        return [_error_of(each["problem"]) if "problem" in each else _verdict(each) for each in values]

    return _Call("/v1/check/batch", read, [_values(page) for page in pages])


def _find(url: str = "", **page: Unpack[PageFields]) -> _Call[list[Match]]:
    value = _values(Page(url, **page))
    return _Call("/v1/find", lambda answer: [wire.from_plain(Match, each) for each in answer["matches"]], value)


def _explain(url: str, **page: Unpack[PageFields]) -> _Call[Explanation]:
    return _Call("/v1/explain", partial(wire.from_plain, Explanation), _values(Page(url, **page)))


def _compare(first: Page, second: Page) -> _Call[Comparison]:
    return _Call(
        "/v1/compare", partial(wire.from_plain, Comparison), {"first": _values(first), "second": _values(second)}
    )


def _forget(page: str | Fingerprint, identity: str | None, scope_key: str | None) -> _Call[int]:
    named = {"url": page} if isinstance(page, str) else {"fingerprint": wire.plain(page)}
    value = {**named, "identity": identity, "scope_key": scope_key}
    return _Call("/v1/forget", lambda answer: int(answer["forgotten"]), value)


_INFO: Final[_Call[dict[str, Any]]] = _Call("/v1/info", dict)


class _Results:
    """What became of the pages of one batch, as far as is known."""

    def __init__(self, pages: list[Page]) -> None:
        self._pages = pages
        self._results: list[Verdict | CrawlDedupError] = [TryAgainError("not asked yet")] * len(pages)

    def open(self) -> list[Page]:
        """Return the pages to be asked about, again."""
        return [self._pages[place] for place in self._places()]

    def take(self, answers: list[Verdict | CrawlDedupError]) -> TryAgainError | None:
        """Take the answers for the open pages; return the error of one that is still open, if any."""
        for place, answer in zip(self._places(), answers, strict=True):
            self._results[place] = answer
        return next((result for result in self._results if isinstance(result, TryAgainError)), None)

    def verdicts(self, on_unreadable: Callable[[Page, PageError], None] | None) -> Iterator[Verdict]:
        """Yield the verdicts. Raises the first error; pages that cannot be read are told instead, if wished."""
        for page, result in zip(self._pages, self._results, strict=True):
            if isinstance(result, PageError) and on_unreadable is not None:
                on_unreadable(page, result)
            elif isinstance(result, Exception):
                raise result
            else:
                yield result

    def _places(self) -> list[int]:
        return [place for place, result in enumerate(self._results) if isinstance(result, TryAgainError)]


def _batches(pages: Iterable[Page], size: int) -> Iterator[_Results]:
    """Yield pages in batches. Raises ConfigurationError for a batch of no pages."""
    checks.whole(1)("batch", size)
    source = iter(pages)
    while batch := list(islice(source, size)):
        yield _Results(batch)


def _values(page: Page) -> dict[str, Any]:
    given = {each.name: getattr(page, each.name) for each in fields(page) if getattr(page, each.name) != each.default}
    if given.pop("delivered", True) is False:
        raise ConfigurationError("pages that are checked by a service are delivered: leave `delivered` out")
    if isinstance(page.fingerprint, Fingerprint):
        given["fingerprint"] = wire.plain(page.fingerprint)
    if isinstance(page.html, bytes):
        given["html_base64"] = base64.b64encode(given.pop("html")).decode("ascii")
    return given


class _Common:
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
            "headers": {"content-type": "application/json", **authorization},
            "timeout": timeout_seconds,
        }
        self._patience = patience_seconds
        self._connect()

    def _connect(self) -> None:
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
        return self._ask(_check(url, **page))

    def find(self, url: str = "", **page: Unpack[PageFields]) -> list[Match]:
        """Return remembered pages that resemble this one, most similar first. See `Deduplicator.find`.

        Args:
            url: Tells the scope "site" the site.
            **page: The page: see `PageFields`.
        """
        return self._ask(_find(url, **page))

    def explain(self, url: str, **page: Unpack[PageFields]) -> Explanation:
        """Explain the verdict that a page would get now. See `Deduplicator.explain`.

        Args:
            url: The URL of the page.
            **page: The page: see `PageFields`.
        """
        return self._ask(_explain(url, **page))

    def compare(self, first: Page, second: Page) -> Comparison:
        """Compare two pages by the options of the index. See `crawldedup.compare`.

        Args:
            first: The page that a crawl has seen.
            second: The page that it meets now.
        """
        return self._ask(_compare(first, second))

    def forget(self, page: str | Fingerprint, *, identity: str | None = None, scope_key: str | None = None) -> int:
        """Remove pages, and return how many. See `Deduplicator.forget`.

        Args:
            page: The URL, or a fingerprint.
            identity: The identity that the page was checked with.
            scope_key: The scope key that the page was checked with.
        """
        return self._ask(_forget(page, identity, scope_key))

    def info(self) -> dict[str, Any]:
        """Return the figures of the index, the version of the service, and its main options."""
        return self._ask(_INFO)

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
        for results in _batches(pages, batch):
            deadline = self._deadline()
            while error := results.take(self._ask(_check_batch(results.open()))):
                if (pause := error.pause(deadline)) is None:
                    break
                time.sleep(pause)
            yield from results.verdicts(on_unreadable)

    def _ask(self, call: _Call[T]) -> T:
        deadline = self._deadline()
        while True:
            try:
                with _answers():
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
        return await self._ask(_check(url, **page))

    async def find(self, url: str = "", **page: Unpack[PageFields]) -> list[Match]:
        """Return remembered pages that resemble this one, most similar first. See `Client.find`."""
        return await self._ask(_find(url, **page))

    async def explain(self, url: str, **page: Unpack[PageFields]) -> Explanation:
        """Explain the verdict that a page would get now. See `Client.explain`."""
        return await self._ask(_explain(url, **page))

    async def compare(self, first: Page, second: Page) -> Comparison:
        """Compare two pages by the options of the index. See `Client.compare`."""
        return await self._ask(_compare(first, second))

    async def forget(
        self, page: str | Fingerprint, *, identity: str | None = None, scope_key: str | None = None
    ) -> int:
        """Remove pages, and return how many. See `Client.forget`."""
        return await self._ask(_forget(page, identity, scope_key))

    async def info(self) -> dict[str, Any]:
        """Return the figures of the index, the version of the service, and its main options."""
        return await self._ask(_INFO)

    async def check_many(
        self, pages: Iterable[Page], *, batch: int = BATCH, on_unreadable: OnUnreadable | None = None
    ) -> AsyncIterator[Verdict]:
        """Decide about many pages in their order, one request for each batch. See `Client.check_many`.

        Args:
            pages: The pages. They are taken a batch at a time.
            batch: The most pages in one request, from 1.
            on_unreadable: Is called in the event loop with each page that cannot be read and its error.
        """
        for results in _batches(pages, batch):
            deadline = self._deadline()
            while error := results.take(await self._ask(_check_batch(results.open()))):
                if (pause := error.pause(deadline)) is None:
                    break
                await asyncio.sleep(pause)
            for verdict in results.verdicts(on_unreadable):
                yield verdict

    async def _ask(self, call: _Call[T]) -> T:
        deadline = self._deadline()
        while True:
            try:
                with _answers():
                    answer = await self._http.request(call.method, call.path, content=call.body())
                return call.result(answer.status_code, answer.content)
            except TryAgainError as error:
                if (pause := error.pause(deadline)) is None:
                    raise
            await asyncio.sleep(pause)


@contextmanager
def _answers() -> Iterator[None]:
    """Raise TryAgainError if the service does not answer."""
    try:
        yield
    except httpx.TransportError as error:
        raise TryAgainError(f"the service does not answer: {error}") from error
