"""Describe the endpoints as an OpenAPI document: from the types of what is sent and answered, with real examples."""

import inspect
import re
from collections.abc import Iterable
from typing import Any, Final, get_type_hints

import msgspec
from starlette.routing import Route

from crawldedup import __version__, wire
from crawldedup.deduplicator import Deduplicator
from crawldedup.explain import Candidate, Comparison, Explanation, compare
from crawldedup.options import Options, options_of
from crawldedup.page import Page
from crawldedup.reading.difference import Change
from crawldedup.service.bodies import JSON, MOST_PAGES, KnownPage, Name, Named, Pair, SentPage
from crawldedup.service.problems import Problem, ProblemError
from crawldedup.stores.base import StoreInfo
from crawldedup.verdict import Coverage, KnownParagraph, Match, Verdict

Schema = dict[str, Any]

_SENT: Final = (SentPage, Pair, KnownPage)
_ANSWERED: Final = (
    *(Verdict, Coverage, KnownParagraph, Match, Explanation, Candidate, Comparison, Change, StoreInfo, Problem),
)
_SHOWN_OPTIONS: Final = ("similarity", "recall", "scope", "extractor")
_REF: Final = "#/components/schemas/{name}"
_ATTRIBUTE: Final = re.compile(r"^    (\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)
_COMMENT: Final = re.compile(r"^    (\w+): .*  #: (.*)", re.MULTILINE)
_NOTES: Final = {
    "html_base64": "The bytes of the HTML in Base64: its encoding will be found out.",
    "fingerprint": "What `crawldedup.wire.plain` makes of a fingerprint in Python. It must be made with the key of the "
    "index, which a Deduplicator on the same store has. Programs in other languages send HTML or text.",
}
_STATUSES: Final = (
    "Why the request was refused. 400: malformed. 401: no token. 403 and 421: sent by another site through a browser. "
    "408: too slow. 409: a fingerprint of another key. 413: too large. 415: another content type. 422: a page that "
    "cannot be read. 500: unforeseen. 503: the store fails, or the service is too busy. 503 has the header Retry-After."
)
_TEXT: Final = (
    "Low tide uncovers the sand bank twice a day, and the seals come to rest on it until the water is back. Whoever "
    "walks out to see them should know the hour of the flood by heart, because it comes from behind."
)
_PLAIN: Final[Schema] = {
    "text/html": {"schema": {"type": "string"}, "example": f"<p>{_TEXT}</p>"},
    "text/plain": {"schema": {"type": "string"}, "example": _TEXT},
}


def info_of(options: Options, info: StoreInfo) -> dict[str, Any]:
    """Return the figures of an index with the version and the main options of the service."""
    return {"version": __version__, **{name: getattr(options, name) for name in _SHOWN_OPTIONS}, **wire.plain(info)}


def document(routes: Iterable[Route]) -> Schema:
    """Return the document of these routes, whose names are those of `_operations`."""
    operations, paths = _operations(), dict[str, Schema]()
    for route in routes:
        method = "post" if "POST" in (route.methods or ()) else "get"
        paths[route.path] = {method: _operation(route, *operations[route.name])}
    problem = ProblemError(
        "store", 503, "The store failed a moment ago and is left alone for a few seconds.", retry_after=2
    )
    refused = {"application/problem+json": {"schema": _ref("Problem"), "example": problem.plain()}}
    token = {"type": "http", "scheme": "bearer", "description": "The token that the service was started with, if any."}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "crawldedup",
            "version": __version__,
            "description": "Recognises near-duplicate pages: each page is compared with those that the index "
            "remembers, and remembered.",
            "license": {"name": "MIT"},
        },
        "security": [{"token": []}, {}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": token},
            "responses": {"Problem": {"description": _STATUSES, "content": refused}},
            "schemas": _schemas(),
        },
    }


def _operation(route: Route, sent: Schema, schema: Schema, example: Any) -> Schema:
    """Return the description of an endpoint: what is `sent` by content type, and what is answered."""
    summary, _, description = (inspect.getdoc(route.endpoint) or "").partition("\n\n")
    kind = "text/plain" if schema == {"type": "string"} else JSON
    operation: Schema = {
        "operationId": re.sub("_(.)", lambda match: match[1].upper(), route.name),
        "summary": summary.rstrip("."),
        "description": description.replace("\n", " "),
        "responses": {
            "200": {"description": "The answer.", "content": {kind: {"schema": schema, "example": example}}},
            "default": {"$ref": "#/components/responses/Problem"},
        },
    }
    if sent:
        operation["requestBody"] = {"required": True, "content": sent}
    if sent.keys() > _PLAIN.keys():
        note = "As in JSON, for a page that is sent as HTML or plain text."
        named = {"in": "query", "description": note, "schema": msgspec.json.schema(Name)}
        operation["parameters"] = [{"name": name, **named} for name in Named.__struct_fields__]
    if "Needs no token" in description:
        operation["security"] = []
    return operation


