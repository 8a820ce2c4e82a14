"""Ask a service that `crawldedup serve` runs: `Client`, and `AsyncClient` for asyncio."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, suppress
from dataclasses import fields
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar, cast

from crawldedup import checks, errors, wire
from crawldedup.errors import CrawlDedupError, PageError
from crawldedup.fingerprinting.bits import Fingerprint
from crawldedup.verdict import Match, Verdict

if TYPE_CHECKING:
    # A client does without what reads and compares pages, which takes a second to import.
    from crawldedup.index.explain import Comparison, Explanation
    from crawldedup.page import Page

try:
    import httpx
except ImportError as error:
    raise errors.MissingDependencyError(
        f"{error}; crawldedup.client needs: pip install httpx"
    ) from error

__all__ = ["AsyncClient", "Client", "ServiceError"]

P = ParamSpec("P")
T = TypeVar("T")

BATCH: Final = 20  # A service takes 8 MB at once.
_MANY: Final = "/v1/check/batch"
OnUnreadable = Callable[["Page", PageError], None]


class ServiceError(CrawlDedupError):
    """Raised when the service refuses a request for another reason than its page or its store.

    Attributes:
        status: The status of the HTTP answer, as 401 without the right token.
    """

    counter = "service"

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


class TryAgainError(errors.StoreUnavailableError):
    """Raised when the service, or its store, cannot answer now: ask again in `retry_after` seconds."""

    retry_after = 1.0


def _result(answer: httpx.Response, read: Callable[[Any], T]) -> T:
    """Return what an answer means. Raises the error that it stands for."""
    # Of a proxy, as a rule.
    problem: Any = {
        "detail": f"the service answered with status {answer.status_code} and no problem of its own"
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
    if problem["status"] in (429, 502, 503, 504):
        error = TryAgainError(detail)
        error.retry_after = problem.get("retry_after", error.retry_after)
        return error
    return ServiceError(problem["status"], detail)


def _results(answers: list[dict[str, Any]]) -> list[Verdict | CrawlDedupError]:
    """Return what the answers about many pages mean."""
    return [
        _error_of(each["problem"]) if "problem" in each else wire.from_plain(Verdict, each)
        for each in answers
    ]


def _settled(
    page: Page, result: Verdict | CrawlDedupError, on_unreadable: OnUnreadable | None
) -> Iterator[Verdict]:
    """Yield the verdict of a page.

    Raises its error, but that of an unreadable one goes to `on_unreadable`, if any.
    """
    if isinstance(result, PageError) and on_unreadable is not None:
        on_unreadable(page, result)
    elif isinstance(result, CrawlDedupError):
        raise result
    else:
        yield result


def _values(page: Page | dict[str, Any]) -> dict[str, Any]:
    """Return a page, or its fields, as the service takes them, which checks them."""
    if not isinstance(page, dict):
        page = {
            each.name: value
            for each in fields(page)
            if (value := getattr(page, each.name)) != each.default
        }
    if isinstance(page.get("fingerprint"), Fingerprint):
        page["fingerprint"] = wire.plain(page["fingerprint"])
    if isinstance(page.get("html"), bytes):
        page["html_base64"] = base64.b64encode(page.pop("html")).decode("ascii")
    return page


def _batches(pages: Iterable[Page], size: int) -> Iterator[list[Page]]:
    """Return pages in batches. Raises ConfigurationError for a batch of no pages."""
    checks.whole(1)("batch", size)
    source = iter(pages)
    return iter(lambda: list(islice(source, size)), [])


class _Common:
    _transport: Callable[..., Any]

    def __init__(
        self,
        url: str = "http://127.0.0.1:8300",
        *,
        token: str | None = None,
        timeout_seconds: float = 60.0,
        patience_seconds: float = 0.0,
    ) -> None:
        headers = {"content-type": "application/json"} | (
            {"authorization": f"Bearer {token}"} if token else {}
        )
        self._http = self._transport(base_url=url, headers=headers, timeout=timeout_seconds)
        self._patience = patience_seconds

    def _send(self, path: str, value: Any) -> Any:
        """Return the answer, or what is to be awaited for it."""
        return self._http.request(
            "GET" if value is None else "POST", path, content=value and json.dumps(value)
        )

    def _pause(self, error: Exception, begun: float) -> float:
        """Return in how many seconds to ask again. Raises TryAgainError if patience ends before."""
        failure = (
            error
            if isinstance(error, TryAgainError)
            else TryAgainError(f"the service does not answer: {error}")
        )
        if time.monotonic() + failure.retry_after > begun + self._patience:
            raise failure from error
        return failure.retry_after


class Client(_Common, AbstractContextManager["Client"]):
    """Asks a service that `crawldedup serve` runs, with the calls of `Deduplicator`.

    Methods that take `**page` take what `Page` takes, by keyword. They raise the errors of
    `Deduplicator`, and ServiceError for other refusals. A page whose answer was lost is known by
    then: asked again, its verdict is `revisit`. Threads may share an instance.

    Args:
        url: The address of the service.
        token: The token of the service, if it wants one.
        timeout_seconds: The most seconds to wait for an answer.
        patience_seconds: For how many seconds to ask again while the service is busy, stopping or
            without its store. Then StoreUnavailableError is raised; with 0 at once.

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

    def check(self, /, url: str, **page: Any) -> Verdict:
        """Decide about a page and remember it. See `Deduplicator.check`."""
        return self._ask(
            "/v1/check", partial(wire.from_plain, Verdict), _values({"url": url, **page})
        )

    def check_many(
        self,
        pages: Iterable[Page],
        *,
        batch: int = BATCH,
        on_unreadable: OnUnreadable | None = None,
    ) -> Iterator[Verdict]:
        """Decide about many pages in their order, up to `batch` of them in one request.

        See `Deduplicator.check_many`. Pages whose checks failed for now are sent again for
        `patience_seconds`.
        """
        for asked in _batches(pages, batch):
            for page, result in zip(
                asked, self._ask(_MANY, _results, list(map(_values, asked))), strict=True
            ):
                if self._patience and isinstance(result, TryAgainError):
                    (result,) = self._ask(_MANY, _results, [_values(page)])
                yield from _settled(page, result, on_unreadable)

    def find(self, /, url: str = "", **page: Any) -> list[Match]:
        """Return remembered pages that resemble this one, most similar first.

        See `Deduplicator.find`.
        """
        named = _values({"url": url, **page})
        return self._ask(
            "/v1/find",
            lambda answer: [wire.from_plain(Match, each) for each in answer["matches"]],
            named,
        )

    def explain(self, /, url: str, **page: Any) -> Explanation:
        """Explain the verdict that a page would get now. See `Deduplicator.explain`."""
        from crawldedup.index.explain import Explanation

        return self._ask(
            "/v1/explain", partial(wire.from_plain, Explanation), _values({"url": url, **page})
        )

    def compare(self, first: Page, second: Page) -> Comparison:
        """Compare the page that a crawl has seen `first` with another, by the options of the index."""
        from crawldedup.index.explain import Comparison

        pair = {"first": _values(first), "second": _values(second)}
        return self._ask("/v1/compare", partial(wire.from_plain, Comparison), pair)

    def forget(
        self, page: str | Fingerprint, *, identity: str | None = None, scope_key: str | None = None
    ) -> int:
        """Remove a page by its URL, or every page with the text of a fingerprint.

        See `Deduplicator.forget`.
        """
        named = {"url": page} if isinstance(page, str) else {"fingerprint": wire.plain(page)}
        value = {**named, "identity": identity, "scope_key": scope_key}
        return self._ask("/v1/forget", lambda answer: int(answer["forgotten"]), value)

    def info(self) -> dict[str, Any]:
        """Return the figures of the index."""
        return self._ask("/v1/info", dict)

    def _ask(self, path: str, read: Callable[[Any], T], value: Any = None) -> T:
        begun = time.monotonic()
        while True:
            try:
                return _result(self._send(path, value), read)
            except (TryAgainError, httpx.TransportError) as error:
                pause = self._pause(error, begun)
            time.sleep(pause)


