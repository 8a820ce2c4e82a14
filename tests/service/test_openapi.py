"""The OpenAPI document has what there is, and its examples work."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from crawldedup import Page
from crawldedup.service.bodies import LONGEST_NAME, MOST_PAGES
from crawldedup.service.endpoints import ROUTES, description
from crawldedup.service.problems import ProblemError
from tests.service.serving import Service

DOCUMENT: Any = description()
OPERATIONS = [(path, method, each) for path, methods in DOCUMENT["paths"].items() for method, each in methods.items()]


def validate(value: Any, schema: dict[str, Any]) -> None:
    Draft202012Validator({**schema, "components": DOCUMENT["components"]}).validate(value)


def test_it_has_every_endpoint_and_every_field_with_its_bounds() -> None:
    assert {(path, method.upper()) for path, method, _ in OPERATIONS} == {
        (route.path, "POST" if "POST" in (route.methods or ()) else "GET") for route in ROUTES
    }
    schemas = DOCUMENT["components"]["schemas"]
    of_pages = {each.name for each in fields(Page)} - {"delivered"} | {"html_base64"}
    assert schemas["Page"]["properties"].keys() == schemas["SentPage"]["properties"].keys() == of_pages
    assert schemas["Page"]["properties"]["url"]["maxLength"] == LONGEST_NAME
    batch = DOCUMENT["paths"]["/v1/check/batch"]["post"]["requestBody"]["content"]["application/json"]
    assert batch["schema"]["maxItems"] == MOST_PAGES
    validate(
        ProblemError("store", 503, "no", retry_after=2, reason="x").plain(), {"$ref": "#/components/schemas/Problem"}
    )


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS, ids=lambda value: str(value)[:30])
def test_its_examples_are_answered_as_it_says(
    service: Service, path: str, method: str, operation: dict[str, Any]
) -> None:
    requests = operation.get("requestBody", {}).get("content", {None: {"example": ""}})
    ((kind, answer),) = operation["responses"]["200"]["content"].items()
    for sent, request in requests.items():
        example = request["example"]
        body = example if isinstance(example, str) else json.dumps(example)
        if sent == "application/json":
            validate(example, request["schema"])
        query = {"url": "https://example.com/a"} if sent in ("text/html", "text/plain") else {}
        headers = {"content-type": sent} if sent else {}
        answered = service.http.request(method, path, content=body, params=query, headers=headers)
        assert answered.status_code == 200, answered.text
        assert answered.headers["content-type"].partition(";")[0] == kind
        for shown in (answer["example"], answered.text):
            if kind != "text/plain":
                validate(json.loads(shown) if isinstance(shown, str) else shown, answer["schema"])