def _operations() -> dict[str, tuple[Schema, Schema, Any]]:
    """Return what each endpoint takes, by content type, and what it answers: the schema, and an example."""
    url, text = "https://example.com/a", {"text": _TEXT}
    page = {"url": f"{url}?sid=1", "html": f"<p>{_TEXT}</p>"}
    pair = {"first": text, "second": {"text": _TEXT.replace("twice", "once")}}
    empty = {"url": "https://example.com/b", "text": ""}
    problem = ProblemError("unreadable-page", 422, "the text is empty", reason="empty").plain()

    def sent(schema: Schema, example: Any) -> Schema:
        return {JSON: {"schema": schema, "example": example}}

    with Deduplicator(key=0) as dedup:
        dedup.check(url, text=_TEXT)
        verdict, explanation = wire.plain(dedup.check(**page)), wire.plain(dedup.explain(**page))
        matches, info = wire.plain(dedup.find(text=_TEXT)), info_of(dedup.options, dedup.info())
    comparison = wire.plain(compare(*(Page("", text=each["text"]) for each in pair.values())))
    many = {"type": "array", "items": _ref("Page"), "maxItems": MOST_PAGES}
    failure = _object(url={"type": "string"}, problem=_ref("Problem"))
    results = {"type": "array", "items": {"oneOf": [_ref("Verdict"), failure]}}
    health, found = _object(status={"type": "string"}), _object(matches={"type": "array", "items": _ref("Match")})
    return {
        "check": (sent(_ref("Page"), page) | _PLAIN, _ref("Verdict"), verdict),
        "check_batch": (sent(many, [page, empty]), results, [verdict, {"url": empty["url"], "problem": problem}]),
        "find": (sent(_ref("SentPage"), text) | _PLAIN, found, {"matches": matches}),
        "explain": (sent(_ref("Page"), page) | _PLAIN, _ref("Explanation"), explanation),
        "compare": (sent(_ref("Pair"), pair), _ref("Comparison"), comparison),
        "forget": (sent(_ref("KnownPage"), {"url": url}), _object(forgotten={"type": "integer"}), {"forgotten": 1}),
        "info": ({}, _ref("StoreInfo"), info),
        "live": ({}, health, {"status": "live"}),
        "ready": ({}, health, {"status": "ready"}),
        "metrics": ({}, {"type": "string"}, 'crawldedup_verdicts_total{kind="new"} 1204.0\n'),
        "openapi": ({}, {"type": "object"}, {"openapi": "3.1.0"}),
    }


def _schemas() -> dict[str, Schema]:
    """Return the schemas of what is sent and answered: of the latter as `wire.plain` shows it."""
    kinds = {kind.__name__: kind for kind in (*_SENT, *_ANSWERED)}
    _, schemas = msgspec.json.schema_components(kinds.values(), ref_template=_REF)
    shown = {each.name: each for each in options_of() if each.name in _SHOWN_OPTIONS}
    of_options = {name: msgspec.json.schema(each.kind) | {"description": each.help} for name, each in shown.items()}
    schemas["StoreInfo"]["properties"] |= {"version": {"type": "string"}, **of_options}
    for schema in schemas.values():
        schema["description"] = schema.get("description", "").partition("\n")[0]
    for name, kind in kinds.items():
        properties, notes = schemas[name]["properties"], _notes_of(Page if kind in _SENT else kind) | _NOTES
        for member, value in vars(kind).items():
            # They follow from the others, and are shown, but for those of a change.
            if isinstance(value, property) and kind is not Change:
                properties[member] = msgspec.json.schema(get_type_hints(value.fget)["return"])
                notes[member] = inspect.getdoc(value) or ""
        for member in properties.keys() & notes.keys():
            properties[member]["description"] = notes[member]
        if kind in _ANSWERED and kind is not Problem:
            schemas[name]["required"] = list(properties)
    schemas["Page"] = schemas["SentPage"] | {"required": ["url"]}
    schemas["KnownPage"]["oneOf"] = [{"required": ["url"]}, {"required": ["fingerprint"]}]
    # `plain` shows the match of a candidate as a part of it.
    candidate = schemas["Candidate"]
    del candidate["properties"]["match"]
    candidate["properties"] = schemas["Match"]["properties"] | candidate["properties"]
    candidate["required"] = list(candidate["properties"])
    return schemas


def _notes_of(kind: type) -> dict[str, str]:
    """Return what a type says of its attributes, in comments of its source or in its docstring."""
    notes: dict[str, str] = {}
    for cls in (base for base in reversed(kind.__mro__) if base.__module__.startswith("crawldedup")):
        attributes = (inspect.getdoc(cls) or "").partition("Attributes:\n")[2].partition("\n\n")[0]
        notes |= {name: " ".join(note.split()) for name, note in _ATTRIBUTE.findall(attributes)}
        notes |= dict(_COMMENT.findall(inspect.getsource(cls)))
    return {name: note.replace("None", "null") for name, note in notes.items()}


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _ref(name: str) -> Schema:
    return {"$ref": _REF.format(name=name)}
