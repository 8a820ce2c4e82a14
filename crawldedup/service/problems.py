"""Errors as application/problem+json (RFC 9457): each says what to change, or when to try again."""

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from http import HTTPStatus
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from crawldedup import errors
from crawldedup.errors import CrawlDedupError
from crawldedup.service.watching import FAILURES
from crawldedup.workers.pool import LONGEST_PAUSE_SECONDS

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
_UNFORESEEN: Final = "The service failed at this request. Its log says why, at the time of this answer."
_HINTS: Final = {
    404: ("not-found", "there is no such path: /openapi.json lists those there are"),
    405: ("method", "the path takes another method: the header Allow names it"),
}
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Problem:
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

    def plain(self) -> dict[str, Any]:
        """Return the problem, ready for JSON."""
        return {name: value for name, value in asdict(self.problem).items() if value is not None}

    def answer(self) -> Response:
        """Return the answer that tells of the problem."""
        headers = {"content-type": "application/problem+json", **self.headers}
        return Response(json.dumps(self.plain()), self.problem.status, headers)


def problem_of(error: Exception) -> ProblemError:
    """Return the problem that an error is for a client. Count it as a page's, and log what nobody foresaw."""
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, HTTPException):
        word, hint = _HINTS[error.status_code]
        return ProblemError(word, error.status_code, hint, headers=error.headers or {})
    _, word, status, seconds = next(each for each in _PROBLEMS if isinstance(error, each[0]))
    reason = getattr(error, "reason", None)
    FAILURES.labels(reason or word).inc()
    if status == 500:
        _log.error("a request failed for a reason that nobody foresaw", exc_info=error)
    return ProblemError(word, status, _UNFORESEEN if status == 500 else str(error), reason=reason, retry_after=seconds)
