"""The endpoints: what clients send, what they are answered, and the problems that refuse them (RFC
9457).

Handlers take what is `sent`, decoded and checked. Their docstrings and types are the reference.
"""

import inspect
import json
import logging
import os
import re
from collections.abc import Awaitable, Callable, Mapping
from functools import cache, partial, wraps
from http import HTTPStatus
from importlib.resources import files
from typing import Annotated, Any, Final, NamedTuple, TypeVar, get_args, get_origin, get_type_hints
from urllib.parse import parse_qsl

import msgspec
from msgspec import Meta, Struct, convert, structs, to_builtins
from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from crawldedup import __version__, errors, wire
from crawldedup.aio import AsyncDeduplicator
from crawldedup.checks import did_you_mean
from crawldedup.errors import ConfigurationError, CrawlDedupError
from crawldedup.fingerprinting.bits import Fingerprint
from crawldedup.index.explain import Candidate, Comparison, Explanation
from crawldedup.page import Page
from crawldedup.reading.difference import Change
from crawldedup.stores.contract import StoreInfo
from crawldedup.verdict import Coverage, KnownParagraph, Match, Verdict
from crawldedup.workers.pool import LONGEST_PAUSE_SECONDS

T = TypeVar("T")
Scope = Mapping[str, Any]  # a request as ASGI describes it
Schema = dict[str, Any]

GET: Final = ("GET", "HEAD")
JSON: Final = "application/json"
LONGEST_NAME: Final = 8_192
MOST_PAGES: Final = 1_000  # of one request
_CHARSET: Final = re.compile(r';\s*charset\s*=\s*"?([\w.:-]+)', re.IGNORECASE)
_UNKNOWN: Final = re.compile(r"unknown field `(.*?)`")
# The word, the status, and after how many seconds to ask again, of the first kind that fits.
_PROBLEMS: Final[tuple[tuple[type[Exception], str, int, int | None], ...]] = (
    (errors.PageError, "unreadable-page", 422, None),
    (errors.KeyMismatchError, "other-key", 409, None),
    (errors.ConfigurationError, "invalid", 400, None),
    (errors.UnexpectedReadError, "internal", 500, None),
    (errors.WorkerError, "busy", 503, 1),
    (errors.StoreFullError, "store", 503, int(LONGEST_PAUSE_SECONDS)),
    (CrawlDedupError, "store", 503, 2),
    (Exception, "internal", 500, None),
)
_UNFORESEEN: Final = (
    "The service failed at this request. Its log says why, at the time of this answer."
)
_log: Final = logging.getLogger(__name__)

METRICS: Final = CollectorRegistry()
counter: Final = partial(Counter, registry=METRICS)
VERDICTS: Final = counter("crawldedup_verdicts", "Pages checked, by kind.", ["kind"])
FAILURES: Final = counter("crawldedup_failures", "Pages not checked, by reason.", ["reason"])


def everyone() -> CollectorRegistry:
    """Return the figures of all worker processes together, which PROMETHEUS_MULTIPROC_DIR makes
    them share.
    """
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return METRICS
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return registry


Name = Annotated[str, Meta(max_length=LONGEST_NAME)]


