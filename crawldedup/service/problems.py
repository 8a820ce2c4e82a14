"""How errors are described to clients: as problem details (RFC 9457)."""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any, Final, NamedTuple

from msgspec import Meta, Struct, to_builtins

from crawldedup import errors, wire
from crawldedup.errors import CrawlDedupError
from crawldedup.service.metrics import FAILURES
from crawldedup.service.routes import Answer
from crawldedup.workers.pool import LONGEST_PAUSE_SECONDS


class Refusal(NamedTuple):
    """How a kind of error is described to clients: its status, its word, and when to try again."""

    error: type[Exception]
    word: str
    status: int
    retry_after: int | None = None  # seconds


# The first row that fits an error counts.
_REFUSALS: Final = (
    Refusal(errors.PageError, "unreadable-page", 422),
    Refusal(errors.KeyMismatchError, "other-key", 409),
    Refusal(errors.ConfigurationError, "invalid", 400),
    Refusal(errors.UnexpectedReadError, "internal", 500),
    Refusal(errors.WorkerError, "busy", 503, retry_after=1),
    Refusal(errors.StoreFullError, "store", 503, retry_after=int(LONGEST_PAUSE_SECONDS)),
    Refusal(CrawlDedupError, "store", 503, retry_after=2),
)
_UNFORESEEN: Final = Refusal(Exception, "internal", 500)
_UNFORESEEN_DETAIL: Final = (
    "The service failed to answer this request. Its log says why, at the time of this answer."
)
_log: Final = logging.getLogger(__name__)

CLOSE: Final = {"connection": "close"}
"""The header that closes a connection, because the rest of the request isn't read."""


class Problem(Struct, frozen=True, omit_defaults=True):
    """The description of an error, as a client receives it."""

    type: Annotated[str, Meta(description="`urn:crawldedup:` and a stable word.")]
    title: Annotated[str, Meta(description="The phrase of the status.")]
    status: Annotated[int, Meta(description="The HTTP status.")]
    detail: Annotated[str, Meta(description="What was wrong, and what to change.")]
    reason: Annotated[
        str | None,
        Meta(
            description="Why the page cannot be read, or why the store does not answer: "
            "a stable word."
        ),
    ] = None
    retry_after: Annotated[
        int | None,
        Meta(
            description=(
                "The number of seconds after which to try again, as in the header Retry-After."
            )
        ),
    ] = None


class ProblemError(CrawlDedupError):
    """Raised to refuse a request, with the description that the client receives.

    `word` is a stable word, and `more` are additional fields of `Problem`.
    """

    def __init__(
        self, word: str, status: int, detail: str, *, headers: Mapping[str, str] = {}, **more: Any
    ) -> None:
        super().__init__(detail)
        self.problem = Problem(
            f"urn:crawldedup:{word}", HTTPStatus(status).phrase, status, detail, **more
        )
        seconds = self.problem.retry_after
        self.headers = {**headers} if seconds is None else {"retry-after": str(seconds), **headers}

    def answer(self) -> Answer:
        """Return the response that tells the client about the problem."""
        headers = {"content-type": "application/problem+json", **self.headers}
        return Answer(wire.encode(to_builtins(self.problem)), self.problem.status, headers)


def problem_of(error: Exception) -> ProblemError:
    """Return the ProblemError that describes an error to the client.

    Also counts the failure, and logs unexpected errors. A ProblemError is returned as it is.
    """
    if isinstance(error, ProblemError):
        return error
    refusal = _refusal_of(error)
    reason = getattr(error, "reason", None)
    FAILURES.labels(reason or refusal.word).inc()
    detail = str(error)
    if refusal.status == 500:
        _log.error("a request failed unexpectedly", exc_info=error)
        detail = _UNFORESEEN_DETAIL
    return ProblemError(
        refusal.word, refusal.status, detail, reason=reason, retry_after=refusal.retry_after
    )


def _refusal_of(error: Exception) -> Refusal:
    for refusal in _REFUSALS:
        if isinstance(error, refusal.error):
            return refusal
    return _UNFORESEEN
