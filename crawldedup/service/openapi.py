"""Describe the endpoints as an OpenAPI document: from the types of what is sent and answered, with real examples."""

import inspect
import re
from functools import cache
from typing import Any, Final, get_type_hints

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from crawldedup import __version__, wire
from crawldedup.deduplicator import Deduplicator
from crawldedup.explain import Candidate, Comparison, Explanation, compare
from crawldedup.options import options_of
from crawldedup.page import Page
from crawldedup.reading.difference import Change
from crawldedup.service.bodies import JSON, PLAIN, CheckedPage, CheckedPages, KnownPage, Name, Pair, SentPage
from crawldedup.service.endpoints import ENDPOINTS, SHOWN_OPTIONS, info_of
from crawldedup.service.problems import Problem, ProblemError
from crawldedup.stores.base import StoreInfo
from crawldedup.verdict import Coverage, KnownParagraph, Match, Verdict

Schema = dict[str, Any]

_SENT: Final = (CheckedPage, SentPage, Pair, KnownPage)
_ANSWERED: Final = (Verdict, Coverage, KnownParagraph, Match, Explanation, Candidate, Comparison, Change, StoreInfo)
_REF: Final = "#/components/schemas/{name}"
# In docstrings, and behind the attributes of a class.
_NOTE: Final = re.compile(r"^ {8}(\w+): (.*(?:\n {12}.*)*)|^ {4}(\w+): .*  #: (.*)", re.MULTILINE)
_REFUSED: Final = "Why the request was refused: `type` and `status` say it to programs, and `detail` to people."
_TEXT: Final = "Low tide uncovers the sand bank twice a day, and the seals come to rest on it until the water is back."


async def openapi(_: Request) -> Response:
    """Show this document."""
    return Response(wire.encode(description()), media_type=JSON)


ROUTES: Final = [*ENDPOINTS, Route("/openapi.json", openapi)]
OPEN: Final = ("/health/live", "/health/ready", "/openapi.json")
"""These need no token."""


@cache
def description() -> Schema:
    """Return the OpenAPI document."""
    operations, paths = _operations(), dict[str, Schema]()
    for route in ROUTES:
        operation = _operation(route, *operations[route.name])
        operation |= {"security": []} if route.path in OPEN else {}
        paths[route.path] = {"post" if "POST" in (route.methods or ()) else "get": operation}
    refused = {"application/problem+json": {"schema": _schema_of(Problem)}}
    token = {"type": "http", "scheme": "bearer", "description": "The token that the service was started with, if any."}
    about = "Recognises near-duplicate pages: compares each with those that the index remembers, and remembers it."
    return {
        "openapi": "3.1.0",
        "info": {"title": "crawldedup", "version": __version__, "description": about, "license": {"name": "MIT"}},
        "security": [{"token": []}, {}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": token},
            "responses": {"Problem": {"description": _REFUSED, "content": refused}},
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
    if PLAIN[0] in sent:
        note = "As in JSON, for a page that is sent as HTML or plain text."
        named = {"in": "query", "description": note, "schema": msgspec.json.schema(Name)}
        operation["parameters"] = [{"name": name, **named} for name in ("url", "identity", "scope_key")]
    return operation


def _operations() -> dict[str, tuple[Schema, Schema]]:
    """Return what each endpoint takes and what it answers, by content type."""
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
    results = {"type": "array", "items": {"oneOf": [_schema_of(Verdict), _object(url=str, problem=Problem)]}}
    health, matching, forgotten = _object(status=str), _object(matches=list[Match]), _object(forgotten=int)
    plain = {"text/html": _shown(str, page["html"]), "text/plain": _shown(str, _TEXT)}
    figures = _shown(str, 'crawldedup_verdicts_total{kind="new"} 1.0\n')
    return {
        "check": ({JSON: _shown(CheckedPage, page), **plain}, {JSON: _shown(Verdict, verdict)}),
        "check_batch": (
            {JSON: _shown(CheckedPages, [page, empty])},
            {JSON: _shown(results, [verdict, failure])},
        ),
        "find": ({JSON: _shown(SentPage, text), **plain}, {JSON: _shown(matching, {"matches": matches})}),
        "explain": ({JSON: _shown(CheckedPage, page), **plain}, {JSON: _shown(Explanation, explanation)}),
        "compare": ({JSON: _shown(Pair, pair)}, {JSON: _shown(Comparison, comparison)}),
        "forget": ({JSON: _shown(KnownPage, {"url": url})}, {JSON: _shown(forgotten, {"forgotten": 1})}),
        "info": ({}, {JSON: _shown(StoreInfo, info)}),
        "live": ({}, {JSON: _shown(health, {"status": "live"})}),
        "ready": ({}, {JSON: _shown(health, {"status": "ready"})}),
        "metrics": ({}, {"text/plain": figures}),
        "openapi": ({}, {JSON: _shown(dict[str, Any], {"openapi": "3.1.0"})}),
    }


def _shown(kind: Any, example: Any) -> Schema:
    return {"schema": _schema_of(kind), "example": example}


def _object(**kinds: Any) -> Schema:
    properties = {name: _schema_of(kind) for name, kind in kinds.items()}
    return {"type": "object", "properties": properties, "required": list(properties)}


def _schema_of(kind: Any) -> Schema:
    if isinstance(kind, dict):
        return kind
    (schema,), _ = msgspec.json.schema_components([kind], ref_template=_REF)
    return schema


def _schemas() -> dict[str, Schema]:
    """Return the schemas of what is sent and answered: of the latter as `wire.plain` shows it."""
    kinds = (*_SENT, *_ANSWERED, Problem)
    _, schemas = msgspec.json.schema_components(kinds, ref_template=_REF)
    shown = [each for each in options_of() if each.name in SHOWN_OPTIONS]
    of_options = {each.name: msgspec.json.schema(each.kind) | {"description": each.help} for each in shown}
    schemas["StoreInfo"]["properties"] |= {"version": {"type": "string"}, **of_options}
    # The match of a candidate is shown as a part of it.
    del schemas["Candidate"]["properties"]["match"]
    schemas["Candidate"]["properties"] |= schemas["Match"]["properties"]
    of_page = _notes_of(Page) | _notes_of(KnownPage) | _notes_of(SentPage)
    for kind in kinds:
        properties, notes = schemas[kind.__name__]["properties"], of_page if kind in _SENT else _notes_of(kind)
        for name, value in vars(kind).items() if kind in (Verdict, Coverage) else ():
            # What follows from the others is shown, too.
            if isinstance(value, property):
                properties[name] = msgspec.json.schema(get_type_hints(value.fget)["return"])
                notes[name] = inspect.getdoc(value) or ""
        for name in properties.keys() & notes.keys():
            properties[name]["description"] = notes[name]
        if kind in _ANSWERED:
            schemas[kind.__name__]["required"] = list(properties)
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