class Answer(NamedTuple):
    """What a client is answered."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = {"content-type": JSON}


class Route(NamedTuple):
    """What answers at a path: to those who have a token, unless it `is_open`."""

    path: str
    respond: Callable[[AsyncDeduplicator, Scope, bytes], Awaitable[Answer]]
    methods: tuple[str, ...] = GET
    is_open: bool = False
    is_page: bool = False  # for people, to which links may lead


class KnownPage(Struct, kw_only=True, forbid_unknown_fields=True):
    """A page by its URL, or every page with the text of a fingerprint."""

    url: Name = ""
    identity: Name | None = None
    scope_key: Name | None = None
    #: In Python: `wire.plain` of a fingerprint made with the index's key.
    fingerprint: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        # Of an error raised here, msgspec says at which page of many. This one is raised for half
        # of a surrogate pair.
        "".join(filter(None, (self.url, self.identity, self.scope_key))).encode()

    def name(self) -> str | Fingerprint:
        """Return the URL or the fingerprint. Raises ConfigurationError."""
        if bool(self.url) == bool(self.fingerprint):
            raise ConfigurationError("the body must have one of url and fingerprint")
        return self.url or wire.from_plain(Fingerprint, self.fingerprint)


class SentPage(KnownPage, kw_only=True, dict=True):
    """A page: one of `html`, `html_base64`, `text` and `fingerprint`."""

    # No `delivered`: what is on its way is told to the store by the process that has it, which a
    # client is not.
    html: str | None = None
    #: The bytes of the HTML in Base64: its encoding will be found out.
    html_base64: bytes | None = None
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


_PAGES: Final = (SentPage, CheckedPage)  # what may be sent as HTML or plain text, too
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
    #: In how many seconds to ask once more, as in the header Retry-After.
    retry_after: int | None = None


class ProblemError(CrawlDedupError):
    """A request that is refused with a problem.

    `word` is a stable one, and `more` are further fields of `Problem`.
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
        """Return the answer that tells of the problem."""
        headers = {"content-type": "application/problem+json", **self.headers}
        return Answer(wire.encode(to_builtins(self.problem)), self.problem.status, headers)


def problem_of(error: Exception) -> ProblemError:
    """Return the problem that an error is for a client.

    Count it as a page's, and log what nobody foresaw.
    """
    if isinstance(error, ProblemError):
        return error
    _, word, status, seconds = next(each for each in _PROBLEMS if isinstance(error, each[0]))
    reason = getattr(error, "reason", None)
    FAILURES.labels(reason or word).inc()
    if status == 500:
        _log.error("a request failed for a reason that nobody foresaw", exc_info=error)
    return ProblemError(
        word,
        status,
        _UNFORESEEN if status == 500 else str(error),
        reason=reason,
        retry_after=seconds,
    )


def sent_in(scope: Scope, body: bytes, kind: type[T]) -> T:
    """Return what a request sends, of a page also as it is.

    Raises ConfigurationError and ProblemError.
    """
    headers = dict(scope["headers"])
    content_type = headers.get(b"content-type", JSON.encode()).decode("latin-1")
    media_type = content_type.partition(";")[0].strip().lower()
    coding = headers.get(b"content-encoding", b"identity").decode("latin-1").lower()
    allowed = (JSON, "text/html", "text/plain") if kind in _PAGES else (JSON,)
    if media_type not in allowed or coding != "identity":
        detail = (
            f"the body is {media_type[:80]!r} in the coding {coding[:80]!r}: send "
            f"{' or '.join(allowed)} as it is"
        )
        raise ProblemError("media-type", 415, detail)
    charset = _CHARSET.search(content_type)
    value: Any = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
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
        raise ConfigurationError(f"{str(error)[:300]}{hint}") from None


async def check(dedup: AsyncDeduplicator, sent: CheckedPage) -> Verdict:
    """Decide about a page and remember it.

    A page in JSON, or as it is: HTML with its charset, or plain text, with the URL in the query.
    Pages of requests that are under way at the same time are decided in the order in which they
    came.
    """
    verdict = await dedup.check_page(sent.page)
    VERDICTS.labels(verdict.kind).inc()
    return verdict


async def check_batch(dedup: AsyncDeduplicator, sent: CheckedPages) -> list[Any]:
    """Decide about an array of pages, in its order.

    A page that cannot be checked has its problem in its place. The status is 503 only if the store
    failed for every page.
    """
    results: list[Verdict | dict[str, Any]] = []
    problems: list[ProblemError] = []

    def refuse(page: Page, error: Exception) -> None:
        problems.append(problem_of(error))
        results.append({"url": page.url, "problem": to_builtins(problems[-1].problem)})

    async for verdict in dedup.check_many([each.page for each in sent], on_error=refuse):
        VERDICTS.labels(verdict.kind).inc()
        results.append(verdict)
    # What was decided has been remembered, and must be said.
    if (
        problems
        and len(problems) == len(sent)
        and all(each.problem.status == 503 for each in problems)
    ):
        raise problems[0]
    return results


