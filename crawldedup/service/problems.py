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

_STORE_SECONDS: Final = 2
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
    reason: str | None = None  #: Why a page cannot be read: a stable word.
    retry_after: int | None = None  #: In how many seconds to ask once more, as in the header Retry-After.


class ProblemError(CrawlDedupError):
    """A request that is refused with a problem. `word` is a stable one, and `more` are further fields of `Problem`."""

    def __init__(self, word: str, status: int, detail: str, *, headers: Mapping[str, str] = {}, **more: Any) -> None:
        super().__init__(detail)
        self.problem = Problem(f"urn:crawldedup:{word}", HTTPStatus(status).phrase, status, detail, **more)
        self.headers = {"retry-after": str(more["retry_after"]), **headers} if "retry_after" in more else {**headers}

    def plain(self) -> dict[str, Any]:
        """Return the problem, ready for JSON."""
        return {name: value for name, value in asdict(self.problem).items() if value is not None}

    def answer(self) -> Response:
        """Return the answer that tells of the problem."""
        headers = {"content-type": "application/problem+json", **self.headers}
        return Response(json.dumps(self.plain()), self.problem.status, headers)


def busy(what: str) -> ProblemError:
    """Return the problem of a service that has too much to do."""
    return ProblemError("busy", 503, f"{what}: try again later, or start more workers", retry_after=1)


def problem_of(error: Exception) -> ProblemError:
    """Return the problem that an error is for a client. Count errors of pages, and log those that nobody foresaw."""
    match error:
        case ProblemError():
            return error
        case ClientDisconnect():
            return ProblemError("gone", 400, "the client left before its request was whole")
        case HTTPException(status_code=status):
            word, hint = _HINTS[status]
            return ProblemError(word, status, hint, headers=error.headers or {})
    FAILURES.labels(getattr(error, "reason", None) or getattr(error, "counter", "internal")).inc()
    match error:
        case errors.PageError():
            return ProblemError("unreadable-page", 422, str(error), reason=error.reason)
        case errors.KeyMismatchError():
            return ProblemError("other-key", 409, str(error))
        case errors.StoreFullError():
            return ProblemError("store", 503, str(error), retry_after=int(LONGEST_PAUSE_SECONDS))
        case errors.WorkerError():
            return busy(str(error))
        case errors.ConfigurationError():
            return ProblemError("invalid", 400, str(error))
        case CrawlDedupError() if not isinstance(error, errors.UnexpectedReadError):
            return ProblemError("store", 503, str(error), retry_after=_STORE_SECONDS)
    _log.error("a request failed for a reason that nobody foresaw", exc_info=error)
    detail = "The service failed at this request. Its log says why, at the time of this answer."
    return ProblemError("internal", 500, detail)
