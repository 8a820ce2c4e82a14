"""The endpoints: what clients send, what they are answered, and the problems that refuse them (RFC 9457).

Handlers take what is `sent`, decoded and checked. Their docstrings and types are the reference.
"""

import json
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from http import HTTPStatus
from typing import Annotated, Any, Final, TypeVar, get_type_hints

from msgspec import Meta, Struct, convert, structs, to_builtins
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from crawldedup import errors, wire
from crawldedup.aio import AsyncDeduplicator
from crawldedup.checks import did_you_mean
from crawldedup.errors import ConfigurationError, CrawlDedupError
from crawldedup.explain import Comparison, Explanation
from crawldedup.fingerprinting import Fingerprint
from crawldedup.page import Page
from crawldedup.service import watching
from crawldedup.stores.base import StoreInfo
from crawldedup.verdict import Match, Verdict
from crawldedup.workers.pool import LONGEST_PAUSE_SECONDS

T = TypeVar("T")
_Answer = Callable[..., Awaitable[object]]

ENDPOINTS: Final[list[Route]] = []
OPEN: Final = ("/health/live", "/health/ready", "/openapi.json")
"""These need no token."""
JSON: Final = "application/json"
LONGEST_NAME: Final = 8_192
MOST_PAGES: Final = 1_000
"""Pages of one request."""
_LONGEST_MESSAGE: Final = 300
_CHARSET: Final = re.compile(r';\s*charset\s*=\s*"?([\w.:-]+)', re.IGNORECASE)
_UNKNOWN: Final = re.compile(r"unknown field `(.*?)`")
_PROBLEMS: Final[tuple[tuple[type[Exception], str, int, int | None], ...]] = (
    (ClientDisconnect, "gone", 400, None),
    (errors.PageError, "unreadable-page", 422, None),
    (errors.KeyMismatchError, "other-key", 409, None),
    (errors.ConfigurationError, "invalid", 400, None),
    (errors.UnexpectedReadError, "internal", 500, None),
    (errors.WorkerError, "busy", 503, 1),
    (errors.StoreFullError, "store", 503, int(LONGEST_PAUSE_SECONDS)),
    (CrawlDedupError, "store", 503, 2),
    (Exception, "internal", 500, None),
)
"""The word, the status, and after how many seconds to ask again, of the first kind that fits."""
_log: Final = logging.getLogger(__name__)
_UNFORESEEN: Final = "The service failed at this request. Its log says why, at the time of this answer."
_WORDS: Final = {404: "not-found", 405: "method"}
_HINT: Final = "there is no such path, or it takes another method: /openapi.json lists those there are"

Name = Annotated[str, Meta(max_length=LONGEST_NAME)]


class KnownPage(Struct, kw_only=True, forbid_unknown_fields=True):
    """A page by its URL, or every page with the text of a fingerprint."""

    url: Name = ""
    identity: Name | None = None
    scope_key: Name | None = None
    fingerprint: dict[str, Any] | None = None  #: In Python: `wire.plain` of a fingerprint made with the index's key.

    def __post_init__(self) -> None:
        # Of an error raised here, msgspec says at which page of many. This one is raised for half of a surrogate pair.
        "".join(filter(None, (self.url, self.identity, self.scope_key))).encode()

    def name(self) -> str | Fingerprint:
        """Return the URL or the fingerprint. Raises ConfigurationError."""
        if bool(self.url) == bool(self.fingerprint):
            raise ConfigurationError("the body must have one of url and fingerprint")
        return self.url or wire.from_plain(Fingerprint, self.fingerprint)


class SentPage(KnownPage, kw_only=True, dict=True):
    """A page: one of `html`, `html_base64`, `text` and `fingerprint`."""

    # No `delivered`: what is on its way is told to the store by the process that has it, which a client is not.
    html: str | None = None
    html_base64: bytes | None = None  #: The bytes of the HTML in Base64: its encoding will be found out.
    text: str | None = None
    encoding: Name | None = None
    similarity: float | None = None
    canonical: str | None = None
    remember: bool = True
    rank: float = 0  # a whole one, which JSON may write as 1.0
    revisit_similarity: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.values = structs.asdict(self)
        if (decoded := self.values.pop("html_base64")) is not None:
            if self.html is not None:
                raise ConfigurationError("give either html or html_base64")
            self.values["html"] = decoded
        if self.fingerprint is not None:
            self.values["fingerprint"] = wire.from_plain(Fingerprint, self.fingerprint)
        self.page = Page(**self.values)