async def find(dedup: AsyncDeduplicator, sent: SentPage) -> dict[str, list[Match]]:
    """List the remembered pages that resemble a page, the most similar first.

    Nothing is remembered. The url may be left out unless the scope is a site.
    """
    return {"matches": wire.plain(await dedup.find(**sent.values))}


async def explain(dedup: AsyncDeduplicator, sent: CheckedPage) -> Explanation:
    """Explain the verdict that a page would get now.

    Nothing is remembered. A candidate is accepted up to the cost limit.
    """
    return await dedup.explain(**sent.values)


async def compare(dedup: AsyncDeduplicator, sent: Pair) -> Comparison:
    """Compare two pages.

    By the options of the index, which is not asked: how alike they are, how they differ, and what a
    crawl would make of the second.
    """
    return await dedup.compare(sent.first.page, sent.second.page)


async def forget(dedup: AsyncDeduplicator, sent: KnownPage) -> dict[str, int]:
    """Remove a page by its URL, or every page with the text of a fingerprint.

    In the scope of a site, a fingerprint needs the scope_key.
    """
    return {
        "forgotten": await dedup.forget(
            sent.name(), identity=sent.identity, scope_key=sent.scope_key
        )
    }


async def info(dedup: AsyncDeduplicator) -> StoreInfo:
    """Show the figures of the index."""
    return await dedup.info()


async def live(_: object) -> dict[str, str]:
    """Say that the process answers."""
    return {"status": "live"}


async def ready(dedup: AsyncDeduplicator) -> dict[str, str]:
    """Say whether the store answers."""
    try:
        await dedup.info()
    except CrawlDedupError as error:
        # Anyone may ask, and the error names the store.
        _log.warning("the store does not answer", extra={"fields": {"error": str(error)}})
        raise ProblemError(
            "store", 503, "the store does not answer; the log says more", retry_after=2
        ) from None
    return {"status": "ready"}


def _route(path: str, answer: Callable[..., Awaitable[object]], *, is_open: bool = False) -> Route:
    """Return an endpoint: a function that takes the index and what is `sent`, of the type that it
    names, if any.
    """
    kind = get_type_hints(answer, include_extras=True).get("sent")

    @wraps(answer)
    async def respond(dedup: AsyncDeduplicator, scope: Scope, body: bytes) -> Answer:
        sent = [sent_in(scope, body, kind)] if kind else []
        return Answer(wire.encode(await answer(dedup, *sent)))

    return Route(path, respond, ("POST",) if kind else GET, is_open)


ENDPOINTS: Final = [
    _route("/v1/check", check),
    _route("/v1/check/batch", check_batch),
    _route("/v1/find", find),
    _route("/v1/explain", explain),
    _route("/v1/compare", compare),
    _route("/v1/forget", forget),
    _route("/v1/info", info),
    _route("/health/live", live, is_open=True),
    _route("/health/ready", ready, is_open=True),
]

_SENT: Final = (CheckedPage, SentPage, Pair, KnownPage)
_ANSWERED: Final = (
    Verdict,
    Coverage,
    KnownParagraph,
    Match,
    Explanation,
    Candidate,
    Comparison,
    Change,
    StoreInfo,
)
# In docstrings, and behind the attributes of a class.
_NOTE: Final = re.compile(r"^ {8}(\w+): (.*(?:\n {12}.*)*)|^ {4}(\w+): .*  #: (.*)", re.MULTILINE)
_QUERY: Final = "As in JSON, for a page that is sent as HTML or plain text."


_components: Final = partial(
    msgspec.json.schema_components, ref_template="#/components/schemas/{name}"
)


@cache
def description() -> Schema:
    """Return the OpenAPI document."""
    written: dict[str, Schema] = json.loads(
        files("crawldedup.service").joinpath("openapi.json").read_text("utf-8")
    )
    document, examples = written["document"], written["examples"]
    document["info"]["version"] = __version__
    for route in ENDPOINTS:
        operation = _operation(route, *examples[route.respond.__name__])
        operation |= {"security": []} if route.is_open else {}
        document["paths"][route.path] = {"post" if "requestBody" in operation else "get": operation}
    document["components"]["schemas"] = _schemas()
    return document


