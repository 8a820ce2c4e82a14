"""The OpenAPI document has what there is, its examples work, and requests made from it are answered as it says."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest
import requests
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from crawldedup import Page
from crawldedup.service.bodies import LONGEST_NAME, MOST_PAGES
from crawldedup.service.endpoints import ROUTES, description
from crawldedup.service.problems import ProblemError
from tests.service.serving import Service, ServiceProcess

DOCUMENT: Any = description()
OPERATIONS = [(path, method, each) for path, methods in DOCUMENT["paths"].items() for method, each in methods.items()]
LARGEST_HEAD = 60_000
"""Bytes; the server itself refuses heads from 64 KB on, in plain text."""


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
    problem = ProblemError("store", 503, "no", retry_after=2, reason="x").plain()
    validate(problem, {"$ref": "#/components/schemas/Problem"})


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS, ids=lambda value: str(value)[:30])
def test_its_examples_are_answered_as_it_says(
    service: Service, path: str, method: str, operation: dict[str, Any]
) -> None:
    bodies = operation.get("requestBody", {}).get("content", {None: {"example": ""}})
    ((kind, answer),) = operation["responses"]["200"]["content"].items()
    for sent, shown_body in bodies.items():
        example = shown_body["example"]
        body = example if isinstance(example, str) else json.dumps(example)
        if sent == "application/json":
            validate(example, shown_body["schema"])
        query = {"url": "https://example.com/a"} if sent in ("text/html", "text/plain") else {}
        headers = {"content-type": sent} if sent else {}
        answered = service.http.request(method, path, content=body, params=query, headers=headers)
        assert answered.status_code == 200, answered.text
        assert answered.headers["content-type"].partition(";")[0] == kind
        for shown in (answer["example"], answered.text) if kind != "text/plain" else ():
            validate(json.loads(shown) if isinstance(shown, str) else shown, answer["schema"])


def head_size(case: Any, url: str) -> int:
    """Return about how many bytes there are in front of the body of a request."""
    named = case.as_transport_kwargs(base_url=url)
    request = requests.PreparedRequest()
    request.prepare_url(named["url"], named.get("params"))
    return len(request.url or "") + sum(len(str(part)) for header in named["headers"].items() for part in header)


@pytest.mark.nightly
@pytest.mark.timeout(1200)
def test_requests_made_from_it_are_answered_as_it_says() -> None:
    schemathesis: Any = pytest.importorskip("schemathesis", reason="the extra `openapi` is not installed")
    of_document: Any = pytest.importorskip("schemathesis.specs.openapi.checks")
    names = ("content_type_conformance", "response_schema_conformance", "status_code_conformance")
    checks = [schemathesis.checks.not_a_server_error, *(getattr(of_document, name) for name in names)]
    many = settings(max_examples=300, deadline=None, database=None, derandomize=True)
    with ServiceProcess("--store", "memory://", "--log-level", "warning") as served:
        document = schemathesis.openapi.from_url(f"{served.url}/openapi.json")
        operations = [found.ok() for found in document.get_all_operations()]
        assert len(operations) == len(ROUTES) - 1  # all but that of the document itself
        for operation in operations:
            wrong = operation.as_strategy(generation_mode=schemathesis.GenerationMode.NEGATIVE)

            @settings(many, suppress_health_check=list(HealthCheck))
            @given(case=operation.as_strategy() | wrong)
            def try_one(case: Any) -> None:
                if head_size(case, served.url) < LARGEST_HEAD:
                    case.call_and_validate(checks=checks)

            try_one()
        assert "trace" not in served.log()