class CheckedPage(SentPage, kw_only=True, dict=True):
    """A page with its URL: one of `html`, `html_base64`, `text` and `fingerprint`."""

    url: Name


PAGES: Final = (SentPage, CheckedPage)
"""What may be sent as HTML or plain text, too."""
CheckedPages = Annotated[list[CheckedPage], Meta(max_length=MOST_PAGES)]


class Pair(Struct, forbid_unknown_fields=True):
    """Two pages to compare, whose URLs may be left out."""

    first: SentPage
    second: SentPage


class Problem(Struct, frozen=True, omit_defaults=True):
    """A refusal, as it is sent."""

    type: str  #: `urn:crawldedup:` and a stable word.
    title: str  #: The phrase of the status.
    status: int  #: The status of HTTP.
    detail: str  #: What was wrong, and what to change.
    reason: str | None = None  #: Why a page cannot be read, or a store not be asked: a stable word.
    retry_after: int | None = None  #: In how many seconds to ask once more, as in the header Retry-After.


class ProblemError(CrawlDedupError):
    """A request that is refused with a problem. `word` is a stable one, and `more` are further fields of `Problem`."""

    def __init__(self, word: str, status: int, detail: str, *, headers: Mapping[str, str] = {}, **more: Any) -> None:
        super().__init__(detail)
        self.problem = Problem(f"urn:crawldedup:{word}", HTTPStatus(status).phrase, status, detail, **more)
        seconds = self.problem.retry_after
        self.headers = {**headers} if seconds is None else {"retry-after": str(seconds), **headers}

    def plain(self) -> Any:
        """Return the problem, ready for JSON."""
        return to_builtins(self.problem)

    def answer(self) -> Response:
        """Return the answer that tells of the problem."""
        headers = {"content-type": "application/problem+json", **self.headers}
        return Response(json.dumps(self.plain()), self.problem.status, headers)


def problem_of(error: Exception) -> ProblemError:
    """Return the problem that an error is for a client. Count it as a page's, and log what nobody foresaw."""
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, HTTPException):
        return ProblemError(_WORDS[error.status_code], error.status_code, _HINT, headers=error.headers or {})
    _, word, status, seconds = next(each for each in _PROBLEMS if isinstance(error, each[0]))
    reason = getattr(error, "reason", None)
    watching.FAILURES.labels(reason or word).inc()
    if status == 500:
        _log.error("a request failed for a reason that nobody foresaw", exc_info=error)
    return ProblemError(word, status, _UNFORESEEN if status == 500 else str(error), reason=reason, retry_after=seconds)


async def sent_in(request: Request, kind: type[T]) -> T:
    """Return what a request sends in JSON. A page may also come as it is: its content, of a page that the query names.

    Raises ConfigurationError and ProblemError.
    """
    content_type = request.headers.get("content-type", JSON)
    media_type = content_type.partition(";")[0].strip().lower()
    coding = request.headers.get("content-encoding", "identity").lower()
    allowed = (JSON, "text/html", "text/plain") if kind in PAGES else (JSON,)
    if media_type not in allowed or coding != "identity":
        detail = f"the body is {media_type[:80]!r} in the coding {coding[:80]!r}: send {' or '.join(allowed)} as it is"
        raise ProblemError("media-type", 415, detail)
    body = await request.body()
    charset = _CHARSET.search(content_type)
    value: Any = dict(request.query_params)
    try:
        if media_type == JSON:
            value = json.loads(body)
        elif media_type == "text/html":
            value |= {"html_base64": body, "encoding": charset and charset[1]}
        else:
            value["text"] = body.decode(charset[1] if charset else "utf-8")
    except (ValueError, LookupError, RecursionError) as error:
        raise ConfigurationError(f"the body is not {content_type[:80]}: {error}") from None
    return converted(value, kind)


def converted(value: Any, kind: type[T]) -> T:
    """Return a value of one of the types above. Raises ConfigurationError."""
    try:
        return convert(value, kind)
    except ValueError as error:
        unknown = _UNKNOWN.search(str(error))
        hint = did_you_mean(unknown[1], SentPage.__struct_fields__) if unknown else ""
        raise ConfigurationError(f"{str(error)[:_LONGEST_MESSAGE]}{hint}") from None