def _operation(route: Route, sent: Any, answered: Any) -> Schema:
    """Return the description of an endpoint, with examples of what is sent, if anything, and of
    what is answered.
    """
    summary, _, text = (inspect.getdoc(route.respond) or "").partition("\n\n")
    kinds = get_type_hints(route.respond, include_extras=True)
    kind, answer = kinds.get("sent"), _schema_of(kinds["return"])
    if get_origin(kinds["return"]) is dict:
        # Its example has all names.
        answer = _object(**dict.fromkeys(answered, get_args(kinds["return"])[1]))
    elif get_origin(kinds["return"]) is list:
        answer["items"] = {"oneOf": [_schema_of(Verdict), _object(url=str, problem=Problem)]}
    operation: Schema = {
        "operationId": re.sub("_(.)", lambda match: match[1].upper(), route.respond.__name__),
        "summary": summary.rstrip("."),
        "description": text.replace("\n", " "),
        "responses": {
            "200": {
                "description": "The answer.",
                "content": {JSON: {"schema": answer, "example": answered}},
            },
            "default": {"$ref": "#/components/responses/Problem"},
        },
    }
    if kind:
        content = {JSON: {"schema": _schema_of(kind), "example": sent}}
        operation["requestBody"] = {"required": True, "content": content}
    if kind in _PAGES:
        content["text/html"] = {
            "schema": {"type": "string"},
            "example": "<p>The text of the page ...</p>",
        }
        content["text/plain"] = {
            "schema": {"type": "string"},
            "example": "The text of the page ...",
        }
        named = {"in": "query", "description": _QUERY, "schema": _schema_of(Name)}
        operation["parameters"] = [
            {"name": name, **named} for name in ("url", "identity", "scope_key")
        ]
    return operation


def _object(**kinds: Any) -> Schema:
    properties = {name: _schema_of(kind) for name, kind in kinds.items()}
    return {"type": "object", "properties": properties, "required": list(properties)}


def _schema_of(kind: Any) -> Schema:
    return _components([kind])[0][0]


def _schemas() -> dict[str, Schema]:
    """Return the schemas of what is sent and answered: of the latter as `wire.plain` shows it."""
    kinds = (*_SENT, *_ANSWERED, Problem)
    _, schemas = _components(kinds)
    # The match of a candidate is shown as a part of it.
    del schemas["Candidate"]["properties"]["match"]
    schemas["Candidate"]["properties"] |= schemas["Match"]["properties"]
    of_page = _notes_of(Page) | _notes_of(KnownPage) | _notes_of(SentPage)
    for kind in kinds:
        schema, notes = schemas[kind.__name__], of_page if kind in _SENT else _notes_of(kind)
        # What follows from the others is shown, too.
        derived = {name: value for name, value in vars(kind).items() if isinstance(value, property)}
        for name, value in derived.items() if kind in (Verdict, Coverage) else ():
            schema["properties"][name] = msgspec.json.schema(get_type_hints(value.fget)["return"])
            notes[name] = inspect.getdoc(value) or ""
        for name in schema["properties"].keys() & notes.keys():
            schema["properties"][name]["description"] = notes[name]
        schema["required"] = list(schema["properties"]) if kind in _ANSWERED else schema["required"]
    for schema in schemas.values():
        schema["description"] = schema.get("description", "").partition("\n")[0]
    schemas["KnownPage"]["oneOf"] = [{"required": ["url"]}, {"required": ["fingerprint"]}]
    return schemas


def _notes_of(kind: type) -> dict[str, str]:
    """Return what a type says of its attributes, in comments of its source or in its docstring."""
    notes = dict[str, str]()
    for attribute, note, name, comment in _NOTE.findall(inspect.getsource(kind)):
        notes[attribute or name] = " ".join((note or comment).split()).replace("None", "null")
    return notes


async def _openapi(*_: object) -> Answer:
    return Answer(wire.encode(description()))


async def _metrics(*_: object) -> Answer:
    return Answer(
        generate_latest(everyone()),
        headers={"content-type": "text/plain; version=0.0.4; charset=utf-8"},
    )


ROUTES: Final = (
    *ENDPOINTS,
    Route("/openapi.json", _openapi, is_open=True),
    Route("/metrics", _metrics),
)
