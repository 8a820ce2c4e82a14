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
from crawldedup.service.bodies import JSON, MOST_PAGES, CheckedPage, KnownPage, Name, Pair, SentPage
from crawldedup.service.problems import Problem, ProblemError
from crawldedup.stores.base import StoreInfo
from crawldedup.verdict import Coverage, KnownParagraph, Match, Verdict

Schema = dict[str, Any]

_SENT: Final = (CheckedPage, SentPage, Pair, KnownPage)
_ANSWERED: Final = (Verdict, Coverage, KnownParagraph, Match, Explanation, Candidate, Comparison, Change, StoreInfo)
_SHOWN_OPTIONS: Final = ("similarity", "recall", "scope", "extractor")
_REF: Final = "#/components/schemas/{name}"
# In docstrings, and behind the attributes of a class.
_NOTE: Final = re.compile(r"^ {8}(\w+): (.*(?:\n {12}.*)*)|^ {4}(\w+): .*  #: (.*)", re.MULTILINE)
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
    problem = ProblemError("store", 503, "The store failed a moment ago and is left alone for a while.", retry_after=2)
    refused = {"application/problem+json": {"schema": _ref(Problem), "example": problem.plain()}}
    token = {"type": "http", "scheme": "bearer", "description": "The token that the service was started with, if any."}
    about = (
        "Recognises near-duplicate pages: each page is compared with those that the index remembers, and remembered."
    )
    return {
        "openapi": "3.1.0",
        "info": {"title": "crawldedup", "version": __version__, "description": about, "license": {"name": "MIT"}},
        "security": [{"token": []}, {}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": token},
            "responses": {"Problem": {"description": _STATUSES, "content": refused}},
            "schemas": _schemas(),
        },
    }


def _operation(route: Route, sent: Schema, answered: Schema) -> Schema:
    """Return the description of an endpoint: what is `sent`, and what is `answered`, by content type."""
    summary, _, description = (inspect.getdoc(route.endpoint) or "").partition("\n\n")
    operation: Schema = {
        "operationId": re.sub("_(.)", lambda match: match[1].upper(), route.name),
        "summary": summary.rstrip("."),
        "description": description.replace("\n", " "),
        "responses": {
            "200": {"description": "The answer.", "content": answered},
            "default": {"$ref": "#/components/responses/Problem"},
        },
    }
    if sent:
        operation["requestBody"] = {"required": True, "content": sent}
    if sent.keys() > _PLAIN.keys():
        note = "As in JSON, for a page that is sent as HTML or plain text."
        named = {"in": "query", "description": note, "schema": msgspec.json.schema(Name)}
        operation["parameters"] = [{"name": name, **named} for name in ("url", "identity", "scope_key")]
    if "Needs no token" in description:
        operation["security"] = []
    return operation


def _operations() -> dict[str, tuple[Schema, Schema]]:
    """Return what each endpoint takes and what it answers, by content type: the schema, and an example."""
    url, text = "https://example.com/a", {"text": _TEXT}
    page = {"url": f"{url}?sid=1", "html": f"<p>{_TEXT}</p>"}
    pair = {"first": text, "second": {"text": _TEXT.replace("twice", "once")}}
    problem = ProblemError("unreadable-page", 422, "the text is empty", reason="empty").plain()
    empty, failure = ({"url": "https://example.com/b", **more} for more in ({"text": ""}, {"problem": problem}))
    with Deduplicator(key=0) as dedup:
        dedup.check(url, text=_TEXT)
        verdict, explanation = wire.plain(dedup.check(**page)), wire.plain(dedup.explain(**page))
        matches, info = wire.plain(dedup.find(text=_TEXT)), info_of(dedup.options, dedup.info())
    comparison = wire.plain(compare(*(Page("", text=each["text"]) for each in pair.values())))
    result = {"oneOf": [_ref(Verdict), _object(url={"type": "string"}, problem=_ref(Problem))]}
    health, found = _object(status={"type": "string"}), _object(matches=_list(_ref(Match)))
    figures = {"text/plain": {"schema": {"type": "string"}, "example": 'crawldedup_verdicts_total{kind="new"} 1.0\n'}}

    def json(schema: Schema, example: Any) -> Schema:
        return {JSON: {"schema": schema, "example": example}}

    many = _list(_ref(CheckedPage)) | {"maxItems": MOST_PAGES}
    return {
        "check": (json(_ref(CheckedPage), page) | _PLAIN, json(_ref(Verdict), verdict)),
        "check_batch": (json(many, [page, empty]), json(_list(result), [verdict, failure])),
        "find": (json(_ref(SentPage), text) | _PLAIN, json(found, {"matches": matches})),
        "explain": (json(_ref(CheckedPage), page) | _PLAIN, json(_ref(Explanation), explanation)),
        "compare": (json(_ref(Pair), pair), json(_ref(Comparison), comparison)),
        "forget": (json(_ref(KnownPage), {"url": url}), json(_object(forgotten={"type": "integer"}), {"forgotten": 1})),
        "info": ({}, json(_ref(StoreInfo), info)),
        "live": ({}, json(health, {"status": "live"})),
        "ready": ({}, json(health, {"status": "ready"})),
        "metrics": ({}, figures),
        "openapi": ({}, json({"type": "object"}, {"openapi": "3.1.0"})),
    }


def _schemas() -> dict[str, Schema]:
    """Return the schemas of what is sent and answered: of the latter as `wire.plain` shows it."""
    kinds = (*_SENT, *_ANSWERED, Problem)
    _, schemas = msgspec.json.schema_components(kinds, ref_template=_REF)
    shown = [each for each in options_of() if each.name in _SHOWN_OPTIONS]
    of_options = {each.name: msgspec.json.schema(each.kind) | {"description": each.help} for each in shown}
    schemas["StoreInfo"]["properties"] |= {"version": {"type": "string"}, **of_options}
    # `plain` shows the match of a candidate as a part of it.
    del schemas["Candidate"]["properties"]["match"]
    schemas["Candidate"]["properties"] |= schemas["Match"]["properties"]
    for kind in kinds:
        schema, notes = schemas[kind.__name__], _notes_of(Page if kind in _SENT else kind) | _NOTES
        for name, value in vars(kind).items() if kind in (Verdict, Coverage) else ():
            # `plain` shows what follows from the others, too.
            if isinstance(value, property):
                schema["properties"][name] = msgspec.json.schema(get_type_hints(value.fget)["return"])
                notes[name] = inspect.getdoc(value) or ""
        for name in schema["properties"].keys() & notes.keys():
            schema["properties"][name]["description"] = notes[name]
        if kind in _ANSWERED:
            schema["required"] = list(schema["properties"])
    for schema in schemas.values():
        schema["description"] = schema.get("description", "").partition("\n")[0]
    schemas["KnownPage"]["oneOf"] = [{"required": ["url"]}, {"required": ["fingerprint"]}]
    return schemas


def _notes_of(kind: type) -> dict[str, str]:
    """Return what a type says of its attributes, in comments of its source or in its docstring."""
    found = _NOTE.findall(inspect.getsource(kind))
    return {
        told or name: " ".join((note or comment).split()).replace("None", "null") for told, note, name, comment in found
    }


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _ref(kind: type) -> Schema:
    return {"$ref": _REF.format(name=kind.__name__)}
