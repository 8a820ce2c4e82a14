"""Clients for a service that `crawldedup serve` runs: `Client`, and `AsyncClient` for asyncio."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, suppress
from dataclasses import dataclass, fields
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from crawldedup import checks, errors, wire
from crawldedup.errors import CrawlDedupError, PageError
from crawldedup.fingerprinting.bits import Fingerprint
from crawldedup.passwords import shown_url
from crawldedup.verdict import CheckedText, Match, Verdict

if TYPE_CHECKING:
    from typing import Unpack

    # A client never reads or compares pages itself, and importing the code that does takes a
    # second.
    from crawldedup.index.explain import Comparison, Explanation
    from crawldedup.page import Page, SentPageValues

try:
    import httpx
except ImportError as error:
    raise errors.MissingDependencyError.of_extra(
        "client", f"{error}; crawldedup.client needs"
    ) from error

__all__ = ["AsyncClient", "Client", "ServiceError"]

T = TypeVar("T")

_SCHEMES: Final = ("http", "https")
BATCH: Final = 20  # A service takes 8 MB at once by default.
_TOO_LARGE: Final = 413
OnUnreadable = Callable[["Page", PageError], None]


class ServiceError(CrawlDedupError):
    """Raised when the service refuses a request for a reason other than its page or its store.

    Attributes:
        status: The status of the HTTP answer: for example, 401 without the right token.
    """

    counter = "service"

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


class TryAgainError(errors.StoreUnavailableError):
    """Raised when the service or its store cannot answer now.

    Attributes:
        retry_after: The number of seconds after which to ask again.
    """

    retry_after = 1.0


@dataclass(frozen=True, slots=True)
class _Request(Generic[T]):
    """A call to the service: where it goes, what it sends, and how to read the answer."""

    path: str
    read: Callable[[Any], T]
    body: object = None  # With None, the request is a GET.


def _check_request(url: str, page: SentPageValues) -> _Request[Verdict]:
    return _Request("/v1/check", partial(wire.from_plain, Verdict), _plain_values(url, page))


def _text_request(url: str, page: SentPageValues) -> _Request[CheckedText]:
    read = partial(wire.from_plain, CheckedText)
    return _Request("/v1/check?with=text", read, _plain_values(url, page))


def _batch_request(pages: Iterable[Page]) -> _Request[list[Verdict | CrawlDedupError]]:
    return _Request("/v1/check/batch", _results, [_plain_page(page) for page in pages])


def _find_request(url: str, page: SentPageValues) -> _Request[list[Match]]:
    def read(answer: Any) -> list[Match]:
        return [wire.from_plain(Match, match) for match in answer["matches"]]

    return _Request("/v1/find", read, _plain_values(url, page))


def _explain_request(url: str, page: SentPageValues) -> _Request[Explanation]:
    from crawldedup.index.explain import Explanation

    return _Request("/v1/explain", partial(wire.from_plain, Explanation), _plain_values(url, page))


def _compare_request(first: Page, second: Page) -> _Request[Comparison]:
    from crawldedup.index.explain import Comparison

    pair = {"first": _plain_page(first), "second": _plain_page(second)}
    return _Request("/v1/compare", partial(wire.from_plain, Comparison), pair)


def _forget_request(
    page: str | Fingerprint, identity: str | None, scope_key: str | None
) -> _Request[int]:
    def read(answer: Any) -> int:
        return int(answer["forgotten"])

    body: dict[str, Any] = {"identity": identity, "scope_key": scope_key}
    if isinstance(page, str):
        body["url"] = page
    else:
        body["fingerprint"] = wire.plain(page)
    return _Request("/v1/forget", read, body)


_INFO_REQUEST: Final[_Request[dict[str, Any]]] = _Request("/v1/info", dict)


def _result(answer: httpx.Response, read: Callable[[Any], T]) -> T:
    """Read the value in an answer of the service, or raise the error that it stands for."""
    # An answer that isn't a problem usually comes from a proxy.
    problem: Any = {
        "detail": (
            f"the service answered with status {answer.status_code} without saying what is wrong"
        )
    }
    with suppress(ValueError, KeyError, TypeError):
        value = json.loads(answer.content)
        if answer.status_code == 200:
            return read(value)
        problem = {"detail": value["detail"], **value}
    raise _error_of({"status": answer.status_code, **problem})


def _error_of(problem: dict[str, Any]) -> CrawlDedupError:
    detail = problem["detail"]
    match str(problem.get("type")).rpartition(":")[2]:
        case "unreadable-page":
            return PageError(problem["reason"], detail)
        case "other-key":
            return errors.KeyMismatchError(detail)
        case "invalid":
            return errors.ConfigurationError(detail)
    if problem["status"] == _TOO_LARGE:
        return PageError("too_large", detail)
    if problem["status"] in (429, 502, 503, 504):
        error = TryAgainError(detail)
        error.retry_after = problem.get("retry_after", error.retry_after)
        return error
    return ServiceError(problem["status"], detail)


def _results(answers: list[dict[str, Any]]) -> list[Verdict | CrawlDedupError]:
    """Read the values in an answer about many pages. Errors are returned as well."""
    return [
        _error_of(answer["problem"]) if "problem" in answer else wire.from_plain(Verdict, answer)
        for answer in answers
    ]


def _verdict_or_none(
    page: Page, result: Verdict | CrawlDedupError, on_unreadable: OnUnreadable | None
) -> Verdict | None:
    """Return the verdict on a page, or None if `on_unreadable` has handled its error.

    Raises any other error.
    """
    if isinstance(result, PageError) and on_unreadable is not None:
        on_unreadable(page, result)
        return None
    if isinstance(result, CrawlDedupError):
        raise result
    return result


def _plain_page(page: Page) -> dict[str, Any]:
    """Return what to send to the service for a page: the fields that differ from their defaults."""
    values = {}
    for field in fields(page):
        value = getattr(page, field.name)
        if value != field.default:
            values[field.name] = value
    return _plain(values)


def _plain_values(url: str, page: SentPageValues) -> dict[str, Any]:
    """Return what to send to the service for a page with these values. The service checks them."""
    return _plain({"url": url, **page})


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    plain = dict(values)
    if isinstance(plain.get("fingerprint"), Fingerprint):
        plain["fingerprint"] = wire.plain(plain["fingerprint"])
    if isinstance(plain.get("html"), bytes):
        plain["html_base64"] = base64.b64encode(plain.pop("html")).decode("ascii")
    return plain


def _checked_url(url: str) -> httpx.URL:
    """Return the address of a service.

    Raises ConfigurationError for one that no request can be sent to, however often it is tried.
    """
    try:
        address = httpx.URL(url)
    except (httpx.InvalidURL, TypeError) as error:
        raise _refused_url(url, f" ({error})") from None
    if address.scheme not in _SCHEMES or not address.host:
        is_bare = "://" not in url and url.strip("/")
        raise _refused_url(url, f": write http://{shown_url(url).strip('/')}" if is_bare else "")
    return address


def _refused_url(url: str, remedy: str) -> errors.ConfigurationError:
    allowed = f"the address of a service, such as http://localhost:8300{remedy}"
    return checks.refused("url", shown_url(str(url)), allowed)


def _batches(pages: Iterable[Page], size: int) -> Iterator[list[Page]]:
    """Split pages into batches of up to `size` pages.

    Raises ConfigurationError for a size below 1.
    """
    checks.whole(1)("batch", size)
    source = iter(pages)
    return iter(lambda: list(islice(source, size)), [])


def _halves(pages: list[Page]) -> tuple[list[Page], list[Page]]:
    middle = len(pages) // 2
    return pages[:middle], pages[middle:]


class _Common:
    """What both clients have in common: the connection, and when to try again."""

    _transport: Callable[..., Any]

    def __init__(
        self,
        url: str = "http://127.0.0.1:8300",
        *,
        token: str | None = None,
        timeout_seconds: float = 60.0,
        patience_seconds: float = 0.0,
    ) -> None:
        headers = {"content-type": "application/json"}
        if token:
            headers["authorization"] = f"Bearer {token}"
        address = _checked_url(url)
        self._http = self._transport(base_url=address, headers=headers, timeout=timeout_seconds)
        self._patience = patience_seconds

    def _send(self, request: _Request[Any]) -> Any:
        """Send a request, and return the answer or an awaitable of it."""
        if request.body is None:
            return self._http.request("GET", request.path)
        return self._http.request("POST", request.path, content=json.dumps(request.body))

    def _pause(self, error: Exception, begun: float) -> float:
        """Return how many seconds to wait before another try, if there is to be one.

        Raises TryAgainError if patience runs out before that.
        """
        failure = error
        if not isinstance(failure, TryAgainError):
            failure = TryAgainError(f"the service does not answer: {error}")
        if time.monotonic() + failure.retry_after > begun + self._patience:
            raise failure from error
        return failure.retry_after

    def _is_worth_another_try(self, result: object) -> bool:
        return self._patience > 0 and isinstance(result, TryAgainError)


class Client(_Common, AbstractContextManager["Client"]):
    """A client for a service that `crawldedup serve` runs, with the main methods of `Deduplicator`.

    The methods raise PageError, ConfigurationError and KeyMismatchError like those of
    `Deduplicator`, StoreUnavailableError if the service or its store cannot answer, and
    ServiceError if the service refuses a request for other reasons. If the answer about a page gets
    lost, the service already knows the page, so the verdict of a second request is `revisit`.
    Threads may share an instance.

    Args:
        url: The address of the service. ConfigurationError is raised if it doesn't begin with
            http:// or https://.
        token: The token of the service, if it needs one.
        timeout_seconds: The maximum number of seconds to wait for an answer.
        patience_seconds: How many seconds to keep trying while the service is busy, stopping or
            without its store. After that, StoreUnavailableError is raised. With 0, it's raised at
            once.

    Example:
        .. code-block:: python

            from crawldedup.client import Client

            with Client("http://127.0.0.1:8300", patience_seconds=30) as client:
                verdict = client.check("https://a.example/", text="Closed today.")
                print(verdict.kind, verdict.original)
    """

    _transport = httpx.Client

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def check(self, /, url: str, **page: Unpack[SentPageValues]) -> Verdict:
        """Decide about a page, remember it, and return the verdict. See `Deduplicator.check`."""
        return self._ask(_check_request(url, page))

    def check_with_text(self, /, url: str, **page: Unpack[SentPageValues]) -> CheckedText:
        """Decide about a page, and return its main text. See `Deduplicator.check_with_text`."""
        return self._ask(_text_request(url, page))

    def check_many(
        self,
        pages: Iterable[Page],
        *,
        batch: int = BATCH,
        on_unreadable: OnUnreadable | None = None,
    ) -> Iterator[Verdict]:
        """Decide about many pages, and yield their verdicts in order.

        See `Deduplicator.check_many`.

        Args:
            pages: The pages.
            batch: The maximum number of pages in a request.
            on_unreadable: Called with each page that cannot be read, and with its error. Without
                it, the error is raised.

        Raises:
            CrawlDedupError: The first page that gets no verdict ends the iteration, unless
                `on_unreadable` was called with it. If its check only failed temporarily, it's
                first sent again for `patience_seconds`.
        """
        for sent in _batches(pages, batch):
            results = self._ask_batch(sent)
            for page, result in zip(sent, results, strict=True):
                if self._is_worth_another_try(result):
                    (result,) = self._ask(_batch_request([page]))
                verdict = _verdict_or_none(page, result, on_unreadable)
                if verdict is not None:
                    yield verdict

    def _ask_batch(self, pages: list[Page]) -> list[Verdict | CrawlDedupError]:
        """Send pages, in smaller batches if they are too large to be sent at once."""
        try:
            return self._ask(_batch_request(pages))
        except PageError as error:
            if len(pages) == 1:
                return [error]
        first, second = _halves(pages)
        return [*self._ask_batch(first), *self._ask_batch(second)]

    def find(self, /, url: str = "", **page: Unpack[SentPageValues]) -> list[Match]:
        """Return remembered pages that resemble this one, most similar first.

        See `Deduplicator.find`.
        """
        return self._ask(_find_request(url, page))

    def explain(self, /, url: str, **page: Unpack[SentPageValues]) -> Explanation:
        """Explain the verdict that a page would get now. See `Deduplicator.explain`."""
        return self._ask(_explain_request(url, page))

    def compare(self, first: Page, second: Page) -> Comparison:
        """Compare two pages as a crawl would that had only seen the first one.

        The options of the index apply. See `crawldedup.compare`.
        """
        return self._ask(_compare_request(first, second))

    def forget(
        self, page: str | Fingerprint, *, identity: str | None = None, scope_key: str | None = None
    ) -> int:
        """Remove a page by its URL, or every page with the text of a fingerprint.

        Return the number of pages that were removed. See `Deduplicator.forget`.
        """
        return self._ask(_forget_request(page, identity, scope_key))

    def info(self) -> dict[str, Any]:
        """Return the figures of the index: the fields of `StoreInfo` by name."""
        return self._ask(_INFO_REQUEST)

    def _ask(self, request: _Request[T]) -> T:
        begun = time.monotonic()
        while True:
            try:
                return _result(self._send(request), request.read)
            except (TryAgainError, httpx.TransportError) as error:
                pause = self._pause(error, begun)
            time.sleep(pause)


class AsyncClient(_Common, AbstractAsyncContextManager["AsyncClient"]):
    """A client for asyncio, with the methods and arguments of `Client`.

    The methods are awaited, except for `check_many`, which is used with `async for`.
    """

    _transport = httpx.AsyncClient

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def check(self, /, url: str, **page: Unpack[SentPageValues]) -> Verdict:
        """Decide about a page, remember it, and return the verdict. See `Client.check`."""
        return await self._ask(_check_request(url, page))

    async def check_with_text(self, /, url: str, **page: Unpack[SentPageValues]) -> CheckedText:
        """Decide about a page, and return its main text. See `Deduplicator.check_with_text`."""
        return await self._ask(_text_request(url, page))

    async def check_many(
        self,
        pages: Iterable[Page],
        *,
        batch: int = BATCH,
        on_unreadable: OnUnreadable | None = None,
    ) -> AsyncIterator[Verdict]:
        """Decide about many pages, up to `batch` in a request, and yield their verdicts in order.

        See `Client.check_many`.
        """
        for sent in _batches(pages, batch):
            results = await self._ask_batch(sent)
            for page, result in zip(sent, results, strict=True):
                if self._is_worth_another_try(result):
                    (result,) = await self._ask(_batch_request([page]))
                verdict = _verdict_or_none(page, result, on_unreadable)
                if verdict is not None:
                    yield verdict

    async def _ask_batch(self, pages: list[Page]) -> list[Verdict | CrawlDedupError]:
        """Send pages, in smaller batches if they are too large to be sent at once."""
        try:
            return await self._ask(_batch_request(pages))
        except PageError as error:
            if len(pages) == 1:
                return [error]
        first, second = _halves(pages)
        return [*await self._ask_batch(first), *await self._ask_batch(second)]

    async def find(self, /, url: str = "", **page: Unpack[SentPageValues]) -> list[Match]:
        """Return remembered pages that resemble this one. See `Client.find`."""
        return await self._ask(_find_request(url, page))

    async def explain(self, /, url: str, **page: Unpack[SentPageValues]) -> Explanation:
        """Explain the verdict that a page would get now. See `Client.explain`."""
        return await self._ask(_explain_request(url, page))

    async def compare(self, first: Page, second: Page) -> Comparison:
        """Compare two pages. See `Client.compare`."""
        return await self._ask(_compare_request(first, second))

    async def forget(
        self, page: str | Fingerprint, *, identity: str | None = None, scope_key: str | None = None
    ) -> int:
        """Remove a page, or all pages with the same text, and return their number.

        See `Client.forget`.
        """
        return await self._ask(_forget_request(page, identity, scope_key))

    async def info(self) -> dict[str, Any]:
        """Return the figures of the index: the fields of `StoreInfo` by name."""
        return await self._ask(_INFO_REQUEST)

    async def _ask(self, request: _Request[T]) -> T:
        begun = time.monotonic()
        while True:
            try:
                return _result(await self._send(request), request.read)
            except (TryAgainError, httpx.TransportError) as error:
                pause = self._pause(error, begun)
            await asyncio.sleep(pause)
