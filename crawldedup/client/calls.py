"""Calls of the service, and what its answers mean: the part of the clients that does no input or output."""

from __future__ import annotations

import base64
import json
import time
from dataclasses import dataclass, fields
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Generic, TypedDict, TypeVar, Unpack

from crawldedup.batches import check_batch as check_size
from crawldedup.errors import (
    ConfigurationError,
    CrawlDedupError,
    KeyMismatchError,
    PageError,
    StoreUnavailableError,
)
from crawldedup.explanation.comparison import Comparison
from crawldedup.explanation.explained import Explanation
from crawldedup.fingerprinting.fingerprint import Fingerprint
from crawldedup.page import Page
from crawldedup.stores.contents import Cluster
from crawldedup.verdict import Coverage, Match, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

T = TypeVar("T")

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

    Exactly one of `html`, `text` and `fingerprint` is given. The ranges are those of `Page`.

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


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
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
        raise error_of(value)


def error_of(problem: dict[str, Any]) -> CrawlDedupError:
    """Return the error that a problem stands for."""
    code, status, detail = str(problem.get("type")).rpartition(":")[2], problem.get("status"), problem["detail"]
    if status in (429, 503):
        return TryAgainError(detail, problem.get("retry_after", 1.0))
    if code == "unreadable-page":
        return PageError(problem["reason"], detail)
    if code == "other-key":
        return KeyMismatchError(detail)
    return ConfigurationError(detail) if status == 400 else ServiceError(int(status or 500), detail)


def check(url: str, **page: Unpack[PageFields]) -> Call[Verdict]:
    """Return the call that checks a page."""
    return Call("/v1/check", Verdict.from_dict, _values(Page(url, **page)))


def check_batch(pages: list[Page]) -> Call[list[Verdict | CrawlDedupError]]:
    """Return the call that checks pages; their errors stand in their places."""

    def read(values: list[dict[str, Any]]) -> list[Verdict | CrawlDedupError]:
        return [error_of(each["problem"]) if "problem" in each else Verdict.from_dict(each) for each in values]

    return Call("/v1/check/batch", read, [_values(page) for page in pages])


def find(url: str = "", **page: Unpack[PageFields]) -> Call[list[Match]]:
    """Return the call that finds pages."""
    value = _values(Page(url, **page))
    return Call("/v1/find", lambda answer: [Match.from_dict(each) for each in answer["matches"]], value)


def explain(url: str, **page: Unpack[PageFields]) -> Call[Explanation]:
    """Return the call that explains a verdict."""
    return Call("/v1/explain", Explanation.from_dict, _values(Page(url, **page)))


def compare(first: Page, second: Page) -> Call[Comparison]:
    """Return the call that compares two pages."""
    return Call("/v1/compare", Comparison.from_dict, {"first": _values(first), "second": _values(second)})


def check_paragraphs(url: str, remember: bool, **page: Unpack[PageFields]) -> Call[Coverage]:
    """Return the call that tells how much of a page is known."""
    value = {**_values(Page(url, **page)), "remember": remember}
    return Call("/v1/paragraphs", Coverage.from_dict, value)


def clusters(most: int) -> Call[list[Cluster]]:
    """Return the call that lists clusters."""
    return Call(f"/v1/clusters?most={most}", lambda answer: [Cluster(**each) for each in answer["clusters"]])


def forget(page: str | Fingerprint, identity: str | None, scope_key: str | None) -> Call[int]:
    """Return the call that forgets pages."""
    named = {"url": page} if isinstance(page, str) else {"fingerprint": page.as_dict()}
    value = {**named, "identity": identity, "scope_key": scope_key}
    return Call("/v1/forget", lambda answer: int(answer["forgotten"]), value)


INFO: Final[Call[dict[str, Any]]] = Call("/v1/info", dict)


class Results:
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


def batches(pages: Iterable[Page], size: int) -> Iterator[Results]:
    """Yield pages in batches. Raises ConfigurationError for a batch of no pages."""
    check_size("batch", size)
    source = iter(pages)
    while batch := list(islice(source, size)):
        yield Results(batch)


def _values(page: Page) -> dict[str, Any]:
    """Return a page as the service takes it."""
    given = {each.name: getattr(page, each.name) for each in fields(page) if getattr(page, each.name) != each.default}
    if given.pop("delivered", True) is False:
        raise ConfigurationError("pages that are checked by a service are delivered: leave `delivered` out")
    if isinstance(page.fingerprint, Fingerprint):
        given["fingerprint"] = page.fingerprint.as_dict()
    if isinstance(page.html, bytes):
        given["html_base64"] = base64.b64encode(given.pop("html")).decode("ascii")
    return given