def _at(path: str, method: str = "POST") -> Callable[[_Answer], _Answer]:
    """Make a function an endpoint. It takes the index and what is `sent`, of the type that it names, if any."""

    def add(answer: _Answer) -> _Answer:
        kind = get_type_hints(answer, include_extras=True).get("sent")

        @wraps(answer)
        async def endpoint(request: Request) -> Response:
            sent = [await sent_in(request, kind)] if kind else []
            return Response(wire.encode(await answer(request.app.state.dedup, *sent)), media_type=JSON)

        ENDPOINTS.append(Route(path, endpoint, methods=[method]))
        return answer

    return add


@_at("/v1/check")
async def check(dedup: AsyncDeduplicator, sent: CheckedPage) -> Verdict:
    """Decide about a page and remember it.

    A page in JSON, or as it is: HTML with its charset, or plain text, with the URL in the query. Pages of requests that
    are under way at the same time are decided in the order in which they came.
    """
    verdict = await dedup.check_page(sent.page)
    watching.VERDICTS.labels(verdict.kind).inc()
    return verdict


@_at("/v1/check/batch")
async def check_batch(dedup: AsyncDeduplicator, sent: CheckedPages) -> list[Any]:
    """Decide about an array of pages, in its order.

    A page that cannot be checked has its problem in its place. The status is 503 only if the store failed for every
    page.
    """
    results: list[Verdict | dict[str, Any]] = []
    problems: list[ProblemError] = []

    def refuse(page: Page, error: Exception) -> None:
        problems.append(problem_of(error))
        results.append({"url": page.url, "problem": problems[-1].plain()})

    async for verdict in dedup.check_many([each.page for each in sent], on_error=refuse):
        watching.VERDICTS.labels(verdict.kind).inc()
        results.append(verdict)
    # What was decided has been remembered, and must be said.
    if problems and len(problems) == len(sent) and all(each.problem.status == 503 for each in problems):
        raise problems[0]
    return results


@_at("/v1/find")
async def find(dedup: AsyncDeduplicator, sent: SentPage) -> dict[str, list[Match]]:
    """List the remembered pages that resemble a page, the most similar first.

    Nothing is remembered. The url may be left out unless the scope is a site.
    """
    return {"matches": wire.plain(await dedup.find(**sent.values))}


@_at("/v1/explain")
async def explain(dedup: AsyncDeduplicator, sent: CheckedPage) -> Explanation:
    """Explain the verdict that a page would get now.

    Nothing is remembered. A candidate is accepted up to the cost limit.
    """
    return await dedup.explain(**sent.values)


@_at("/v1/compare")
async def compare(dedup: AsyncDeduplicator, sent: Pair) -> Comparison:
    """Compare two pages.

    By the options of the index, which is not asked: how alike they are, how they differ, and what a crawl would make of
    the second.
    """
    return wire.from_plain(Comparison, await dedup.compare(sent.first.page, sent.second.page))


@_at("/v1/forget")
async def forget(dedup: AsyncDeduplicator, sent: KnownPage) -> dict[str, int]:
    """Remove a page by its URL, or every page with the text of a fingerprint.

    In the scope of a site, a fingerprint needs the scope_key.
    """
    return {"forgotten": await dedup.forget(sent.name(), identity=sent.identity, scope_key=sent.scope_key)}


@_at("/v1/info", "GET")
async def info(dedup: AsyncDeduplicator) -> StoreInfo:
    """Show the figures of the index."""
    return await dedup.info()


@_at("/health/live", "GET")
async def live(_: object) -> dict[str, str]:
    """Say that the process answers."""
    return {"status": "live"}


@_at("/health/ready", "GET")
async def ready(dedup: AsyncDeduplicator) -> dict[str, str]:
    """Say whether the store answers."""
    try:
        await dedup.info()
    except CrawlDedupError as error:
        # Anyone may ask, and the error names the store.
        _log.warning("the store does not answer", extra={"fields": {"error": str(error)}})
        raise ProblemError("store", 503, "the store does not answer; the log says more", retry_after=2) from None
    return {"status": "ready"}
