"""Errors as application/problem+json (RFC 9457): each says what to change, or when to try again."""

from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from crawldedup.errors import (
    ConfigurationError,
    CrawlDedupError,
    KeyMismatchError,
    PageError,
    StoreFullError,
    UnexpectedReadError,
    WorkerError,
)
from crawldedup.workers.pool import LONGEST_PAUSE_SECONDS

_STORE_SECONDS: Final = 2
_UNFORESEEN: Final = "The service failed at this request. Its log says why, at the time of this answer."
_HINTS: Final = {
    404: "there is no such path: /openapi.json lists those there are",
    405: "the path takes another method: the header Allow names it",
}


@dataclass
class ProblemError(CrawlDedupError):
    """A request that is refused. `code` is a stable word, `retry_after` in seconds."""

    code: str
    status: int
    detail: str
    retry_after: int | None = None
    reason: str | None = None
    headers: dict[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the members of the problem, ready for JSON."""
        values = {
            "type": f"urn:crawldedup:{self.code}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            "reason": self.reason,
            "retry_after": self.retry_after,
        }
        return {name: value for name, value in values.items() if value is not None}

    def all_headers(self) -> dict[str, str]:
        """Return the headers of the answer."""
        retry = {} if self.retry_after is None else {"retry-after": str(self.retry_after)}
        return {"content-type": "application/problem+json", **retry, **self.headers}


def busy(what: str) -> ProblemError:
    """Return the problem of a service that has too much to do."""
    return ProblemError("busy", 503, f"{what}: try again later, or start more workers", retry_after=1)


def problem_of(error: Exception) -> ProblemError:
    """Return the problem that an error is for a client."""
    match error:
        case ProblemError():
            return error
        case PageError():
            return ProblemError("unreadable-page", 422, str(error), reason=error.reason)
        case KeyMismatchError():
            return ProblemError("other-key", 409, str(error))
        case StoreFullError():
            return ProblemError("store", 503, str(error), retry_after=int(LONGEST_PAUSE_SECONDS))
        case WorkerError():
            return busy(str(error))
        case UnexpectedReadError():
            return ProblemError("internal", 500, _UNFORESEEN)
        case ConfigurationError():
            return ProblemError("invalid", 400, str(error))
        case CrawlDedupError():
            return ProblemError("store", 503, str(error), retry_after=_STORE_SECONDS)
        case ClientDisconnect():
            return ProblemError("gone", 400, "the client left before its request was whole")
        case HTTPException(status_code=status):
            code = "not-found" if status == 404 else "method" if status == 405 else "invalid"
            return ProblemError(code, status, _HINTS.get(status, error.detail), headers=dict(error.headers or {}))
    return ProblemError("internal", 500, _UNFORESEEN)