def _awaited(
    call: Callable[Concatenate[Client, P], T],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    """Return a method of `Client` for `AsyncClient`, whose `_ask` is to be awaited."""
    return cast("Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]", call)


class AsyncClient(_Common, AbstractAsyncContextManager["AsyncClient"]):
    """Asks a service from asyncio: the calls of `Client`, awaited, and its arguments."""

    _transport = httpx.AsyncClient

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    check = _awaited(Client.check)
    find = _awaited(Client.find)
    explain = _awaited(Client.explain)
    compare = _awaited(Client.compare)
    forget = _awaited(Client.forget)
    info = _awaited(Client.info)

    async def check_many(
        self,
        pages: Iterable[Page],
        *,
        batch: int = BATCH,
        on_unreadable: OnUnreadable | None = None,
    ) -> AsyncIterator[Verdict]:
        """Decide about many pages in their order, up to `batch` of them in one request.

        See `Client.check_many`.
        """
        for asked in _batches(pages, batch):
            for page, result in zip(
                asked, await self._ask(_MANY, _results, list(map(_values, asked))), strict=True
            ):
                if self._patience and isinstance(result, TryAgainError):
                    (result,) = await self._ask(_MANY, _results, [_values(page)])
                for verdict in _settled(page, result, on_unreadable):
                    yield verdict

    async def _ask(self, path: str, read: Callable[[Any], T], value: Any = None) -> T:
        begun = time.monotonic()
        while True:
            try:
                return _result(await self._send(path, value), read)
            except (TryAgainError, httpx.TransportError) as error:
                pause = self._pause(error, begun)
            await asyncio.sleep(pause)
