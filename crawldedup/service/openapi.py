"""Generate the OpenAPI document of the service.

Schemas are made from the types of requests and answers. `openapi.json` has the rest: the frame of
the document, examples, and descriptions of the fields in answers. Request fields have their own
descriptions.
"""

import inspect
import json
import re
from functools import cache, partial
from importlib.resources import files
from types import UnionType
from typing import Any, Final, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from crawldedup import __version__, wire
from crawldedup.aio import AsyncDeduplicator
from crawldedup.index.explain import Candidate, Comparison, Explanation
from crawldedup.reading.difference import Change
from crawldedup.reading.omissions import Omission
from crawldedup.service.console import page_of
from crawldedup.service.endpoints import ENDPOINTS
from crawldedup.service.messages import PAGE_TYPES, CheckedPage, KnownPage, Name, Pair, SentPage
from crawldedup.service.problems import Problem
from crawldedup.service.routes import JSON, Answer, Route
from crawldedup.stores.contract import StoreInfo
from crawldedup.verdict import CheckedText, Coverage, KnownParagraph, Match, Verdict

Schema = dict[str, Any]

_SENT: Final = (CheckedPage, SentPage, Pair, KnownPage)
_ANSWERED: Final = (
    Verdict,
    CheckedText,
    Coverage,
    KnownParagraph,
    Match,
    Explanation,
    Candidate,
    Comparison,
    Change,
    Omission,
    StoreInfo,
)
# Their properties are shown next to their fields.
_WITH_PROPERTIES: Final = (Verdict, Coverage)
_QUERY: Final = "As in JSON, for a page that is sent as HTML or plain text."

_WITH: Final[Schema] = {
    "name": "with",
    "in": "query",
    "description": "With `text`, the answer also has the main text of the page and its name.",
    "schema": {"enum": ["text"]},
}

_components: Final = partial(
    msgspec.json.schema_components, ref_template="#/components/schemas/{name}"
)


class _Example(NamedTuple):
    sent: Any
    answered: Any


@cache
def description() -> Schema:
    """Make the OpenAPI document."""
    written: dict[str, Schema] = json.loads(
        files("crawldedup.service").joinpath("openapi.json").read_text("utf-8")
    )
    document = written["document"]
    document["info"]["version"] = __version__
    for route in ENDPOINTS:
        operation = _operation(route, _Example(*written["examples"][route.respond.__name__]))
        if route.is_open:
            operation["security"] = []
        method = "post" if "requestBody" in operation else "get"
        document["paths"][route.path] = {method: operation}
    document["components"]["schemas"] = _schemas(written["descriptions"])
    return document


def _operation(route: Route, example: _Example) -> Schema:
    """Describe an endpoint by its docstring, its types and an example."""
    summary, _, text = (inspect.getdoc(route.respond) or "").partition("\n\n")
    hints = get_type_hints(route.respond, include_extras=True)
    operation: Schema = {
        "operationId": re.sub("_(.)", lambda match: match[1].upper(), route.respond.__name__),
        "summary": _one_line(summary).rstrip("."),
        "description": text.replace("\n", " "),
        "responses": {
            "200": {
                "description": "The answer.",
                "content": {
                    JSON: {
                        "schema": _answer_schema(hints["return"], example.answered),
                        "example": example.answered,
                    }
                },
            },
            "default": {"$ref": "#/components/responses/Problem"},
        },
    }
    sent_type = hints.get("sent")
    if sent_type:
        content = {JSON: {"schema": _schema_of(sent_type), "example": example.sent}}
        operation["requestBody"] = {"required": True, "content": content}
    if sent_type in PAGE_TYPES:
        content["text/html"] = {
            "schema": {"type": "string"},
            "example": "<p>The text of the page ...</p>",
        }
        content["text/plain"] = {
            "schema": {"type": "string"},
            "example": "The text of the page ...",
        }
        operation["parameters"] = [
            {"name": name, "in": "query", "description": _QUERY, "schema": _schema_of(Name)}
            for name in ("url", "identity", "scope_key")
        ]
    if "extras" in hints:
        operation["parameters"].append(_WITH)
    return operation


