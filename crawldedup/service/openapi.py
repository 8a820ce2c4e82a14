"""Describe the endpoints as an OpenAPI document: from the types of what is sent and answered."""

import inspect
import json
import re
from functools import cache
from importlib.resources import files
from typing import Any, Final, get_args, get_origin, get_type_hints

import msgspec
from starlette.routing import Route

from crawldedup import __version__
from crawldedup.explain import Candidate, Comparison, Explanation
from crawldedup.page import Page
from crawldedup.reading.difference import Change
from crawldedup.service import endpoints
from crawldedup.service.endpoints import CheckedPage, KnownPage, Pair, Problem, SentPage
from crawldedup.stores.base import StoreInfo
from crawldedup.verdict import Coverage, KnownParagraph, Match, Verdict

Schema = dict[str, Any]

_SENT: Final = (CheckedPage, SentPage, Pair, KnownPage)
_ANSWERED: Final = (Verdict, Coverage, KnownParagraph, Match, Explanation, Candidate, Comparison, Change, StoreInfo)
# In docstrings, and behind the attributes of a class.
_NOTE: Final = re.compile(r"^ {8}(\w+): (.*(?:\n {12}.*)*)|^ {4}(\w+): .*  #: (.*)", re.MULTILINE)
_REFUSED: Final = "Why the request was refused: `type` and `status` say it to programs, and `detail` to people."
_ABOUT: Final = "Recognises near-duplicate pages: compares each with those that the index remembers, and remembers it."
_TOKEN: Final = "The token that the service was started with, if any."
_QUERY: Final = "As in JSON, for a page that is sent as HTML or plain text."


@cache
def description() -> Schema:
    """Return the OpenAPI document."""
    # What each endpoint is sent, and what a new index answers.
    examples = json.loads(files("crawldedup.service").joinpath("examples.json").read_text("utf-8"))
    paths = dict[str, Schema]()
    for route in endpoints.ENDPOINTS:
        operation = _operation(route, *examples[route.name])
        operation |= {"security": []} if route.path in endpoints.OPEN else {}
        paths[route.path] = {"post" if "requestBody" in operation else "get": operation}
    refused = {"application/problem+json": {"schema": _schema_of(Problem)}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "crawldedup", "version": __version__, "description": _ABOUT, "license": {"name": "MIT"}},
        "security": [{"token": []}, {}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "description": _TOKEN}},
            "responses": {"Problem": {"description": _REFUSED, "content": refused}},
            "schemas": _schemas(),
        },
    }


def _operation(route: Route, sent: Any, answered: Any) -> Schema:
    """Return the description of an endpoint, with examples of what is sent, if anything, and of what is answered."""
    summary, _, text = (inspect.getdoc(route.endpoint) or "").partition("\n\n")
    kinds = get_type_hints(route.endpoint, include_extras=True)
    kind, answer = kinds.get("sent"), _schema_of(kinds["return"])
    if get_origin(kinds["return"]) is dict:
        # Its example has all names.
        answer = _object(**dict.fromkeys(answered, get_args(kinds["return"])[1]))
    elif get_origin(kinds["return"]) is list:
        answer["items"] = {"oneOf": [_schema_of(Verdict), _object(url=str, problem=Problem)]}
    operation: Schema = {
        "operationId": re.sub("_(.)", lambda match: match[1].upper(), route.name),
        "summary": summary.rstrip("."),
        "description": text.replace("\n", " "),
        "responses": {
            "200": {"description": "The answer.", "content": {endpoints.JSON: {"schema": answer, "example": answered}}},
            "default": {"$ref": "#/components/responses/Problem"},
        },
    }
    if kind:
        content = {endpoints.JSON: {"schema": _schema_of(kind), "example": sent}}
        operation["requestBody"] = {"required": True, "content": content}
    if kind in endpoints.PAGES:
        content["text/html"] = {"schema": {"type": "string"}, "example": "<p>The text of the page ...</p>"}
        content["text/plain"] = {"schema": {"type": "string"}, "example": "The text of the page ..."}
        named = {"in": "query", "description": _QUERY, "schema": _schema_of(endpoints.Name)}
        operation["parameters"] = [{"name": name, **named} for name in ("url", "identity", "scope_key")]
    return operation


def _object(**kinds: Any) -> Schema:
    properties = {name: _schema_of(kind) for name, kind in kinds.items()}
    return {"type": "object", "properties": properties, "required": list(properties)}


def _schema_of(kind: Any) -> Schema:
    return _components(kind)[0][0]


def _components(*kinds: Any) -> tuple[tuple[Schema, ...], dict[str, Schema]]:
    return msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")


def _schemas() -> dict[str, Schema]:
    """Return the schemas of what is sent and answered: of the latter as `wire.plain` shows it."""
    kinds = (*_SENT, *_ANSWERED, Problem)
    _, schemas = _components(*kinds)
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