def _answer_schema(answer_type: Any, example: Any) -> Schema:
    if get_origin(answer_type) is dict:
        # The type doesn't say which names there are, but the example has all of them.
        _, value_type = get_args(answer_type)
        return _object(**dict.fromkeys(example, value_type))
    if get_origin(answer_type) is UnionType:
        return {"anyOf": [_schema_of(each) for each in get_args(answer_type)]}
    schema = _schema_of(answer_type)
    if get_origin(answer_type) is list:
        schema["items"] = {"oneOf": [_schema_of(Verdict), _object(url=str, problem=Problem)]}
    return schema


def _object(**types: Any) -> Schema:
    properties = {name: _schema_of(value_type) for name, value_type in types.items()}
    return {"type": "object", "properties": properties, "required": list(properties)}


def _schema_of(value_type: Any) -> Schema:
    return _components([value_type])[0][0]


def _schemas(descriptions: dict[str, dict[str, str]]) -> dict[str, Schema]:
    """Make the schemas of everything that is sent and answered.

    Answers are described in the form that `wire.plain` gives them. `descriptions` has those of
    their fields, by the name of the type.
    """
    _, schemas = _components((*_SENT, *_ANSWERED, Problem))
    for answer_type in _ANSWERED:
        schema = schemas[answer_type.__name__]
        properties = schema["properties"]
        if answer_type in _WITH_PROPERTIES:
            properties |= _schemas_of_properties(answer_type)
        for name, text in descriptions[answer_type.__name__].items():
            properties[name]["description"] = text
    # The fields of the match are shown as fields of the candidate.
    candidate = schemas["Candidate"]["properties"]
    del candidate["match"]
    candidate |= schemas["Match"]["properties"]
    # The properties of the verdict also become fields of a page that was checked with its text.
    checked = schemas["CheckedText"]["properties"]
    del checked["verdict"]
    schemas["CheckedText"]["properties"] = {**schemas["Verdict"]["properties"], **checked}
    for answer_type in _ANSWERED:
        schema = schemas[answer_type.__name__]
        schema["required"] = list(schema["properties"])
    for schema in schemas.values():
        schema["description"] = _one_line(schema.get("description", "").partition("\n\n")[0])
    _leave_out_fingerprints(schemas)
    schemas["KnownPage"]["oneOf"] = [{"required": ["url"]}, {"required": ["fingerprint"]}]
    return schemas


def _leave_out_fingerprints(schemas: dict[str, Schema]) -> None:
    """Describe a fingerprint as a plain object, because clients don't make or read its fields."""
    for schema in list(schemas.values()):
        sent = schema.get("properties", {}).get("fingerprint")
        if sent:
            sent["anyOf"] = [{"type": "object"}, {"type": "null"}]
    for name in [name for name in schemas if name.endswith("Fingerprint")]:
        del schemas[name]


def _schemas_of_properties(answer_type: type) -> dict[str, Schema]:
    """Make schemas for the properties of a type, which answers contain like its fields."""
    return {
        name: msgspec.json.schema(get_type_hints(value.fget)["return"])
        for name, value in vars(answer_type).items()
        if isinstance(value, property)
    }


def _one_line(text: str) -> str:
    return " ".join(text.split())


async def show_docs(dedup: AsyncDeduplicator, *_: object) -> Answer:
    """Show the OpenAPI document as a page for people."""
    writes = {route.path for route in ENDPOINTS if route.writes}
    return page_of("docs", dedup, document=description(), writes=writes)


async def show_openapi(*_: object) -> Answer:
    """Send the OpenAPI document."""
    return Answer(wire.encode(description()))


DOCS_ROUTE: Final = Route("/docs", show_docs, is_page=True)
OPENAPI_ROUTE: Final = Route("/openapi.json", show_openapi, is_open=True)
